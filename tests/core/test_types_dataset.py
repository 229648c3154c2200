from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from mimetic.errors import DataError
from mimetic.types import ABSENT, Trajectory, TrajectoryDataset, Transitions


def episode(n: int, start: int = 0, **changes: Any) -> Trajectory:
    """``n`` steps that observe ``start``, ``start + 1``, ... and are rewarded with 1."""
    kwargs = {"infos": None, "terminal": True, "rews": np.ones(n, np.float32), **changes}
    obs = np.arange(start, start + n + 1, dtype=np.float32)[:, None]
    return Trajectory(obs, np.arange(start, start + n), kwargs.pop("infos"), **kwargs)


EPISODES = [episode(3), episode(1, 10, terminal=False, truncated=True), episode(5, 20)]


def dataset(episodes: Sequence[Trajectory] = EPISODES, **spaces_: Any) -> TrajectoryDataset:
    return TrajectoryDataset.from_trajectories(episodes, **spaces_)


def chained() -> TrajectoryDataset:
    """The same trajectories in three parts."""
    return TrajectoryDataset.concatenate([dataset([one]) for one in EPISODES])


BOTH = pytest.mark.parametrize("data", [dataset(), chained()], ids=["one part", "three parts"])


@BOTH
def test_a_dataset_is_the_sequence_of_its_trajectories(data: TrajectoryDataset) -> None:
    assert list(data) == EPISODES
    assert (len(data), data.n_transitions) == (3, 9)
    assert data[-1] == data[np.int64(2)] == EPISODES[2]
    assert EPISODES[1] in data


@BOTH
def test_each_episode_has_an_observation_more_than_actions(data: TrajectoryDataset) -> None:
    """D-6: T+1 rows, and rows of two episodes never touch."""
    assert len(data.obs) == 12
    assert data.episode_ends.tolist() == [3, 4, 9]
    assert data.obs_index.tolist() == [0, 1, 2, 4, 6, 7, 8, 9, 10]


@BOTH
def test_pair_i_is_the_observation_the_action_and_what_followed(data: TrajectoryDataset) -> None:
    """D-6."""
    transitions: Any = data.transitions()

    assert transitions.rews.tolist() == [1] * 9
    assert transitions.obs[:, 0].tolist() == transitions.acts.tolist() == [0, 1, 2, 10, 20, 21, 22, 23, 24]
    assert transitions.next_obs[:, 0].tolist() == [1, 2, 3, 11, 21, 22, 23, 24, 25]


@BOTH
def test_only_last_steps_carry_the_ending_flags(data: TrajectoryDataset) -> None:
    """R-2: time-outs stay apart from real ends."""
    transitions = data.transitions()

    assert np.flatnonzero(transitions.dones).tolist() == [2, 8]
    assert np.flatnonzero(transitions.truncated).tolist() == [3]


@BOTH
def test_returns_and_lengths_are_per_trajectory(data: TrajectoryDataset) -> None:
    assert data.lengths.tolist() == [3, 1, 5]
    assert data.returns is not None
    assert data.returns.dtype == np.float64
    assert data.returns.tolist() == [3.0, 1.0, 5.0]


def test_without_rewards_there_are_no_returns() -> None:
    data = dataset([episode(2, rews=None)])

    assert data.returns is None
    assert type(data.transitions()) is Transitions


@BOTH
@pytest.mark.parametrize(
    "index", [slice(1, None), slice(0, 0), slice(None, None, 2), slice(None, None, -1), slice(0, 1)]
)
def test_slices_are_those_of_a_list(data: TrajectoryDataset, index: slice) -> None:
    assert list(data[index]) == EPISODES[index]


@BOTH
def test_trajectories_and_slices_are_views(data: TrajectoryDataset) -> None:
    part = data.parts[-1]

    assert np.shares_memory(data[2].acts, part.acts)
    assert np.shares_memory(data[2:].acts, part.acts)


def test_a_dataset_of_a_single_trajectory_has_its_steps_as_views() -> None:
    data = dataset(EPISODES[:1])

    assert np.shares_memory(data.pairs().obs, data.obs)
    assert np.shares_memory(data.transitions().next_obs, data.obs)


