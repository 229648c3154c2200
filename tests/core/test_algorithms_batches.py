"""Batches: every row once a pass, equal passes for equal numbers, and nothing of the caller's is touched."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mimetic.algorithms import Batch, Batches, Form, ResidentBatches, make_batches
from mimetic.errors import ConfigError, DataError
from mimetic.types import Demonstrations, Trajectory, TransitionsMinimal, as_demonstrations

CPU = torch.device("cpu")


def numbered(n: int) -> TransitionsMinimal:
    """Rows whose observation and action are their number."""
    return TransitionsMinimal(np.arange(n, dtype=np.float32)[:, None], np.arange(n))


def batches_of(data: Any, batch_size: int, *, seed: int = 0, drop_last: bool = False) -> Batches:
    return make_batches(as_demonstrations(data), batch_size=batch_size, device=CPU, seed=seed, drop_last=drop_last)


def rows(batches: Batches, index: int, start: int = 0) -> list[list[int]]:
    return [batch.acts.tolist() for batch in batches.epoch(index, start=start)]


# --- rows that are at hand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "batch_size", "sizes"), [(100, 64, [64, 36]), (100, 32, [32, 32, 32, 4]), (3, 32, [3])])
def test_a_pass_has_every_row_once_and_a_short_batch_at_its_end(n: int, batch_size: int, sizes: list[int]) -> None:
    batches = batches_of(numbered(n), batch_size)

    cut = rows(batches, 0)

    assert [len(batch) for batch in cut] == sizes
    assert sorted(act for batch in cut for act in batch) == list(range(n))
    assert (batches.n_rows, batches.n_batches) == (n, len(sizes))


def test_an_observation_stays_with_its_action() -> None:
    for batch in batches_of(numbered(1000), 7).epoch(3):
        assert batch.obs[:, 0].tolist() == batch.acts.tolist()


def test_dropping_the_last_batch_leaves_only_full_ones() -> None:
    batches = batches_of(numbered(100), 32, drop_last=True)

    assert [len(batch) for batch in rows(batches, 0)] == [32, 32, 32]
    assert batches.n_batches == 3


def test_dropping_everything_is_refused() -> None:
    with pytest.raises(ConfigError, match="drop_last: would drop all 3 transitions, which do not fill one batch of 32"):
        batches_of(numbered(3), 32, drop_last=True)


def test_no_rows_are_refused() -> None:
    with pytest.raises(DataError, match="no transitions; expected at least one"):
        batches_of(numbered(0), 32)


def test_a_pass_depends_on_seed_and_number_alone() -> None:
    first, again, other = batches_of(numbered(50), 8), batches_of(numbered(50), 8), batches_of(numbered(50), 8, seed=1)
    rows(first, 0)
    torch.rand(3)

    assert rows(first, 2) == rows(again, 2)
    assert rows(first, 2) != rows(first, 3)
    assert rows(first, 2) != rows(other, 2)


def test_a_pass_can_be_entered_anywhere() -> None:
    batches = batches_of(numbered(1000), 3)  # more batches than are gathered at once

    assert all(rows(batches, 1, start=start) == rows(batches, 1)[start:] for start in (0, 1, 63, 64, 100, 333, 334))


def test_the_observation_after_the_last_action_is_never_drawn() -> None:
    trajectories = [
        Trajectory(np.array([[0.0], [1.0], [-1.0]]), np.array([0, 1]), None, terminal=True),
        Trajectory(np.array([[2.0], [-1.0]]), np.array([2]), None, terminal=False),
    ]

    (batch,) = batches_of(trajectories, 8).epoch(0)

    assert sorted(batch.acts.tolist()) == [0, 1, 2]
    assert batch.obs[:, 0].tolist() == batch.acts.tolist()


def test_nested_observations_keep_their_structure() -> None:
    obs: Any = {"a": np.arange(5.0)[:, None], "deep": {"b": np.arange(5, dtype=np.uint8)}}

    for batch in batches_of(TransitionsMinimal(obs, np.arange(5)), 2).epoch(0):
        assert batch.obs["a"][:, 0].tolist() == batch.acts.tolist() == batch.obs["deep"]["b"].tolist()
        assert batch.obs["deep"]["b"].dtype == torch.uint8


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        (np.float64, torch.float32),
        (np.float16, torch.float32),
        (">f4", torch.float32),
        (np.longdouble, torch.float32),
        (np.uint8, torch.uint8),
        (np.int32, torch.int32),
        (np.uint16, torch.int64),
        (">i8", torch.int64),
        (bool, torch.bool),
    ],
)
def test_columns_become_what_torch_calculates_with(given: Any, becomes: torch.dtype) -> None:
    obs = np.array([[0], [1], [1]]).astype(given)

    (batch,) = batches_of((obs, np.arange(3)), 3).epoch(0)

    assert batch.obs.dtype == becomes
    assert sorted(batch.obs[:, 0].tolist()) == [0, 1, 1]


@pytest.mark.parametrize("view", ["reversed", "transposed", "strided"])
def test_views_are_read_as_what_they_show(view: str) -> None:
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    obs = {
        "reversed": values[::-1],
        "transposed": np.asfortranarray(values),
        "strided": np.repeat(values, 2, axis=0)[::2],
    }
    expected = values[::-1] if view == "reversed" else values

    (batch,) = batches_of((obs[view], np.arange(4)), 4).epoch(0)

    assert all(batch.obs[i].tolist() == expected[act].tolist() for i, act in enumerate(batch.acts.tolist()))


def test_a_read_only_column_is_read_without_a_copy_and_stays_as_it_is() -> None:
    obs = np.zeros((5, 2), np.float32)
    obs.flags.writeable = False

    resident = ResidentBatches(TransitionsMinimal(obs, np.arange(5)), batch_size=2, device=CPU, seed=0)
    for batch in resident.epoch(0):
        batch.obs.add_(1.0)  # a batch is a copy

    assert not obs.flags.writeable
    assert not obs.any()
    assert resident._obs.data_ptr() == obs.ctypes.data


# --- iterables of batches -------------------------------------------------------------------------------------------


def pieces(*sizes: int) -> list[Mapping[str, Any]]:
    cuts = np.cumsum(sizes)[:-1]
    acts = np.split(np.arange(sum(sizes)), cuts)
    return [{"obs": a.astype(np.float32)[:, None], "acts": a} for a in acts]


class Stream:
    """An iterable without a length, fresh at each pass."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(pieces(*self.sizes))


