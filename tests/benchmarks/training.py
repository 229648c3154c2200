"""How fast does behavioural cloning train? Beside the reference library and beside loops written by hand."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from cases import title_of, training_case
from harness import Samples, Settings, Table, Worker, beside_reference, rates, say, workers

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
    "bfloat16": "`precision: bfloat16`",
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
        "bfloat16": ("contestants_mimetic", "bfloat16"),
    }
    absent: dict[str, set[str]] = {
        "mlp": {"bfloat16"} if case["widths"] != [256, 256] else set(),
        "foreign": {"raw autograd", "by hand", "run file", "auto", "bfloat16"},
        "cnn": {"by hand", "auto"},
    }
    return {
        label: running[module].asks(name, case)
        for label, (module, name) in known.items()
        if module in running and label not in absent[case["policy"]]
    }


def _add_speeds(table: Table, case: dict[str, Any], measured: Mapping[str, Samples]) -> None:
    table.rows.append([title_of(case), *beside_reference(measured, _COLUMNS)])
    table.data.append({"case": case, "batches_per_s": {label: list(s.values) for label, s in measured.items()}})


def _add_shares(table: Table, case: dict[str, Any], measured: Mapping[str, Samples]) -> None:
    pairs = (("autograd", "raw autograd"), ("auto", "by hand"))
    cells = [measured[a].over(measured[b]).show() if {a, b} <= measured.keys() else "" for a, b in pairs]
    if any(cells):
        table.rows.append([title_of(case), *cells])
