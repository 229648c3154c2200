from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch.utils.data import DataLoader

from mimetic.errors import DataError
from mimetic.types import (
    Demonstrations,
    Trajectory,
    TrajectoryDataset,
    Transitions,
    TransitionsMinimal,
    as_demonstrations,
    concatenate_demonstrations,
)

OBS, ACTS = np.arange(4.0)[:, None], np.arange(3)
TRAJECTORY = Trajectory(OBS, ACTS, None, True, rews=np.ones(3))
DATASET = TrajectoryDataset.from_trajectories([TRAJECTORY, TRAJECTORY])
BATCH = {"obs": OBS[:3], "acts": ACTS}


@pytest.mark.parametrize("form", [[TRAJECTORY] * 2, (TRAJECTORY, TRAJECTORY), iter([TRAJECTORY] * 2), DATASET])
def test_trajectories_in_any_container_become_a_dataset(form: Any) -> None:
    assert as_demonstrations(form).data == DATASET


def test_a_single_trajectory_is_a_dataset_of_one() -> None:
    data = as_demonstrations(TRAJECTORY).data

    assert isinstance(data, TrajectoryDataset)
    assert list(data) == [TRAJECTORY]


@pytest.mark.parametrize("form", [(OBS[:3], ACTS), TransitionsMinimal(OBS[:3], ACTS), (OBS[:3].tolist(), [0, 1, 2])])
def test_pairs_of_equal_length_are_taken_directly(form: Any) -> None:
    """D-5."""
    data = as_demonstrations(form).data

    assert isinstance(data, TransitionsMinimal)
    assert len(data) == 3


def test_pairs_may_have_dict_observations() -> None:
    assert isinstance(as_demonstrations(({"a": OBS[:3]}, ACTS)).data, TransitionsMinimal)


def test_pairs_of_unequal_length_are_refused_with_both_numbers() -> None:
    with pytest.raises(DataError, match="obs has 4 rows and acts 3"):
        as_demonstrations((OBS, ACTS))


def test_demonstrations_pass_as_they_are_and_a_dataset_brings_its_spaces() -> None:
    space = spaces.Discrete(3)
    known = as_demonstrations(DATASET.with_spaces(action_space=space))

    assert known.action_space == space
    assert as_demonstrations(known) is known


@pytest.mark.parametrize("form", [[BATCH, BATCH], (BATCH, BATCH)])
def test_batches_pass_as_they_are(form: Any) -> None:
    assert as_demonstrations(form).data is form


def test_a_one_shot_iterator_of_batches_is_buffered() -> None:
    """BC-4: it would be empty in the second epoch."""
    assert as_demonstrations(iter([BATCH, BATCH])).data == [BATCH, BATCH]


def test_a_loader_is_not_touched() -> None:
    """The reference draws a batch from it, and with it random numbers."""
    loader: DataLoader[Any] = DataLoader(TransitionsMinimal(OBS[:3], ACTS), shuffle=True)  # type: ignore[arg-type]  # len and []
    before = torch.get_rng_state()
    demonstrations = as_demonstrations(loader)

    assert demonstrations.data is loader
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("form", [[], (), iter([])])
def test_nothing_is_refused(form: Any) -> None:
    with pytest.raises(DataError, match="empty; expected at least one"):
        as_demonstrations(form)


@pytest.mark.parametrize("form", [None, 3, "file.npz", BATCH, [1, 2], [{"observations": OBS}], [OBS, ACTS]])
def test_other_forms_are_refused_with_all_that_are_known(form: Any) -> None:
    with pytest.raises(DataError, match=r"expected trajectories, transitions \(TransitionsMinimal\), a pair"):
        as_demonstrations(form)


def test_pairs_are_there_for_all_but_batches() -> None:
    assert len(as_demonstrations(DATASET).pairs()) == 6
    assert len(as_demonstrations((OBS[:3], ACTS)).pairs()) == 3
    with pytest.raises(DataError, match="batches cannot be indexed"):
        as_demonstrations([BATCH]).pairs()


def test_transitions_are_counted_where_they_can_be() -> None:
    assert [as_demonstrations(form).n_transitions for form in (DATASET, (OBS[:3], ACTS), [BATCH])] == [6, 3, None]


