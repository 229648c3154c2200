"""How is an iterable of batches walked through for some epochs or batches? The reference's two helpers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mimetic.algorithms.tensors import rows_of
from mimetic.errors import DataError
from mimetic_bc.durations import check_duration

Item = TypeVar("Item")


@dataclass
class BatchIteratorWithEpochEndCallback:
    """Walks through a loader for ``n_epochs`` passes or ``n_batches`` batches, and says when a pass is complete.

    The callback gets the number of the pass, from 0. It is called after the pass's last batch was dealt with, also
    when the walk ends exactly there.

    Raises:
        ConfigError: not exactly one of ``n_epochs`` and ``n_batches`` is given, or it is negative.
        DataError: while iterating, a pass has no batches.
    """

    batch_loader: Iterable[Mapping[str, Any]]
    n_epochs: int | None
    n_batches: int | None
    on_epoch_end: Callable[[int], None] | None

    def __post_init__(self) -> None:
        check_duration(self.n_epochs, self.n_batches)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Yield the batches, pass after pass."""
        n_left, epoch = self.n_batches, 0
        while n_left != 0 and epoch != self.n_epochs:
            is_last = None
            for batch, is_last in marked_last(self.batch_loader):
                yield batch
                n_left = None if n_left is None else n_left - 1
                if is_last and self.on_epoch_end is not None:
                    self.on_epoch_end(epoch)
                if n_left == 0:
                    return
            if is_last is None:
                raise DataError(
                    f"epoch {epoch}: the batch loader gave no batches; it must start afresh each time it is iterated"
                )
            epoch += 1


def enumerate_batches(
    batch_it: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[tuple[int, int, int], Mapping[str, Any]]]:
    """Yield ``((batch number from 0, rows of the batch, rows so far with it), batch)``."""
    n_rows = 0
    for number, batch in enumerate(batch_it):
        size = rows_of(batch["obs"])
        n_rows += size
        yield (number, size, n_rows), batch


def marked_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Yield each item with whether it is the last; one item is drawn ahead."""
    iterator = iter(items)
    try:
        held = next(iterator)
    except StopIteration:
        return
    for item in iterator:
        yield held, False
        held = item
    yield held, True
