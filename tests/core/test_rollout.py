"""Collecting: at least as many as asked, no bias towards short episodes, ends told apart, nothing global touched."""

import logging
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from mimetic.envs import make_vec_env
from mimetic.errors import ConfigError, EnvError
from mimetic.policies import Actor
from mimetic.rollout import (
    RolloutInfoWrapper,
    generate_trajectories,
    generate_transitions,
    make_min_episodes,
    make_min_timesteps,
    make_sample_until,
    policy_to_callable,
    rollout,
    rollout_stats,
)
from mimetic.types import Trajectory
from worlds import Cont, DictObs, Len, Noisy


@pytest.mark.parametrize("n", [4, 10])
def test_short_episodes_do_not_win_when_environments_run_side_by_side(n: int) -> None:
    """R-1: of Len(2) and Len(100) the first n to finish are all short. The long one is waited for."""
    trajectories = collect(venv_of(Len(2), Len(100)), make_min_episodes(n))

    assert sorted(len(each) for each in trajectories) == [2] * n + [100]


def test_environments_that_were_running_when_it_was_enough_finish_their_episodes() -> None:
    trajectories = collect(venv_of(*[Len(5) for _ in range(4)]), make_min_episodes(1))

    assert [len(each) for each in trajectories] == [5, 5, 5, 5]


def test_the_count_that_was_collected_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mimetic"):
        collect(venv_of(*[Len(5) for _ in range(4)]), make_min_episodes(1))

    assert "collected 4 trajectories, 20 steps" in caplog.text


def test_steps_are_aligned_with_one_observation_more_than_actions() -> None:
    """D-6: pair i is (obs i, action i, next i + 1), and the last flag stands at the end alone."""
    for n in (1, 3):
        transitions = generate_transitions(alternating, venv_of(Len(n)), n, np.random.default_rng(0))
        (trajectory,) = collect(venv_of(Len(n)), make_min_episodes(1), alternating)

        assert column(trajectory.obs) == list(range(n + 1))
        assert trajectory.acts.tolist() == [step % 2 for step in range(n)]
        assert trajectory.rews is not None
        assert trajectory.infos is not None
        assert len(trajectory.rews) == len(trajectory.infos) == n
        assert column(transitions.next_obs) == [i + 1 for i in column(transitions.obs)]
        assert transitions.dones.tolist() == [False] * (n - 1) + [True]


def test_the_end_of_the_task_is_told_from_the_clock() -> None:
    """R-2: the reference called every end terminal."""
    ends = {
        name: (each.terminal, each.truncated)
        for name, env in {
            "task": Len(5),
            "clock": gym.wrappers.TimeLimit(Len(100), 5),
            "both": gym.wrappers.TimeLimit(Len(5), 5),
        }.items()
        for each in collect(venv_of(env), make_min_episodes(1))
    }

    assert ends == {"task": (True, False), "clock": (False, True), "both": (True, False)}


def test_a_never_ending_episode_is_cut_with_a_warning_when_episodes_are_asked() -> None:
    with pytest.warns(UserWarning, match="environment 0 made 50 steps without an end, so its episode was cut"):
        trajectories = collect(venv_of(Len(None)), make_min_episodes(1), max_steps=50)

    assert [(len(each), each.terminal, each.truncated) for each in trajectories] == [(50, False, True)]


def test_a_never_ending_episode_gives_as_many_steps_as_asked_in_pieces() -> None:
    """The pieces follow each other: the second begins where the first was cut."""
    with pytest.warns(UserWarning, match="without an end"):
        trajectories = collect(venv_of(Len(None)), make_min_timesteps(1000), max_steps=400)

    trajectories.sort(key=lambda each: column(each.obs)[0])
    assert [(len(each), column(each.obs)[0]) for each in trajectories] == [(400, 0), (400, 400), (400, 800)]


def test_a_recurrent_policy_hears_of_every_start_the_first_one_included() -> None:
    starts: list[bool] = []

    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        starts.append(bool(episode_start[0]))
        return np.zeros(1, int), state

    collect(venv_of(Len(3)), make_min_episodes(2), policy)

    assert starts == [True, False, False, True, False, False]


def test_state_goes_from_call_to_call() -> None:
    seen: list[Any] = []

    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        seen.append(state)
        return np.zeros(1, int), (state or 0) + 1

    collect(venv_of(Len(3)), make_min_episodes(1), policy)

    assert seen == [None, 1, 2]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n_envs", [1, 2, 5])