def test_concatenation_copies_nothing_before_a_column_is_asked_for() -> None:
    pieces = [dataset([one]) for one in EPISODES]
    data = TrajectoryDataset.concatenate(pieces)

    assert np.shares_memory(data[1].acts, pieces[1].acts)
    assert data.acts is data.acts  # joined once


@BOTH
@pytest.mark.parametrize(
    "chosen", [[2, 0], [0, 0], [-1], [], np.array([True, False, True]), np.array([1, 2]), iter([1]), range(2)]
)
def test_selection_keeps_the_order_given(data: TrajectoryDataset, chosen: Any) -> None:
    chosen = list(chosen) if not isinstance(chosen, np.ndarray) else chosen
    numbers = np.arange(3)[chosen] if len(chosen) else []

    assert list(data.select(chosen)) == [EPISODES[number] for number in numbers]


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ([3], IndexError, "trajectory 3 of 3"),
        ([-4], IndexError, "trajectory -4 of 3"),
        ([0.5], DataError, "expected numbers in a row"),
        (np.array([True]), DataError, "a bool for each trajectory"),
    ],
)
def test_a_selection_that_means_nothing_is_refused(chosen: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dataset().select(chosen)


def test_an_index_outside_is_an_index_error() -> None:
    with pytest.raises(IndexError, match="trajectory 3 of 3"):
        dataset()[3]


def test_a_filter_keeps_what_it_likes() -> None:
    assert list(dataset().filter(lambda trajectory: len(trajectory) > 2)) == [EPISODES[0], EPISODES[2]]


def test_what_is_cut_is_truncated_and_no_longer_terminated() -> None:
    cut = dataset().cut(3)

    assert [(len(t), t.terminal, t.truncated) for t in cut] == [(3, True, False), (1, False, True), (3, False, True)]
    assert cut[2].obs.tolist() == [[20.0], [21.0], [22.0], [23.0]]  # type: ignore[union-attr]  # an array here


def test_a_cut_that_cuts_nothing_gives_the_same_dataset() -> None:
    data = dataset()

    assert data.cut(5) is data
    with pytest.raises(DataError, match="max_steps is 0"):
        data.cut(0)


def test_datasets_of_equal_columns_and_spaces_are_equal() -> None:
    space = spaces.Box(-1, 1, (1,), np.float32)

    assert dataset() == chained()
    assert dataset() != dataset(EPISODES[:2])
    assert dataset(observation_space=space) != dataset()
    assert dataset() != EPISODES
    with pytest.raises(TypeError, match="unhashable"):
        hash(dataset())


def test_a_dataset_says_how_much_is_in_it() -> None:
    assert repr(dataset()) == "<TrajectoryDataset: 3 trajectories, 9 transitions>"


def test_the_callers_arrays_are_neither_copied_nor_changed() -> None:
    """BUG-09."""
    obs, acts = np.zeros((4, 1)), np.zeros(3)
    lists: Any = {"episode_ends": [3], "terminals": [True], "truncations": [False]}
    data = TrajectoryDataset(obs=obs, acts=acts, **lists)

    assert data.acts is acts
    assert obs.flags.writeable
    assert acts.flags.writeable


# --- infos -------------------------------------------------------------------------------------------------------


def test_infos_come_back_as_they_were() -> None:
    """Nothing is lost in memory, not even what no file could hold."""
    infos = [{"x": 1.5, "name": "a"}, {"x": 2.5, "name": "b", "last": {"r": 1}}]
    data = dataset([episode(2, infos=infos), episode(1)])

    assert data[0] == episode(2, infos=infos)
    assert data[1] == episode(1)
    assert data.transitions()[1]["infos"] == infos[1]


def test_numbers_of_one_dtype_and_shape_at_every_step_become_numeric_columns() -> None:
    infos = [
        {"x": 1.5, "v": np.zeros(2, np.float32), "mixed": 1},
        {"x": 2.5, "v": np.ones(2, np.float32), "mixed": 1.0},
    ]
    columns = dataset([episode(2, infos=infos)]).infos
    assert columns is not None

    assert {key: column.dtype.kind for key, column in columns.items()} == {"x": "f", "v": "f", "mixed": "O"}
    assert columns["v"].shape == (2, 2)


def test_a_step_without_a_key_is_marked_absent() -> None:
    columns = dataset([episode(2, infos=[{}, {"x": np.zeros(3)}])]).infos
    assert columns is not None

    assert columns["x"][0] is ABSENT
    assert repr(ABSENT) == "ABSENT"


def test_infos_of_parts_with_other_keys_go_together() -> None:
    data = TrajectoryDataset.concatenate(
        [dataset([episode(1, infos=[{"x": 1}])]), dataset([episode(1, infos=[{"y": 2}])]), dataset([episode(1)])]
    )
    assert data.infos is not None

    assert data.infos["x"].tolist() == [1, ABSENT, ABSENT]
    assert [t.infos.tolist() if t.infos is not None else None for t in data] == [[{"x": 1}], [{"y": 2}], None]


# --- what does not fit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (episode(1, rews=None), "one has rewards and one has none"),
        (episode(1, rews=np.ones(1)), "rews has dtype float32 against float64"),
        (Trajectory(np.zeros((2, 2), np.float32), np.arange(1), None, True), r"shape \(1,\) against \(2,\)"),
        (Trajectory({"a": np.zeros(2)}, np.arange(1), None, True), r"arrays obs against obs\.a"),
        ("episode", "of type str; expected a Trajectory"),
    ],
)
def test_trajectories_that_differ_from_the_first_are_refused_by_number(other: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"1.*{message}"):
        dataset([EPISODES[0], other])


