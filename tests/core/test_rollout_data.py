"""What becomes of trajectories: numbers, rows, raw episodes, buffers."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings, strategies
from stable_baselines3.common.vec_env import DummyVecEnv

from mimetic.errors import DataError, EnvError
from mimetic.rollout import (
    BufferingWrapper,
    RolloutInfoWrapper,
    TrajectoryAccumulator,
    discounted_sum,
    flatten_trajectories,
    flatten_trajectories_with_rew,
    rollout_stats,
    unwrap_traj,
)
from mimetic.types import Trajectory, TransitionsWithRew
from worlds import Len

# --- statistics -------------------------------------------------------------------------------------------------


def test_statistics_have_the_names_that_people_know() -> None:
    statistics = rollout_stats([trajectory(1, 2, 3), trajectory(4)])

    assert statistics == {
        "n_traj": 2,
        "return_min": 4.0,
        "return_mean": 5.0,
        "return_std": 1.0,  # of the population
        "return_max": 6.0,
        "len_min": 1,
        "len_mean": 2.0,
        "len_std": 1.0,
        "len_max": 3,
    }


def test_returns_are_summed_in_float64() -> None:
    """Ten million tenths in float32 would be off by tens of thousands."""
    rews = np.full(1_000_000, 0.1, np.float32)

    assert rollout_stats([trajectory(*rews)])["return_mean"] == pytest.approx(1e6 * float(np.float32(0.1)), rel=1e-12)


def test_a_generator_of_trajectories_will_do() -> None:
    assert rollout_stats(trajectory(1) for _ in range(3))["n_traj"] == 3


def test_no_trajectories_have_no_statistics() -> None:
    with pytest.raises(ValueError, match="no trajectories to describe"):
        rollout_stats([])


def test_a_trajectory_without_rewards_has_no_return() -> None:
    with pytest.raises(DataError, match="trajectory 0 has no rewards"):
        rollout_stats([Trajectory(np.zeros((2, 1)), np.zeros(1), None, True)])


def test_a_monitors_episode_is_counted_where_there_is_one() -> None:
    infos = np.array([{}, {"episode": {"r": 7.5, "l": 2}}], object)
    monitored = Trajectory(np.zeros((3, 1)), np.zeros(2), infos, True, rews=np.ones(2))

    statistics = rollout_stats([monitored, trajectory(1)])

    assert (statistics["monitor_return_len"], statistics["monitor_return_max"]) == (1, 7.5)


@given(strategies.lists(strategies.floats(-1e3, 1e3), min_size=1, max_size=20), strategies.floats(0, 1))
@settings(max_examples=50)
def test_a_discounted_sum_is_horners_rule_along_the_first_axis(rewards: list[float], gamma: float) -> None:
    expected = 0.0
    for reward in reversed(rewards):
        expected = reward + gamma * expected
    both = np.stack([rewards, np.zeros(len(rewards))], axis=1)

    assert discounted_sum(np.array(rewards), gamma) == pytest.approx(expected, abs=1e-8)
    assert np.asarray(discounted_sum(both, gamma)).tolist() == pytest.approx([expected, 0.0], abs=1e-8)


def test_a_discounted_sum_of_three_axes_is_refused() -> None:
    with pytest.raises(DataError, match=r"got \(1, 1, 1\)"):
        discounted_sum(np.zeros((1, 1, 1)), 0.9)


# --- transitions ------------------------------------------------------------------------------------------------


def test_trajectories_become_rows_with_both_kinds_of_end() -> None:
    cut = Trajectory(np.array([[5.0], [6.0]]), np.array([1]), None, False, truncated=True)

    rows = flatten_trajectories([trajectory(1, 1), cut])

    assert np.asarray(rows.obs)[:, 0].tolist() == [0, 1, 5]
    assert np.asarray(rows.next_obs)[:, 0].tolist() == [1, 2, 6]
    assert (rows.dones.tolist(), rows.truncated.tolist()) == ([False, True, False], [False, False, True])
    assert rows.infos is not None
    assert rows.infos.tolist() == [{}, {}, {}]


def test_a_one_shot_iterable_can_be_flattened() -> None:
    """The reference went over its input several times."""

    def stream() -> Iterator[Trajectory]:
        yield trajectory(1, 2)
        yield trajectory(3)

    rows = flatten_trajectories_with_rew(stream())

    assert isinstance(rows, TransitionsWithRew)
    assert rows.rews.tolist() == [1, 2, 3]


def test_nothing_cannot_be_flattened() -> None:
    with pytest.raises(ValueError, match="no trajectories to flatten"):
        flatten_trajectories([])


def test_trajectories_of_different_kinds_are_not_mixed() -> None:
    other = Trajectory({"a": np.zeros((2, 1))}, np.zeros(1, int), None, True)

    with pytest.raises(DataError, match="observations 0 and 1"):
        flatten_trajectories([trajectory(1), other])
    with pytest.raises(DataError, match="trajectories 0 and 1: actions of shape"):
        flatten_trajectories([trajectory(1), Trajectory(np.zeros((2, 1)), np.zeros((1, 3)), None, True)])


def test_rewards_are_needed_for_rows_with_rewards() -> None:
    with pytest.raises(DataError, match="trajectory 1 has no rewards"):
        flatten_trajectories_with_rew([trajectory(1), Trajectory(np.zeros((2, 1)), np.zeros(1, int), None, True)])


def test_flattening_leaves_the_callers_arrays_writable() -> None:
    original = trajectory(1, 2)

    flatten_trajectories([original])

    assert isinstance(original.obs, np.ndarray)
    assert original.obs.flags.writeable
    assert original.acts.flags.writeable


# --- raw episodes -----------------------------------------------------------------------------------------------


def test_the_raw_episode_is_in_the_last_info() -> None:
    env = RolloutInfoWrapper(Len(2))
    env.reset(seed=0)
    first = env.step(0)[4]
    last = env.step(0)[4]

    assert first == {}
    assert last["rollout"]["obs"].tolist() == [[0], [1], [2]]
    assert last["rollout"]["rews"].tolist() == [1, 1]


def test_a_key_that_the_environment_uses_itself_is_not_overwritten() -> None:
    class Taken(Len):
        def step(self, action: Any) -> Any:
            return (*super().step(action)[:4], {"rollout": 1})

    env = RolloutInfoWrapper(Taken(1))
    env.reset(seed=0)

    with pytest.raises(EnvError, match="holds the key 'rollout'"):
        env.step(0)


def test_what_was_not_kept_cannot_be_unwrapped() -> None:
    with pytest.raises(ValueError, match="a trajectory without infos"):
        unwrap_traj(trajectory(1))
    with pytest.raises(DataError, match=r"no 'rollout'.*RolloutInfoWrapper"):
        unwrap_traj(Trajectory(np.zeros((2, 1)), np.zeros(1), np.array([{}], object), True))


# --- accumulator ------------------------------------------------------------------------------------------------


def test_steps_under_two_keys_become_two_trajectories() -> None:
    accumulator = TrajectoryAccumulator()
    for key in ("a", "b"):
        accumulator.add_step({"obs": np.array([0])}, key)
    accumulator.add_step({"acts": 1, "obs": np.array([1]), "rews": 2.0, "infos": {"x": 1}}, "a")
    accumulator.add_step({"acts": 0, "obs": np.array([9]), "rews": 0.0, "infos": {}}, "b")

    done, cut = accumulator.finish_trajectory("a"), accumulator.finish_trajectory("b", terminal=False)

    assert done == Trajectory(
        np.array([[0], [1]]), np.array([1]), np.array([{"x": 1}], object), True, rews=np.array([2.0])
    )
    assert (cut.terminal, cut.truncated) == (False, True)


def test_a_trajectory_without_a_step_cannot_be_finished() -> None:
    accumulator = TrajectoryAccumulator()
    accumulator.add_step({"obs": np.array([0])}, 3)

    with pytest.raises(DataError, match="nothing to finish under the key 3"):
        accumulator.finish_trajectory(3)


def test_steps_of_a_venv_finish_where_it_is_done() -> None:
    venv = DummyVecEnv([lambda: Len(2), lambda: gym.wrappers.TimeLimit(Len(9), 1)])
    accumulator = TrajectoryAccumulator()
    for index, obs in enumerate(np.asarray(venv.reset())):
        accumulator.add_step({"obs": obs}, index)
    finished: list[Trajectory] = []
    for _ in range(2):
        acts = np.zeros(2, int)
        obs, rews, dones, infos = venv.step(acts)
        finished += accumulator.add_steps_and_auto_finish(acts, obs, rews, dones, infos)

    assert [(np.asarray(each.obs)[:, 0].tolist(), each.terminal, each.truncated) for each in finished] == [
        ([0, 1], False, True),
        ([0, 1, 2], True, False),
        ([0, 1], False, True),
    ]


# --- buffers ----------------------------------------------------------------------------------------------------


def test_everything_since_the_last_pop_comes_out_once() -> None:
    venv = buffered(Len(3))
    step(venv, 4)
    first = venv.pop_transitions()
    step(venv, 2)
    second = venv.pop_transitions()

    assert np.asarray(first.obs)[:, 0].tolist() == [0, 1, 2, 0]
    assert np.asarray(second.obs)[:, 0].tolist() == [1, 2]
    assert second.dones.tolist() == [False, True]


def test_popping_finished_trajectories_leaves_the_running_ones_to_be_popped() -> None:
    """The reference forgot how many steps were left, and failed at the next pop."""
    venv = buffered(Len(3))
    step(venv, 5)

    finished, lengths = venv.pop_finished_trajectories()

    assert ([len(each) for each in finished], lengths, venv.n_transitions) == ([3], [3], 2)
    assert np.asarray(venv.pop_transitions().obs)[:, 0].tolist() == [0, 1]


def test_a_fragment_is_truncated_and_the_whole_episodes_length_is_told_at_its_end() -> None:
    venv = buffered(Len(3))
    step(venv, 2)
    (head,), none = venv.pop_trajectories()
    step(venv, 1)
    (tail,), lengths = venv.pop_trajectories()

    assert (len(head), head.truncated, none) == (2, True, [])
    assert (len(tail), tail.terminal, lengths) == (1, True, [3])


def test_a_reset_that_would_lose_steps_is_refused_unless_that_is_wanted() -> None:
    strict, loose = buffered(Len(3)), buffered(Len(3), error_on_premature_reset=False)
    for venv in (strict, loose):
        step(venv, 2)

    with pytest.raises(RuntimeError, match="would lose 2 transitions"):
        strict.reset()
    loose.reset()
    assert loose.n_transitions == 0


def test_nothing_can_be_popped_before_something_happened() -> None:
    venv = BufferingWrapper(DummyVecEnv([lambda: Len(3)]))

    with pytest.raises(RuntimeError, match="reset the environment"):
        venv.pop_transitions()
    venv.reset()
    with pytest.raises(RuntimeError, match="no transitions to pop"):
        venv.pop_transitions()
    assert venv.pop_trajectories() == ([], [])


def trajectory(*rews: float) -> Trajectory:
    n = len(rews)
    return Trajectory(np.arange(n + 1.0)[:, None], np.zeros(n, int), None, True, rews=np.array(rews))


def buffered(env: gym.Env[Any, Any], *, error_on_premature_reset: bool = True) -> BufferingWrapper:
    venv = BufferingWrapper(DummyVecEnv([lambda: env]), error_on_premature_reset)
    venv.reset()
    return venv


def step(venv: BufferingWrapper, n: int) -> None:
    for _ in range(n):
        venv.step(np.zeros(venv.num_envs, int))