def test_random_actions_are_as_many_as_environments_with_dict_observations(k: int, n_envs: int) -> None:
    """The reference counted the keys."""
    trajectories = collect(venv_of(*[DictObs(k, 4) for _ in range(n_envs)]), make_min_episodes(1), None)

    assert len(trajectories) == n_envs
    for each in trajectories:
        assert isinstance(each.obs, dict)
        assert {key: leaf.shape for key, leaf in each.obs.items()} == {f"key{i}": (5, 2) for i in range(k)}


def test_dict_observations_end_with_the_last_of_their_own_episode() -> None:
    class Counting(DictObs):
        def _obs(self) -> dict[str, np.ndarray]:
            return {f"key{i}": np.full(2, self.t, np.float32) for i in range(self.k)}

    trajectories = collect(venv_of(Counting(2, 2), Counting(2, 3)), make_min_episodes(2), None)

    for each in trajectories:
        assert isinstance(each.obs, dict)
        assert each.obs["key1"][:, 0].tolist() == list(range(len(each) + 1))


def test_recorded_actions_are_those_that_the_environment_received() -> None:
    """BC-9: a policy that wants 5 sends 1, and 1 is what is kept."""
    received: list[float] = []

    class Listening(Cont):
        def step(self, action: Any) -> Any:
            received.append(float(action[0]))
            return super().step(action)

    (trajectory,) = collect(
        venv_of(Listening(-1, 1, 2)), make_min_episodes(1), lambda o, s, e: (np.full((1, 1), 5.0), s)
    )

    assert received == [1.0, 1.0] == trajectory.acts[:, 0].tolist()


def test_the_order_is_shuffled_by_the_generator() -> None:
    """Lengths 1, 2, ... come in order from one environment; equal generators shuffle equally."""

    class Growing(Len):
        def reset(self, **kwargs: Any) -> Any:
            self.n = (self.n or 0) + 1
            return super().reset(**kwargs)

    orders = [
        [len(each) for each in collect(venv_of(Growing(0)), make_min_episodes(12), seed=seed)] for seed in (0, 0, 1)
    ]

    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(1, 13)) != orders[0]


def test_equal_generators_give_equal_rollouts_of_a_stochastic_policy() -> None:
    first, again, other = (collect(venv_of(Cont(-1, 1, 6)), make_min_episodes(3), None, seed=s) for s in (0, 0, 1))

    assert first == again != other


def test_a_rollout_leaves_global_streams_and_training_mode_alone() -> None:
    """Parity 8: what is learned must not depend on whether something was rolled out meanwhile."""
    policy = ActorCriticPolicy(Len().observation_space, Len().action_space, lambda _: 0.0)
    policy.train()
    torch.manual_seed(3)
    np.random.seed(3)
    expected = torch.rand(3), np.random.rand(3)
    torch.manual_seed(3)
    np.random.seed(3)

    collect(venv_of(Len(5), Noisy()), make_min_episodes(3), policy)

    assert policy.training
    assert torch.equal(torch.rand(3), expected[0])
    np.testing.assert_array_equal(np.random.rand(3), expected[1])


def test_what_an_actor_notes_goes_into_the_infos() -> None:
    class Noting(Actor):
        def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
            self.last_infos = {"explored": obs[:, 0] % 2 == 1}
            return np.zeros(len(obs), int), state

    (trajectory,) = collect(venv_of(Len(4)), make_min_episodes(1), Noting())

    assert trajectory.infos is not None
    assert [bool(info["explored"]) for info in trajectory.infos] == [False, True, False, True]


def test_a_callable_cannot_be_asked_to_be_deterministic() -> None:
    with pytest.raises(ConfigError, match="says nothing to a callable"):
        policy_to_callable(alternating, venv_of(Len(2)), deterministic_policy=True)


def test_tuple_observations_are_refused() -> None:
    class Pairs(DummyVecEnv):
        def reset(self) -> Any:
            return (super().reset(),)

    with pytest.raises(EnvError, match="Tuple observations"):
        collect(Pairs([Len]), make_min_episodes(1))


