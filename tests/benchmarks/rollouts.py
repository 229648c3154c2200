"""How fast are episodes collected, and how fast is a policy evaluated? Beside the reference library, on CartPole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from harness import Samples, Settings, Table, Worker, rates, rounded, say, workers
from rollout_cases import LONG, rollout_case, title_of

_CASES = [
    *(rollout_case(n_envs, balances=balances) for n_envs in (1, 8, 64) for balances in (False, True)),
    *(rollout_case(n_envs, "foreign") for n_envs in (1, 8, 64)),
]
_COLUMNS = {
    "reference": ("rollouts_imitation", "rollout", "reference, steps/s"),
    "bare": ("rollouts_bare", "bare", "bare loop"),
    "rollout": ("rollouts_mimetic", "rollout", "`rollout`, SB3's venv"),
    "collect": ("rollouts_mimetic", "collect", "`mimetic collect`"),
    "eval": ("rollouts_mimetic", "eval", "`mimetic eval`"),
    "collect, native": ("rollouts_mimetic", "collect, native", "`collect`, native"),
    "eval, native": ("rollouts_mimetic", "eval, native", "`eval`, native"),
}


def run(settings: Settings) -> list[Table]:
    """Measure every case."""
    table = Table("rollouts", "Rollouts and evaluation", ["case", *(title for *_, title in _COLUMNS.values())])
    modules = {module: sys.executable for module, *_ in _COLUMNS.values()} | {"rollouts_imitation": settings.peer}
    with workers(modules) as running:
        for case in _CASES:
            say(f"rollouts: {title_of(case)}")
            least = case["n_envs"] * LONG * 4 if case["balances"] else case["n_envs"] * 100
            _add(table, case, rates(_contestants(case, running), settings, least=least))
    return [table]


def _contestants(case: dict[str, Any], running: Mapping[str, Worker]) -> dict[str, Callable[[int], float]]:
    absent = {"bare"} if case["policy"] == "foreign" else set()
    if case["n_envs"] == 1:
        absent |= {"collect, native", "eval, native"}
    return {
        label: running[module].asks(name, case)
        for label, (module, name, _) in _COLUMNS.items()
        if module in running and label not in absent
    }


def _add(table: Table, case: dict[str, Any], measured: Mapping[str, Samples]) -> None:
    row = [title_of(case)]
    reference = measured.get("reference")
    for label in _COLUMNS:
        samples = measured.get(label)
        if samples is None:
            row.append("")
        elif label == "reference" or reference is None:
            row.append(samples.show())
        else:
            row.append(f"x{samples.over(reference).show()}: {rounded(samples.median)}/s")
    table.rows.append(row)
    table.data.append({"case": case, "steps_per_s": {label: list(each.values) for label, each in measured.items()}})
