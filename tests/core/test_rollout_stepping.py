"""Stepping: whichever way vectorised environments reset themselves, the same episodes come out, with their own ends."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from mimetic.errors import EnvError, SpaceError
from mimetic.rollout import (
    generate_trajectories,
    generate_transitions,
    make_min_episodes,
    make_min_timesteps,
    policy_to_callable,
    rollout,
)
from mimetic.rollout.lengths import Lengths
from mimetic.rollout.stepping import VectorSteps
from mimetic.types import Trajectory
from mimetic.types.rows import FIRST_ROOM, Rows
from worlds import DictObs, Len

MODES = list(AutoresetMode)


class Counted(Len):
    """Ends after ``n`` steps; what it sees tells the episode (hundreds) and the step, the reward is the step."""

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, _, terminated, _, info = super().step(action)
        cut = self.n is not None and self.n > 3  # the longer ones are cut by the clock
        return obs, float(self.t), terminated and not cut, terminated and cut, info

    def _obs(self) -> np.ndarray:
        return np.array([100 * self.episode + self.t], np.float32)


def vector_of(mode: AutoresetMode, *lengths: int | None) -> VectorEnv[Any, Any, Any]:
    return SyncVectorEnv([lambda n=n: Counted(n) for n in lengths], autoreset_mode=mode)  # type: ignore[misc]  # a default binds it


def venv_of(*lengths: int | None) -> DummyVecEnv:
    return DummyVecEnv([lambda n=n: Counted(n) for n in lengths])  # type: ignore[misc]  # a default binds it


def told(trajectories: list[Trajectory]) -> list[Any]:
    return [
        (np.asarray(each.obs).ravel().tolist(), each.acts.tolist(), each.rews.tolist(), each.terminal, each.truncated)  # type: ignore[union-attr]  # they have rewards
        for each in trajectories
    ]


def alternating(obs: np.ndarray, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
    return obs[:, 0].astype(int) % 2, state


# --- every kind of environments ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, *MODES])
@pytest.mark.parametrize("n_episodes", [1, 4, 9])
def test_whatever_resets_the_environments_the_same_episodes_come_out(
    mode: AutoresetMode | None, n_episodes: int
) -> None:
    """Lengths 1, 3 and 5: ends of one, of several together, and of episodes that end as they begin."""
    lengths = (1, 3, 5)
    venv = venv_of(*lengths) if mode is None else vector_of(mode, *lengths)

    trajectories = generate_trajectories(alternating, venv, make_min_episodes(n_episodes), np.random.default_rng(0))

    assert len(trajectories) >= n_episodes
    for n in lengths:
        own = sorted(told([each for each in trajectories if len(each) == n]))
        assert own == [
            (
                [100.0 * episode + step for step in range(n + 1)],
                [step % 2 for step in range(n)],
                [step + 1.0 for step in range(n)],
                n <= 3,
                n > 3,
            )
            for episode in range(len(own))
        ]
        assert own
    assert all((each.infos is None) == (mode is not None) for each in trajectories)


@pytest.mark.parametrize("mode", MODES)
def test_a_cut_episode_goes_on_in_the_next_trajectory(mode: AutoresetMode) -> None:
    """The step ceiling cuts what is collected, not the environment, which is asked for nothing."""
    for venv in (venv_of(5), vector_of(mode, 5)):
        with pytest.warns(UserWarning, match="environment 0 made 3 steps without an end"):
            trajectories = generate_trajectories(
                alternating, venv, make_min_episodes(2), np.random.default_rng(0), max_steps=3
            )

        parts = sorted(told(trajectories))
        first = float(np.asarray(trajectories[0].obs).min()) // 100 * 100  # SB3's and gymnasium's count other resets
        assert [[step - first for step in part[0]] for part in parts] == [[0, 1, 2, 3], [3, 4, 5]]
        assert [part[3:] for part in parts] == [(False, True)] * 2


@pytest.mark.parametrize("mode", MODES)
def test_an_environment_that_never_ends_is_cut_and_left(mode: AutoresetMode) -> None:
    with pytest.warns(UserWarning, match="environment 1 made 7 steps"):
        trajectories = generate_trajectories(
            alternating, vector_of(mode, 3, None), make_min_timesteps(9), np.random.default_rng(0), max_steps=7
        )

    assert sorted(map(len, trajectories))[-1] == 7
    assert sum(map(len, trajectories)) >= 9


def test_dict_observations_of_gymnasium_s_environments_keep_their_keys() -> None:
    venv = SyncVectorEnv([lambda: DictObs(2), lambda: DictObs(2)], autoreset_mode=AutoresetMode.SAME_STEP)

    (trajectory, *_) = generate_trajectories(None, venv, make_min_episodes(2), np.random.default_rng(0))

    assert isinstance(trajectory.obs, dict)
    assert set(trajectory.obs) == {"key0", "key1"}
    assert {len(column) for column in trajectory.obs.values()} == {len(trajectory) + 1}


def test_gymnasium_s_environments_begin_from_the_generator_s_seed() -> None:
    def first(seed: int) -> Any:
        venv = gym.make_vec("CartPole-v1", num_envs=2)
        return generate_transitions(None, venv, 5, np.random.default_rng(seed)).obs

    assert np.array_equal(first(1), first(1))
    assert not np.array_equal(first(1), first(2))


def test_raw_observations_are_not_known_of_gymnasium_s_environments() -> None:
    with pytest.raises(EnvError, match="pass unwrap=False"):
        rollout(None, gym.make_vec("CartPole-v1", num_envs=2), make_min_episodes(2), np.random.default_rng(0))


def test_gymnasium_s_environments_with_unsupported_spaces_are_refused() -> None:
    class Odd(Len):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = gym.spaces.Text(3)

    with pytest.raises(SpaceError, match="Text"):
        VectorSteps(SyncVectorEnv([Odd]))


# --- who normalises ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm_obs", [True, False])
def test_an_algorithm_in_its_own_normalised_environments_sees_them_normalised_once(norm_obs: bool) -> None:
    venv: Any = VecNormalize(DummyVecEnv([Len]), norm_obs=norm_obs)
    model = PPO("MlpPolicy", venv, n_steps=8, batch_size=8, device="cpu")
    model.learn(32)
    seen: list[float] = []
    model.policy.features_extractor.register_forward_hook(lambda m, given, out: seen.append(given[0].item()))
    actor = policy_to_callable(model, venv, deterministic_policy=True)

    actor(np.array([[0.5]], np.float32), None, np.zeros(1, bool))

    assert seen == [0.5]


# --- what is counted and kept -----------------------------------------------------------------------------------


def test_the_ceiling_is_seen_in_the_step_in_which_it_is_reached() -> None:
    """Environment 1 begins anew at every second step."""
    lengths = Lengths(2, max_steps=5)
    alarms = []
    for step in range(1, 8):
        alarms.append(lengths.tick() and lengths.at_ceiling() == [0])
        assert (lengths.of(0), lengths.of(1)) == (step, step % 2 or 2)
        if step % 2 == 0:
            lengths.begin([1])

    assert alarms == [False] * 4 + [True] * 3


@pytest.mark.parametrize("n", [1, FIRST_ROOM, FIRST_ROOM + 1, 5 * FIRST_ROOM])
def test_rows_are_what_was_appended(n: int) -> None:
    rows = Rows(np.zeros(2, np.int8))
    for i in range(n):
        rows.append([i, -i])

    assert (len(rows), rows.shape, rows.dtype) == (n, (2,), np.dtype(np.int8))
    assert rows.view().tolist() == [[i, -i] for i in range(n)]


def test_rows_forget_from_the_beginning() -> None:
    rows = Rows(0.0)
    for i in range(100):
        rows.append(i)
    rows.forget(98)
    rows.append(7.0)
    rows.replace_last(8.0)

    assert rows.view().tolist() == [98.0, 99.0, 8.0]
    assert rows.view(1, 2).tolist() == [99.0]


def test_rows_of_whole_numbers_can_be_made_to_hold_others() -> None:
    rows = Rows(3)
    rows.append(3)
    rows.widen(np.dtype(np.float64))
    rows.append(0.5)

    assert rows.view().tolist() == [3.0, 0.5]