def test_no_trajectories_make_no_dataset() -> None:
    with pytest.raises(DataError, match="no trajectories"):
        dataset([])
    with pytest.raises(DataError, match="no datasets"):
        TrajectoryDataset.concatenate([])


def test_datasets_of_other_spaces_are_not_concatenated() -> None:
    one, other = (dataset(action_space=spaces.Discrete(n)) for n in (2, 3))

    with pytest.raises(DataError, match=r"demonstrations 0 and 1 differ: the action space is Discrete\(2\) against"):
        TrajectoryDataset.concatenate([one, other])


def test_a_dataset_without_spaces_goes_with_one_that_has_them() -> None:
    space = spaces.Discrete(2)

    assert TrajectoryDataset.concatenate([dataset(), dataset(action_space=space)]).action_space == space


def test_rewards_stay_only_when_every_part_has_them() -> None:
    data = TrajectoryDataset.concatenate([dataset(), dataset([episode(1, rews=None)])])

    assert data.rews is None


COLUMNS = {
    "obs": np.zeros((5, 1)),
    "acts": np.zeros(3),
    "episode_ends": np.array([1, 3]),
    "terminals": np.array([True, False]),
    "truncations": np.array([False, True]),
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episode_ends": np.array([0, 3])}, "trajectory 0 has 0 actions; expected at least 1"),
        ({"episode_ends": np.array([3, 3])}, "trajectory 1 has 0 actions"),
        ({"episode_ends": np.array([1, 2])}, "ends with 2, and acts has 3 rows"),
        ({"episode_ends": np.array([1.0, 3.0])}, "dtype float64; expected numbers in a row"),
        ({"obs": np.zeros((3, 1))}, r"got 3, need 5 \(each trajectory has the state after the last action\)"),
        ({"terminals": np.array([True])}, r"terminals has shape \(1,\)"),
        ({"truncations": np.array([0, 1])}, "truncations has shape .* dtype int64; expected .* bool"),
        ({"rews": np.zeros(2)}, r"rews has shape \(2,\), and acts has 3 rows"),
        ({"rews": np.zeros((3, 1))}, r"rews has shape \(3, 1\)"),
        ({"infos": {"x": np.zeros(4)}}, r"infos\.x has shape \(4,\)"),
        ({"acts": np.array(1)}, "acts is a single number"),
    ],
)
def test_columns_that_do_not_fit_together_are_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        TrajectoryDataset(**{**COLUMNS, **changes})


def test_every_fault_of_the_columns_is_named_at_once() -> None:
    with pytest.raises(DataError, match=r"(?s)terminals.*rews"):
        TrajectoryDataset(**{**COLUMNS, "terminals": np.zeros(2), "rews": np.zeros(1)})  # type: ignore[arg-type]  # arrays
