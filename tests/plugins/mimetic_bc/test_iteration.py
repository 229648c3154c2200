"""Walking through a loader: passes, counts and the callback at the end of each pass."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mimetic.errors import ConfigError, DataError
from mimetic_bc import BatchIteratorWithEpochEndCallback, enumerate_batches


def loader(*sizes: int) -> list[dict[str, Any]]:
    return [{"obs": np.zeros((n, 1)), "acts": np.zeros(n)} for n in sizes]


def walked(batches: Any, n_epochs: int | None, n_batches: int | None) -> tuple[int, list[int]]:
    ended: list[int] = []
    n = len(list(BatchIteratorWithEpochEndCallback(batches, n_epochs, n_batches, ended.append)))
    return n, ended


def test_the_callback_gets_the_number_of_each_full_pass() -> None:
    assert walked(loader(4, 4, 2), 2, None) == (6, [0, 1])


def test_a_walk_that_stops_inside_a_pass_ends_none() -> None:
    assert walked(loader(4, 4, 2), None, 2) == (2, [])


def test_a_walk_that_stops_at_the_end_of_a_pass_ends_it() -> None:
    assert walked(loader(4, 4, 2), None, 6) == (6, [0, 1])


def test_the_callback_comes_after_the_last_batch_was_dealt_with() -> None:
    seen: list[str] = []

    for _ in BatchIteratorWithEpochEndCallback(loader(1, 1), 1, None, lambda epoch: seen.append(f"end {epoch}")):
        seen.append("batch")

    assert seen == ["batch", "batch", "end 0"]


@pytest.mark.parametrize(("n_epochs", "n_batches"), [(0, None), (None, 0)])
def test_nothing_to_walk_is_nothing(n_epochs: int | None, n_batches: int | None) -> None:
    assert walked(loader(4), n_epochs, n_batches) == (0, [])


@pytest.mark.parametrize(("n_epochs", "n_batches"), [(None, None), (1, 1)])
def test_exactly_one_duration_is_expected(n_epochs: int | None, n_batches: int | None) -> None:
    with pytest.raises(ConfigError, match="exactly one of n_epochs and n_batches is expected"):
        BatchIteratorWithEpochEndCallback(loader(4), n_epochs, n_batches, None)


def test_a_pass_without_batches_is_named() -> None:
    once = iter(loader(4))

    class Once:
        def __iter__(self) -> Iterator[Any]:
            return once

    with pytest.raises(DataError, match="epoch 1: the batch loader gave no batches"):
        list(BatchIteratorWithEpochEndCallback(Once(), 2, None, None))


def test_batches_are_counted_with_their_rows() -> None:
    counts = [count for count, _ in enumerate_batches(loader(4, 4, 2))]

    assert counts == [(0, 4, 4), (1, 4, 8), (2, 2, 10)]