def test_raw_observations_and_rewards_come_out_of_changed_ones() -> None:
    """R-4: the environment shows 1000 + t and pays 1; the policy sees and earns other numbers."""

    class Far(Len):
        def _obs(self) -> np.ndarray:
            return np.array([1000 + self.t], np.float32)

    env: Any = gym.wrappers.TransformReward(RolloutInfoWrapper(Far(3)), lambda reward: 0.1 * float(reward))
    env = gym.wrappers.TransformObservation(env, lambda obs: obs - 1000, env.observation_space)

    (raw,) = rollout(None, venv_of(env), make_min_episodes(1), np.random.default_rng(0))
    (seen,) = rollout(None, venv_of(env), make_min_episodes(1), np.random.default_rng(0), unwrap=False)

    assert column(raw.obs) == [1000, 1001, 1002, 1003]
    assert raw.episode_return == 3.0
    assert column(seen.obs) == [0, 1, 2, 3]
    assert raw.infos is None


def test_raw_episodes_are_refused_before_the_first_step_when_nobody_keeps_them() -> None:
    env = Len(3)

    with pytest.raises(EnvError, match=r"wrapped in mimetic.rollout.RolloutInfoWrapper"):
        rollout(None, venv_of(env), make_min_episodes(1), np.random.default_rng(0))

    assert env.t == 0


def test_infos_stay_when_they_are_asked_for() -> None:
    (trajectory,) = rollout(
        None, venv_of(Len(2)), make_min_episodes(1), np.random.default_rng(0), unwrap=False, exclude_infos=False
    )

    assert trajectory.infos is not None
    assert len(trajectory.infos) == 2


def test_statistics_are_logged_unless_they_are_not_wanted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mimetic"):
        rollout(None, venv_of(Len(2)), make_min_episodes(1), np.random.default_rng(0), unwrap=False, verbose=False)
        assert "return_mean" not in caplog.text
        rollout(None, venv_of(Len(2)), make_min_episodes(1), np.random.default_rng(0), unwrap=False)

    assert "'return_mean': 2.0" in caplog.text


def test_monitored_environments_report_what_their_monitor_saw() -> None:
    venv = make_vec_env(
        "mimetic-tests/Len-v0",
        rng=np.random.default_rng(0),
        n_envs=2,
        post_wrappers=[lambda env, index: gym.wrappers.TransformReward(env, lambda reward: 3 * float(reward))],
    )

    statistics = rollout_stats(collect(venv, make_min_episodes(2)))

    assert (statistics["return_mean"], statistics["monitor_return_mean"]) == (15.0, 5.0)
    assert statistics["monitor_return_len"] == 2


@pytest.mark.parametrize(("truncate", "n"), [(True, 7), (False, 8)])
def test_transitions_are_exactly_as_many_as_asked_when_they_are_truncated(truncate: bool, n: int) -> None:
    transitions = generate_transitions(None, venv_of(Len(4)), 7, np.random.default_rng(0), truncate=truncate)

    assert len(transitions) == n


def test_both_minima_must_be_reached() -> None:
    enough = make_sample_until(min_timesteps=6, min_episodes=2)

    assert [enough(steps(*lengths)) for lengths in ((9,), (2, 2), (3, 3))] == [False, False, True]


def test_steps_are_counted_again_for_another_list() -> None:
    enough = make_min_timesteps(5)

    assert [enough(steps(3, 2)), enough(steps(3)), enough(steps(4, 4))] == [True, False, True]


@pytest.mark.parametrize("n", [0, -1])
def test_minima_are_positive(n: int) -> None:
    with pytest.raises(ValueError, match=f"min_episodes is {n}; expected at least 1"):
        make_sample_until(min_episodes=n)
    with pytest.raises(ValueError, match=f"min_timesteps is {n}; expected at least 1"):
        make_sample_until(min_timesteps=n)


def test_a_collection_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="give min_timesteps, min_episodes or both"):
        make_sample_until()


def alternating(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
    return obs[:, 0].astype(int) % 2, state


def venv_of(*envs: gym.Env[Any, Any]) -> VecEnv:
    return DummyVecEnv([lambda env=env: env for env in envs])  # type: ignore[misc]  # the default binds it


def collect(
    venv: VecEnv, until: Any, policy: Any = alternating, *, seed: int = 0, max_steps: int = 1_000_000
) -> list[Trajectory]:
    return generate_trajectories(policy, venv, until, np.random.default_rng(seed), max_steps=max_steps)


def column(obs: Any) -> list[int]:
    numbers: list[int] = np.asarray(obs)[:, 0].astype(int).tolist()
    return numbers


def steps(*lengths: int) -> list[Trajectory]:
    return [Trajectory(np.zeros((n + 1, 1)), np.zeros(n), None, True, rews=np.ones(n)) for n in lengths]
