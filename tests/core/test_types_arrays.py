from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from mimetic.errors import DataError
from mimetic.types import (
    Demonstrations,
    Trajectory,
    TrajectoryDataset,
    Transitions,
    TransitionsMinimal,
    TransitionsWithRew,
    from_arrays,
)
from mimetic.types.arrays import join_transitions

OBS, ACTS = np.arange(4.0)[:, None], np.arange(3)


def data(made: Demonstrations) -> Any:
    return made.data


def test_as_many_observations_as_actions_are_single_steps() -> None:
    """D-5: arrays, and nothing else."""
    assert data(from_arrays(OBS[:3], ACTS)) == TransitionsMinimal(OBS[:3], ACTS)


def test_an_observation_more_makes_one_trajectory() -> None:
    made = data(from_arrays(OBS, ACTS, rews=np.ones(3), terminals=[True]))

    assert list(made) == [Trajectory(OBS, ACTS, None, True, rews=np.ones(3))]


def test_episode_ends_cut_arrays_into_trajectories() -> None:
    made = data(from_arrays(np.arange(5.0), ACTS, episode_ends=[1, 3], truncations=[True, False]))

    assert [t.obs.tolist() for t in made] == [[0.0, 1.0], [2.0, 3.0, 4.0]]
    assert [t.truncated for t in made] == [True, False]


def test_next_observations_make_transitions() -> None:
    made = data(from_arrays(OBS[:3], ACTS, next_obs=OBS[1:], dones=np.array([False, False, True])))

    assert type(made) is Transitions


def test_rewards_of_transitions_are_kept() -> None:
    made = data(from_arrays(OBS[:3], ACTS, next_obs=OBS[1:], dones=np.zeros(3, bool), rews=np.ones(3)))

    assert type(made) is TransitionsWithRew


@pytest.mark.parametrize(
    "episodes",
    [
        [(OBS, ACTS)],
        [{"obs": OBS, "acts": ACTS}],
        [Trajectory(OBS, ACTS, None, False)],
        iter([[OBS, ACTS]]),
    ],
)
def test_episodes_may_be_pairs_mappings_or_trajectories(episodes: Any) -> None:
    assert list(data(from_arrays(episodes=episodes))) == [Trajectory(OBS, ACTS, None, False)]


def test_spaces_and_a_description_go_with_the_data() -> None:
    space = spaces.Discrete(3)
    made = from_arrays(OBS, ACTS, action_space=space, description="mine")

    assert (made.action_space, data(made).action_space, made.description) == (space, space, "mine")


def test_no_array_is_copied() -> None:
    assert data(from_arrays(OBS[:3], ACTS)).acts is ACTS


def test_what_single_steps_have_no_place_for_is_said() -> None:
    with pytest.warns(UserWarning, match="rews: left out"):
        from_arrays(OBS[:3], ACTS, rews=np.ones(3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "expected obs and acts, or episodes"),
        ({"obs": OBS}, "expected obs and acts, or episodes"),
        ({"obs": OBS, "acts": np.zeros(0)}, "at least one action"),
        ({"obs": OBS, "acts": np.array(1)}, "at least one action"),
        ({"obs": OBS, "acts": np.zeros(7)}, r"obs has 4 rows and acts 7; expected 7 .* 8 \(one trajectory"),
        ({"obs": OBS[:3], "acts": ACTS, "episode_ends": [3]}, "got 3, need 4"),
        ({"obs": OBS[:3], "acts": ACTS, "dones": np.zeros(3, bool)}, "dones need next_obs"),
        ({"obs": OBS[:3], "acts": ACTS, "terminals": [True]}, "terminals need episode_ends"),
        ({"obs": OBS[:3], "acts": ACTS, "next_obs": OBS[1:]}, "next_obs needs dones"),
        ({"obs": OBS[:3], "acts": ACTS, "next_obs": OBS[1:], "episode_ends": [3]}, "episode_ends go with trajectories"),
        ({"episodes": [(OBS, ACTS)], "rews": ACTS}, "episodes hold all arrays"),
        ({"episodes": [(OBS, ACTS), (OBS[:3], ACTS)]}, "episode 1: .*got 3, need 4"),
        ({"episodes": [(OBS, ACTS, ACTS)]}, "episode 0 has 3 parts"),
        ({"episodes": [{"obs": OBS, "acts": ACTS, "reward": ACTS}]}, "episode 0 has the keys"),
        ({"episodes": [{"obs": OBS}]}, "episode 0 has the keys"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_with_their_numbers(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_arrays(**arguments)


# --- single steps to trajectories --------------------------------------------------------------------------------


def two_episodes() -> TrajectoryDataset:
    def walk(n: int, x: float, **ending: bool) -> Trajectory:
        infos: Any = [{"x": x}] * n
        return Trajectory({"a": OBS[: n + 1], "b": {"c": OBS[: n + 1]}}, ACTS[:n], infos, rews=np.ones(n), **ending)

    return TrajectoryDataset.from_trajectories(
        [walk(3, 1.0, terminal=True), walk(1, 2.0, terminal=False, truncated=True)]
    )


def test_joining_transitions_is_the_reverse_of_taking_trajectories_apart() -> None:
    assert join_transitions(two_episodes().transitions()) == two_episodes()


def test_a_last_trajectory_without_an_end_is_truncated() -> None:
    steps = Transitions(OBS[:3], ACTS, None, OBS[1:], np.zeros(3, bool))

    assert [(t.terminal, t.truncated) for t in join_transitions(steps)] == [(False, True)]


def test_steps_out_of_order_are_not_joined() -> None:
    shuffled = two_episodes().transitions()[[1, 0, 2, 3]]

    with pytest.raises(DataError, match=r"transition 0: its next_obs\.a is not the obs\.a of transition 1"):
        join_transitions(shuffled)


def test_joining_does_not_change_the_callers_flags() -> None:
    dones = np.zeros(3, bool)
    join_transitions(Transitions(OBS[:3], ACTS, None, OBS[1:], dones))

    assert not dones.any()
