import copy
import pickle
from typing import Any

import numpy as np
import pytest

from mimetic.errors import DataError
from mimetic.types import Trajectory, TrajectoryWithRew


def walk(n: int = 3, dtype: Any = np.float32, **changes: Any) -> Trajectory:
    """``n`` steps of an environment whose observation is the step number."""
    kwargs = {"terminal": True, "rews": np.ones(n), **changes}
    return Trajectory(np.arange(n + 1, dtype=dtype)[:, None], np.arange(n), kwargs.pop("infos", None), **kwargs)


@pytest.mark.parametrize("n", [1, 3])
def test_n_steps_are_n_actions_between_n_plus_one_observations(n: int) -> None:
    """D-6: one-step episodes work too."""
    trajectory = walk(n)

    assert len(trajectory) == n
    assert len(trajectory.obs) == n + 1


def test_as_many_observations_as_actions_is_an_error_that_says_what_is_missing() -> None:
    """D-5: the most common fault of data that people record themselves."""
    with pytest.raises(DataError, match=r"got 3, need 4 \(the state after the last action\)"):
        Trajectory(np.zeros((3, 2)), np.zeros(3), None, True)


def test_a_trajectory_without_actions_is_refused() -> None:
    """D-6: n = 0."""
    with pytest.raises(DataError, match="at least one action"):
        Trajectory(np.zeros((1, 2)), np.zeros(0), None, True)


def test_terminated_and_truncated_are_kept_apart() -> None:
    """BUG-15: both, either or none may be true."""
    walks = [walk(terminal=a, truncated=b) for a in (False, True) for b in (False, True)]
    endings = [(trajectory.terminal, trajectory.truncated) for trajectory in walks]

    assert endings == [(False, False), (False, True), (True, False), (True, True)]


def test_a_flag_that_is_no_bool_is_refused() -> None:
    with pytest.raises(DataError, match="terminal is 1; expected True or False"):
        walk(terminal=1)


def test_the_function_with_rewards_builds_the_same_class() -> None:
    with_rew = TrajectoryWithRew(np.arange(4, dtype=np.float32)[:, None], np.arange(3), None, True, np.ones(3))

    assert type(with_rew) is Trajectory
    assert with_rew == walk(3)


def test_arrays_are_kept_without_a_copy_and_lists_become_arrays() -> None:
    obs = np.zeros((3, 1))
    trajectory = Trajectory(obs, [0, 1], [{}, {"x": 1}], False)  # type: ignore[arg-type]  # what people write

    assert trajectory.obs is obs
    assert isinstance(trajectory.acts, np.ndarray)
    assert trajectory.infos is not None
    assert trajectory.infos[1] == {"x": 1}


def test_the_callers_arrays_stay_writable() -> None:
    """BUG-09: the reference marks them read-only."""
    obs, acts, rews = np.zeros((3, 1)), np.zeros(2), np.zeros(2)
    Trajectory(obs, acts, None, True, rews=rews)

    assert all(array.flags.writeable for array in (obs, acts, rews))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float32, np.float64, bool])
def test_trajectories_of_equal_numbers_and_other_dtypes_differ(dtype: Any) -> None:
    """D-2: the reference calls them equal."""
    others = [np.uint8, np.int64, np.float16, np.float32, np.float64, bool]
    one = walk(1, dtype)

    assert [other for other in others if one == walk(1, other)] == [dtype]


def test_nan_equals_nan_of_any_payload_and_minus_zero_differs_from_zero() -> None:
    quiet, other = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    nan = [walk(1, rews=np.array([value])) for value in (quiet, other)]
    zero = [walk(1, rews=np.array([value])) for value in (0.0, -0.0)]

    assert nan[0] == nan[1]
    assert zero[0] != zero[1]


def test_byte_order_and_strides_are_no_difference() -> None:
    straight = walk(rews=np.array([1.0, 2.0, 3.0]))
    swapped = walk(rews=np.array([1.0, 2.0, 3.0], ">f8"))
    reversed_view = walk(rews=np.array([3.0, 2.0, 1.0])[::-1])

    assert straight == swapped == reversed_view


@pytest.mark.parametrize(
    "other",
    [walk(4), walk(terminal=False), walk(truncated=True), walk(rews=None), walk(infos=[{"x": 1}, {}, {}])],
)
def test_any_difference_makes_trajectories_differ(other: Trajectory) -> None:
    assert walk() != other


def test_no_infos_equal_empty_infos() -> None:
    assert walk(infos=None) == walk(infos=[{}, {}, {}])


def test_infos_are_compared_to_the_bottom() -> None:
    infos = [[{"a": {"b": np.zeros(2)}, "c": [1, "x"], "n": number}] for number in (1, 1, 2)]
    one, same, other = (walk(1, infos=info) for info in infos)

    assert one == same
    assert one != other


def test_trajectories_have_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(walk())


def test_a_trajectory_is_not_equal_to_something_else() -> None:
    assert walk() != "trajectory"


def test_trajectories_survive_pickling_and_copying() -> None:
    """They travel between processes."""
    assert pickle.loads(pickle.dumps(walk())) == walk() == copy.deepcopy(walk())


def test_dict_observations_are_counted_by_rows_not_by_keys() -> None:
    """D-3, BUG-06: three keys are not three steps."""
    obs: Any = {"a": np.zeros((2, 2)), "b": {"c": np.zeros(2), "d": np.zeros(2)}}

    assert len(Trajectory(obs, np.zeros(1), None, True)) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rews": np.ones(2)}, r"rews have shape \(2,\); expected \(3,\)"),
        ({"rews": np.ones((3, 1))}, r"rews have shape \(3, 1\)"),
        ({"rews": np.array(["a", "b", "c"])}, "expected numbers"),
        ({"infos": [{}]}, r"infos have shape \(1,\); expected \(3,\)"),
        ({"infos": [{}, 3, {}]}, "infos, step 1: of type int"),
    ],
)
def test_columns_that_do_not_fit_the_actions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        walk(**changes)


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        ({}, "an empty mapping"),
        ({1: np.zeros(2)}, "the key 1 is of type int"),
        ([[1.0], [1.0, 2.0]], "rows of equal shape"),
    ],
)
def test_observations_that_are_no_table_are_refused(obs: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Trajectory(obs, np.zeros(1), None, True)


def test_the_return_is_summed_in_float64() -> None:
    """A float32 sum of these loses every small reward."""
    rews = np.array([1e8, *[1.0] * 10], np.float32)

    assert walk(11, rews=rews).episode_return == 1e8 + 10
    assert walk(rews=None).episode_return is None
