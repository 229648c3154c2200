from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from mimetic.errors import DataError
from mimetic.types import Transitions, TransitionsMinimal, TransitionsWithRew

OBS, ACTS, NEXT = np.arange(4.0)[:, None], np.arange(4), np.arange(1.0, 5.0)[:, None]
DONES = np.array([False, False, False, True])


def all_kinds() -> list[TransitionsMinimal]:
    return [
        TransitionsMinimal(OBS, ACTS),
        Transitions(OBS, ACTS, None, NEXT, DONES),
        TransitionsWithRew(OBS, ACTS, None, NEXT, DONES, np.ones(4)),
    ]


KINDS = pytest.mark.parametrize("transitions", all_kinds(), ids=lambda t: type(t).__name__)


def test_pairs_of_equal_length_are_enough() -> None:
    """D-5, BUG-05: no rewards, no next observations, no infos."""
    assert len(TransitionsMinimal(OBS, ACTS)) == 4


def test_an_observation_too_many_is_refused_with_both_numbers() -> None:
    with pytest.raises(DataError, match="obs has 5 rows and acts 4"):
        TransitionsMinimal(np.zeros((5, 1)), ACTS)


@KINDS
@pytest.mark.parametrize("index", [1, np.int64(1), np.uint8(1), -3])
def test_a_number_of_any_kind_gives_one_row_as_a_dict(transitions: TransitionsMinimal, index: Any) -> None:
    """The reference refuses numpy's numbers."""
    row = transitions[index]

    assert row["obs"].tolist() == [1.0]
    assert row["acts"] == 1
    assert row["infos"] == {}


@KINDS
@pytest.mark.parametrize("index", [slice(1, 3), [1, 2], np.array([1, 2]), np.array([False, True, True, False])])
def test_several_rows_are_the_same_class(transitions: TransitionsMinimal, index: Any) -> None:
    picked = transitions[index]

    assert type(picked) is type(transitions)
    assert picked.acts.tolist() == [1, 2]


@pytest.mark.parametrize("index", [4, -5])
def test_a_row_outside_is_an_index_error(index: int) -> None:
    """Which also ends a for loop."""
    with pytest.raises(IndexError, match=f"row {index} of 4"):
        TransitionsMinimal(OBS, ACTS)[index]
    assert len(list(TransitionsMinimal(OBS, ACTS))) == 4  # type: ignore[call-overload]  # the old iteration protocol


def test_a_slice_shares_memory() -> None:
    assert np.shares_memory(TransitionsMinimal(OBS, ACTS)[1:3].acts, ACTS)


@KINDS
def test_transitions_equal_a_copy_of_themselves_and_have_no_hash(transitions: TransitionsMinimal) -> None:
    """BUG-10: the reference raises on ==."""
    assert transitions == transitions[:]
    assert transitions != transitions[:-1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(transitions)


def test_different_kinds_of_transitions_differ() -> None:
    first, second, third = all_kinds()

    assert first != second
    assert second != third
    assert first != "transitions"


@KINDS
def test_torch_loads_transitions_as_a_dataset(transitions: TransitionsMinimal) -> None:
    loader: DataLoader[Any] = DataLoader(transitions, batch_size=3)  # type: ignore[arg-type]  # needs only len and []

    assert torch.equal(next(iter(loader))["acts"], torch.tensor([0, 1, 2]))


def test_the_callers_arrays_stay_writable() -> None:
    """BUG-09."""
    arrays = [OBS.copy(), ACTS.copy(), NEXT.copy(), DONES.copy()]
    Transitions(arrays[0], arrays[1], None, arrays[2], arrays[3])

    assert all(array.flags.writeable for array in arrays)


def test_truncated_is_nowhere_unless_told() -> None:
    assert not Transitions(OBS, ACTS, None, NEXT, DONES).truncated.any()
    assert Transitions(OBS, ACTS, None, NEXT, ~DONES, truncated=DONES).truncated.tolist() == DONES.tolist()


def test_transitions_can_be_built_by_keyword() -> None:
    by_name = TransitionsWithRew(obs=OBS, acts=ACTS, next_obs=NEXT, dones=DONES, rews=np.ones(4))

    assert by_name == all_kinds()[2]


@pytest.mark.parametrize(("kind", "missing"), [(Transitions, "next_obs and dones"), (TransitionsWithRew, "next_obs")])
def test_what_is_needed_is_named_when_it_is_missing(kind: type[Transitions], missing: str) -> None:
    with pytest.raises(TypeError, match=missing):
        kind(OBS, ACTS)


def test_rewards_are_named_when_they_are_missing() -> None:
    with pytest.raises(TypeError, match="needs rews"):
        TransitionsWithRew(OBS, ACTS, None, NEXT, DONES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"next_obs": NEXT[:3]}, "next_obs has 3 rows and acts 4"),
        ({"next_obs": NEXT.astype(np.float32)}, "obs has dtype float64 against float32"),
        ({"next_obs": {"a": NEXT}}, "obs has the arrays obs against obs.a"),
        ({"dones": DONES[:3]}, r"dones have shape \(3,\); expected \(4,\)"),
        ({"dones": DONES.astype(int)}, "dones have dtype int64; expected bool"),
        ({"infos": [{}]}, r"infos have shape \(1,\)"),
    ],
)
def test_columns_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Transitions(**{"obs": OBS, "acts": ACTS, "next_obs": NEXT, "dones": DONES, **changes})


def test_dict_observations_are_indexed_key_by_key() -> None:
    transitions = TransitionsMinimal({"a": OBS, "b": {"c": ACTS}}, ACTS)

    assert transitions[2]["obs"]["b"]["c"] == 2
    assert transitions[2:] == TransitionsMinimal({"a": OBS[2:], "b": {"c": ACTS[2:]}}, ACTS[2:])
