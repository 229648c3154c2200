"""How long does it take until demonstrations are ready for the first batch? Beside the reference library."""

from __future__ import annotations

import sys

from cases import data_case
from harness import Settings, Table, rates, say, workers

_CASES = {
    "transitions in memory": data_case("transitions"),
    "200 trajectories in memory": data_case("trajectories"),
    "200 trajectories in a file, each library's own": data_case("file"),
}


def run(settings: Settings) -> list[Table]:
    """Measure each form that the demonstrations may be at hand in."""
    columns = ["200,000 transitions, obs 17, act 6", "reference, ms", "mimetic, ms", "ratio"]
    table = Table("data", "Data: until the first batch", columns)
    modules = {"contestants_mimetic": sys.executable, "contestants_imitation": settings.peer}
    with workers(modules) as running:
        for title, case in _CASES.items():
            say(f"data: {title}")
            contestants = {module: worker.asks("ready", case) for module, worker in running.items()}
            measured = {label: rate.inverse(1e3) for label, rate in rates(contestants, settings).items()}
            mine, theirs = measured["contestants_mimetic"], measured.get("contestants_imitation")
            ratio = f"x{theirs.over(mine).show()}" if theirs else ""
            table.rows.append([title, theirs.show() if theirs else "", mine.show(), ratio])
            table.data.append({"case": case, "ms": {label: list(each.values) for label, each in measured.items()}})
    return [table]
