"""How does the cost grow with the size of a batch, of the network and of the data? `mimetic` alone."""

from __future__ import annotations

import sys
from typing import Any

from cases import data_case, training_case
from harness import Samples, Settings, Table, Worker, rates, say, workers

_BATCHES = [32 * 4**power for power in range(5)]
_WIDTHS = [16, 32, 64, 128, 256, 512]
_ROWS = [10_000, 100_000, 1_000_000]


def run(settings: Settings) -> list[Table]:
    """Measure one quantity after the other; all else stays at obs 17, act 6, 2x32, batch 256."""
    with workers({"contestants_mimetic": sys.executable}) as running:
        worker = running["contestants_mimetic"]
        return [_by_batch(worker, settings), _by_width(worker, settings), _by_rows(worker, settings)]


def _by_batch(worker: Worker, settings: Settings) -> Table:
    table = Table("growth-batch", "Growth with the batch", ["batch", "microseconds a batch", "a row"])
    for size in _BATCHES:
        each = _microseconds(worker, training_case(batch=size), settings)
        table.rows.append([f"{size:,}", each.show(), each.scaled(1 / size).show()])
        table.data.append({"batch": size, "us": list(each.values)})
    return table


def _by_width(worker: Worker, settings: Settings) -> Table:
    columns = [
        "hidden layers",
        "multiplications a row",
        "microseconds a batch",
        "nanoseconds per 1,000 multiplications",
    ]
    table = Table("growth-width", "Growth with the network", columns)
    for width in _WIDTHS:
        case = training_case(batch=256, widths=[width, width])
        n_products = case["obs"] * width + width * width + width * case["acts"]
        each = _microseconds(worker, case, settings)
        per_thousand = each.scaled(1e6 / (256 * n_products))
        table.rows.append([f"2x{width}", f"{n_products:,}", each.show(), per_thousand.show()])
        table.data.append({"width": width, "us": list(each.values)})
    return table


def _by_rows(worker: Worker, settings: Settings) -> Table:
    columns = ["transitions", "until the first batch, ms", "nanoseconds a transition", "microseconds a batch of 256"]
    table = Table("growth-data", "Growth with the data", columns)
    for n_rows in _ROWS:
        say(f"growth: {n_rows:,} transitions")
        ready = _rate(worker, "ready", data_case("transitions", n_rows), settings).inverse(1e3)
        each = _microseconds(worker, training_case(batch=256, n_rows=n_rows), settings)
        per_row = ready.scaled(1e6 / n_rows)
        table.rows.append([f"{n_rows:,}", ready.show(), per_row.show(), each.show()])
        table.data.append({"rows": n_rows, "ready_ms": list(ready.values), "us": list(each.values)})
    return table


def _microseconds(worker: Worker, case: dict[str, Any], settings: Settings) -> Samples:
    say(f"growth: {case}")
    return _rate(worker, "auto", case, settings).inverse(1e6)


def _rate(worker: Worker, contestant: str, case: dict[str, Any], settings: Settings) -> Samples:
    measured = rates({contestant: worker.asks(contestant, case)}, settings)
    return measured[contestant]
