"""How fast does behavioural cloning train on a GPU? Beside the reference library and a raw loop, by the clock."""

from __future__ import annotations

import sys

import torch
from cases import title_of, training_case
from harness import Settings, Table, beside_reference, rates, say, workers

_SMALL = {"obs": 4, "acts": 2, "discrete": True}
_CASES = [
    *(training_case(**_SMALL, batch=batch, device="cuda") for batch in (256, 4096)),
    *(training_case(batch=batch, device="cuda") for batch in (256, 4096)),
    *(training_case(widths=[256, 256], batch=batch, device="cuda") for batch in (256, 4096)),
    *(training_case(policy="cnn", acts=6, batch=batch, device="cuda") for batch in (32, 256)),
]
_COLUMNS = {
    "reference": ("contestants_imitation", "train", "reference, batches/s"),
    "raw autograd": ("contestants_raw", "autograd", "raw autograd loop"),
    "full": ("contestants_mimetic", "full", "`precision: full`"),
    "auto": ("contestants_mimetic", "auto", "`auto`"),
}


def run(settings: Settings) -> list[Table]:
    """Measure every case where there is a CUDA device."""
    if not torch.cuda.is_available():
        say("gpu: torch finds no CUDA device here, so nothing is measured")
        return []
    table = Table("gpu", "On a GPU", ["case", *(title for *_, title in _COLUMNS.values())])
    modules = {module: sys.executable for module, *_ in _COLUMNS.values()} | {"contestants_imitation": settings.peer}
    with workers(modules) as running:
        for case in _CASES:
            say(f"gpu: {title_of(case)}")
            contestants = {
                label: running[module].asks(name, case)
                for label, (module, name, _) in _COLUMNS.items()
                if module in running
            }
            measured = rates(contestants, settings)
            table.rows.append([title_of(case), *beside_reference(measured, _COLUMNS)])
            table.data.append({"case": case, "batches_per_s": {label: list(s.values) for label, s in measured.items()}})
    table.notes.append(f"On an {torch.cuda.get_device_name()}, by the clock and not by that of the CPU.")
    return [table]