# --- fingerprints ------------------------------------------------------------------------------------------------


def fingerprint(form: Any) -> str:
    return as_demonstrations(form).fingerprint()


def test_equal_content_has_one_fingerprint_wherever_it_came_from() -> None:
    in_parts = TrajectoryDataset.concatenate([DATASET[:1], DATASET[1:]])

    assert fingerprint(DATASET) == fingerprint(in_parts) == fingerprint([TRAJECTORY] * 2)
    assert len(fingerprint(DATASET)) == 64


@pytest.mark.parametrize(
    "other",
    [
        Trajectory(OBS, ACTS, None, False, rews=np.ones(3)),
        Trajectory(OBS, ACTS, None, True),
        Trajectory(OBS.astype(np.float32), ACTS, None, True, rews=np.ones(3)),
        Trajectory(OBS + 1, ACTS, None, True, rews=np.ones(3)),
        Trajectory({"a": OBS}, ACTS, None, True, rews=np.ones(3)),
        Trajectory(OBS, ACTS, np.array([{"x": 1}] * 3), True, rews=np.ones(3)),
    ],
)
def test_other_content_has_another_fingerprint(other: Trajectory) -> None:
    assert fingerprint([TRAJECTORY]) != fingerprint([other])


def test_transitions_and_buffered_batches_have_fingerprints_too() -> None:
    steps = Transitions(OBS[:3], ACTS, np.array([{"x": 1}] * 3), OBS[1:], np.zeros(3, bool))

    assert len({fingerprint(steps), fingerprint((OBS[:3], ACTS)), fingerprint([BATCH]), fingerprint([BATCH] * 2)}) == 4


def test_live_batches_have_none() -> None:
    class Live:
        def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
            return iter([BATCH])

    assert fingerprint(Live()) == ""


# --- several -----------------------------------------------------------------------------------------------------


def test_trajectories_stay_trajectories() -> None:
    joined = concatenate_demonstrations([as_demonstrations(DATASET), as_demonstrations(TRAJECTORY)])

    assert isinstance(joined.data, TrajectoryDataset)
    assert len(joined.data) == 3
    assert joined.description == "demonstrations + demonstrations"


def test_trajectories_with_single_steps_become_single_steps() -> None:
    joined = concatenate_demonstrations([as_demonstrations(DATASET), as_demonstrations((OBS[:3], ACTS))])

    assert isinstance(joined.data, TransitionsMinimal)
    assert len(joined.data) == 9


def test_one_alone_passes_as_it_is_and_none_is_refused() -> None:
    one = as_demonstrations([BATCH])

    assert concatenate_demonstrations([one]) is one
    with pytest.raises(DataError, match="no demonstrations"):
        concatenate_demonstrations([])


def test_spaces_are_compared_and_those_that_differ_are_both_named() -> None:
    one, other = (Demonstrations(DATASET, action_space=spaces.Discrete(n), description=f"d{n}") for n in (2, 3))

    with pytest.raises(DataError, match=r"d2 and d3 differ: the action space is Discrete\(2\) against Discrete\(3\)"):
        concatenate_demonstrations([one, other])


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_dtypes_are_compared(dtype: Any) -> None:
    others: list[Any] = [(OBS[:3], ACTS.astype(dtype)), Trajectory(OBS, ACTS.astype(dtype), None, True)]
    for other in others:
        with pytest.raises(DataError, match=f"acts has dtype int64 against {np.dtype(dtype)}"):
            concatenate_demonstrations([as_demonstrations(DATASET), as_demonstrations(other)])


def test_rewards_that_not_all_have_are_dropped_with_a_warning() -> None:
    without = as_demonstrations(Trajectory(OBS, ACTS, None, True))

    with pytest.warns(UserWarning, match="not all have rewards"):
        joined = concatenate_demonstrations([as_demonstrations(DATASET), without])
    assert isinstance(joined.data, TrajectoryDataset)
    assert joined.data.rews is None


def test_batches_are_not_concatenated_with_others() -> None:
    with pytest.raises(DataError, match="batches cannot be indexed"):
        concatenate_demonstrations([as_demonstrations(DATASET), as_demonstrations([BATCH])])
