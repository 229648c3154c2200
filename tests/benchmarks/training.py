"""How fast does behavioural cloning train? Beside the reference library and beside loops written by hand."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from cases import title_of, training_case
from harness import Samples, Settings, Table, Worker, rates, rounded, say, workers

_SMALL = {"obs": 4, "acts": 2, "discrete": True}
_CASES = [
    *(training_case(**_SMALL, batch=batch) for batch in (32, 256)),
    *(training_case(batch=batch) for batch in (32, 256, 1024)),
    *(training_case(widths=[256, 256], batch=batch) for batch in (32, 256, 1024)),
    *(training_case(obs=376, batch=batch) for batch in (32, 256, 1024)),
    *(training_case(**_SMALL, policy="foreign", batch=batch) for batch in (32, 256)),
    *(training_case(policy="foreign", batch=batch) for batch in (32, 256)),
    *(training_case(policy="cnn", acts=6, batch=batch) for batch in (32, 64)),
]
_COLUMNS = {
    "reference": "reference, batches/s",
    "raw autograd": "raw autograd loop",
    "by hand": "loop by hand",
    "autograd": "`autograd`",
    "auto": "`auto`",
    "run file": "`mimetic train`",
}


def run(settings: Settings) -> list[Table]:
    """Measure every case."""
    modules = {
        "contestants_mimetic": sys.executable,
        "contestants_raw": sys.executable,
        "contestants_imitation": settings.peer,
    }
    speeds = Table("training", "Training", ["case", *_COLUMNS.values()])
    shares = Table("training-shares", "Beside the raw loops", ["case", "`autograd` / raw autograd", "`auto` / by hand"])
    with workers(modules) as running:
        for case in _CASES:
            say(f"training: {title_of(case)}")
            measured = rates(_contestants(case, running), settings, patience={"run file": 4.0})
            _add_speeds(speeds, case, measured)
            _add_shares(shares, case, measured)
    return [speeds, shares]


def _contestants(case: dict[str, Any], running: Mapping[str, Worker]) -> dict[str, Any]:
    known = {
        "reference": ("contestants_imitation", "train"),
        "raw autograd": ("contestants_raw", "autograd"),
        "by hand": ("contestants_raw", "by hand"),
        "autograd": ("contestants_mimetic", "autograd"),
        "auto": ("contestants_mimetic", "auto"),
        "run file": ("contestants_mimetic", "run file"),
    }
    absent = {"mlp": set(), "foreign": {"raw autograd", "by hand", "run file", "auto"}, "cnn": {"by hand", "auto"}}
    return {
        label: running[module].asks(name, case)
        for label, (module, name) in known.items()
        if module in running and label not in absent[case["policy"]]
    }


def _add_speeds(table: Table, case: dict[str, Any], measured: Mapping[str, Samples]) -> None:
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
    table.data.append({"case": case, "batches_per_s": {label: list(s.values) for label, s in measured.items()}})


def _add_shares(table: Table, case: dict[str, Any], measured: Mapping[str, Samples]) -> None:
    pairs = (("autograd", "raw autograd"), ("auto", "by hand"))
    cells = [measured[a].over(measured[b]).show() if {a, b} <= measured.keys() else "" for a, b in pairs]
    if any(cells):
        table.rows.append([title_of(case), *cells])