@pytest.mark.parametrize("sizes", [(4, 4, 2), (10,), (1,) * 10, (3, 3, 4), (7, 3)])
def test_rows_of_any_iterable_are_cut_into_batches_in_their_order(sizes: tuple[int, ...]) -> None:
    batches = batches_of(Stream(*sizes), 4)

    assert rows(batches, 0) == rows(batches, 1) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert (batches.n_rows, batches.n_batches) == (None, None)


def test_a_list_of_batches_knows_its_length() -> None:
    batches = batches_of(pieces(4, 4, 2), 4)

    assert (batches.n_rows, batches.n_batches) == (10, 3)


def test_a_stream_can_be_entered_anywhere_and_drop_its_last_batch() -> None:
    assert rows(batches_of(Stream(5, 5), 4, drop_last=True), 0, start=1) == [[4, 5, 6, 7]]


def test_a_torch_data_loader_is_an_iterable_of_batches() -> None:
    data = [{"obs": torch.tensor([float(i)]), "acts": torch.tensor(i)} for i in range(5)]
    loader: torch.utils.data.DataLoader[Any] = torch.utils.data.DataLoader(data, batch_size=2)  # type: ignore[arg-type]  # a list is a dataset

    assert rows(batches_of(loader, 2), 0) == [[0, 1], [2, 3], [4]]


def test_an_iterator_is_read_before_the_first_step() -> None:
    batches = batches_of(iter(pieces(4, 4)), 4)

    assert rows(batches, 0) == rows(batches, 1) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_pass_without_batches_is_named() -> None:
    class Once:
        def __init__(self) -> None:
            self.left = pieces(4)

        def __iter__(self) -> Iterator[Mapping[str, Any]]:
            while self.left:
                yield self.left.pop()

    batches = make_batches(Demonstrations(Once()), batch_size=4, device=CPU, seed=0)
    rows(batches, 0)

    with pytest.raises(DataError, match="pass 1 over the iterable of batches gave no batch"):
        rows(batches, 1)


@pytest.mark.parametrize(
    ("item", "seen"),
    [
        ({"obs": np.zeros((2, 1))}, "batch 0 is a mapping with obs; expected a mapping with 'obs' and 'acts'"),
        ((1, 2), "batch 0 is tuple"),
        ({"obs": np.zeros((2, 1)), "acts": np.zeros(3)}, "batch 0 has 2 observations and 3 actions"),
    ],
)
def test_an_item_that_is_no_batch_is_named(item: Any, seen: str) -> None:
    batches = make_batches(Demonstrations(Wrapped(item)), batch_size=4, device=CPU, seed=0)

    with pytest.raises(DataError, match=seen):
        rows(batches, 0)


class Wrapped:
    def __init__(self, item: Any) -> None:
        self.item = item

    def __iter__(self) -> Iterator[Any]:
        yield self.item


def test_the_tensors_of_a_batch_are_contiguous() -> None:
    for batch in batches_of(numbered(10), 4).epoch(0):
        assert isinstance(batch.acts, Tensor)
        assert batch.obs.is_contiguous()


# --- the form of rows -----------------------------------------------------------------------------------------------


def test_fractions_have_the_precision_that_is_asked_for() -> None:
    data = as_demonstrations((np.array([[0.1], [0.2]]), np.array([[0.3], [0.4]])))
    batches = make_batches(data, batch_size=2, device=CPU, seed=0, form=Form(torch.float64))

    (batch,) = batches.epoch(0)

    assert sorted(batch.obs.flatten().tolist()) == [0.1, 0.2]
    assert sorted(batch.acts.flatten().tolist()) == [0.3, 0.4]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_every_row_is_prepared_once_wherever_it_comes_from(is_streamed: bool) -> None:
    calls: list[int] = []

    def prepare(obs: Any, acts: Tensor) -> Batch:
        calls.append(len(acts))
        return Batch(obs * 2.0, -acts)

    obs, acts = np.arange(10.0, dtype=np.float32)[:, None], np.arange(10)
    data: Any = [{"obs": obs, "acts": acts}] if is_streamed else (obs, acts)
    batches = make_batches(as_demonstrations(data), batch_size=4, device=CPU, seed=0, form=Form(prepare=prepare))

    rows = [
        pair for batch in batches.epoch(0) for pair in zip(batch.obs[:, 0].tolist(), batch.acts.tolist(), strict=True)
    ]

    assert sorted(rows) == [(2.0 * number, -number) for number in range(10)]
    assert sum(calls) == 10
