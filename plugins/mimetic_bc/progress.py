"""How does a person see that training goes on? A bar on standard error, absent where that is no terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from mimetic.algorithms import Report


class Bar:
    """Counts steps, and shows the last loss that was measured. Does nothing when there is no bar."""

    def __init__(self, bar: "tqdm[Any] | None") -> None:
        self._bar = bar
        self.advance: Callable[[], object] = _nothing if bar is None else bar.update

    def show(self, report: Report) -> None:
        """Show what a report says."""
        loss = report.values.get("bc/loss")
        if self._bar is not None and loss is not None:
            self._bar.set_postfix_str(f"loss {loss:.4g}", refresh=False)


@contextmanager
def progress_bar(n_steps: int | None, n_done: int, *, show: bool) -> Iterator[Bar]:
    """Show a bar over ``n_steps`` optimiser steps, None for an unknown number."""
    if not show or not sys.stderr.isatty():
        yield Bar(None)
        return
    with tqdm(total=n_steps, initial=n_done, unit="batch", file=sys.stderr, dynamic_ncols=True) as bar:
        yield Bar(bar)


def _nothing() -> None:
    return None
