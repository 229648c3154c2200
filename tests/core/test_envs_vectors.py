"""Several environments as one, here or in processes of their own: what goes wrong in them is said here."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from evaluation_parts import Demanding, env_id, parts
from mimetic.config import EnvConfig
from mimetic.envs import EpisodePlan, PlannedEpisodes, RewardVecEnvWrapper, build_vec_env, make_vec_env
from mimetic.errors import ComponentFailedError, ConfigError, EnvError
from mimetic.plugins import using
from worlds import Len

LEN = EnvConfig(id="worlds:mimetic-tests/Len-v0")


@pytest.fixture(autouse=True)
def _parts() -> Iterator[None]:
    with using(parts()):
        yield


def test_the_last_observation_of_an_episode_is_in_its_info_and_the_next_begins_at_once() -> None:
    venv = build_vec_env(LEN.model_copy(update={"kwargs": {"n": 2}}), n_envs=1, seed=0)
    venv.reset()
    venv.step(np.zeros(1, int))
    obs, rews, dones, infos = venv.step(np.zeros(1, int))
    venv.close()

    assert (np.asarray(obs).tolist(), rews.tolist(), dones.tolist()) == ([[0.0]], [1.0], [True])
    assert infos[0]["terminal_observation"].tolist() == [2.0]
    assert infos[0]["TimeLimit.truncated"] is False


def test_a_vectorised_environment_acts_like_stable_baselines3s_own() -> None:
    """Same observations, rewards, ends and infos, step by step."""
    ours = build_vec_env(EnvConfig(id="CartPole-v1", max_episode_steps=12), n_envs=3, seed=0)
    theirs = DummyVecEnv([partial(gym.make, "CartPole-v1", max_episode_steps=12) for _ in range(3)])
    ours.seed(5)
    theirs.seed(5)
    rng = np.random.default_rng(0)

    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for _ in range(40):
        acts = rng.integers(2, size=3)
        mine, other = ours.step(acts), theirs.step(acts)
        for a, b in zip(mine[:3], other[:3], strict=True):
            np.testing.assert_array_equal(a, b)
        assert [info.get("TimeLimit.truncated", False) for info in mine[3]] == [
            info["TimeLimit.truncated"] for info in other[3]
        ]
    ours.close()


def test_rewards_stay_float64() -> None:
    venv = build_vec_env(LEN.model_copy(update={"kwargs": {"r": 0.1}}), n_envs=2, seed=0)
    venv.reset()

    assert venv.step(np.zeros(2, int))[1].tolist() == [0.1, 0.1]
    venv.close()


def test_environments_in_processes_give_what_those_here_give() -> None:
    env = EnvConfig(id="worlds:mimetic-tests/Noisy-v0")
    plan = EpisodePlan(seed=4, n_envs=2, n_episodes=6, n_timesteps=None)

    here, there = (steps_of(env, plan, processes) for processes in (False, True))

    assert here == there


def test_an_error_while_a_process_builds_its_environment_is_raised_here() -> None:
    with pytest.raises(EnvError, match=r"Failing-v0' cannot be built with .*RuntimeError: no such robot"):
        build_vec_env(EnvConfig(id=env_id("Failing"), kwargs={"how": "build"}), n_envs=1, seed=0, processes=True)


def test_an_error_in_a_process_is_raised_here_with_its_traceback() -> None:
    venv = build_vec_env(EnvConfig(id=env_id("Failing")), n_envs=1, seed=0, processes=True)
    venv.reset()
    venv.step(np.zeros(1, int))

    with pytest.raises(EnvError, match=r"(?s)environment 0 raised ZeroDivisionError in its process.*in step"):
        venv.step(np.zeros(1, int))
    venv.close()


def test_a_process_that_dies_is_named_and_the_others_are_ended() -> None:
    venv = build_vec_env(EnvConfig(id=env_id("Failing"), kwargs={"how": "die"}), n_envs=2, seed=0, processes=True)
    venv.reset()
    venv.step(np.zeros(2, int))

    with pytest.raises(EnvError, match=r"a process was lost during a step: environment 0 \(exit status 3\)"):
        venv.step(np.zeros(2, int))
    venv.close()

    assert not any(process.is_alive() for process in venv.processes)  # type: ignore[attr-defined]  # SB3's processes


def test_a_script_without_a_main_guard_is_told_to_put_one(tmp_path: Path) -> None:
    """Multiprocessing itself only says that a connection was reset."""
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from mimetic.config import EnvConfig\n"
        "from mimetic.envs import build_vec_env\n"
        "build_vec_env(EnvConfig(id='CartPole-v1'), n_envs=1, seed=0, processes=True)\n"
    )

    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 1
    assert done.stderr.rstrip().splitlines()[-1].startswith("mimetic.errors.EnvError: a process died before its env")
    assert "stands under `if __name__ == '__main__':`" in done.stderr.rstrip().splitlines()[-1]


def test_when_one_of_several_cannot_be_built_the_others_are_closed() -> None:
    closed: list[int] = []

    class Closing(Len):
        def close(self) -> None:
            closed.append(1)

    def fail_second(env: gym.Env[Any, Any], index: int) -> gym.Env[Any, Any]:
        if index == 1:
            raise RuntimeError("second")
        return Closing()

    with pytest.raises(RuntimeError, match="second"):
        build_vec_env(LEN, n_envs=2, seed=0, outer=[fail_second])

    assert closed == [1]


def test_make_vec_env_seeds_each_environment_from_the_generator() -> None:
    first, again, other = (
        make_vec_env("worlds:mimetic-tests/Noisy-v0", rng=np.random.default_rng(seed), n_envs=3) for seed in (0, 0, 1)
    )

    seeds = [venv.get_attr("np_random_seed") for venv in (first, again, other)]

    assert seeds[0] == seeds[1] != seeds[2]
    assert len(set(seeds[0])) == 3


def test_make_vec_env_passes_arguments_wrappers_and_a_time_limit_on() -> None:
    Demanding.calls.clear()
    thing = object()
    indices: list[int] = []

    def note(env: gym.Env[Any, Any], index: int) -> gym.Env[Any, Any]:
        indices.append(index)
        return env

    venv = make_vec_env(
        env_id("Demanding"),
        rng=np.random.default_rng(0),
        n_envs=2,
        max_episode_steps=2,
        post_wrappers=[note],
        env_make_kwargs={"needed": thing},
    )

    assert [call["needed"] is thing for call in Demanding.calls] == [True, True]
    assert indices == [0, 1]
    assert all(venv.env_is_wrapped(Monitor))
    venv.reset()
    venv.step(np.zeros(2, int))
    assert venv.step(np.zeros(2, int))[2].all()


def test_make_vec_env_writes_monitor_files_below_log_dir(tmp_path: Path) -> None:
    venv = make_vec_env("mimetic-tests/Len-v0", rng=np.random.default_rng(0), n_envs=2, log_dir=tmp_path)
    venv.close()

    assert sorted(path.name for path in (tmp_path / "monitor").iterdir()) == [
        "mon000.monitor.csv",
        "mon001.monitor.csv",
    ]


def test_make_vec_env_can_use_processes() -> None:
    venv = make_vec_env("worlds:mimetic-tests/Len-v0", rng=np.random.default_rng(0), n_envs=2, parallel=True)

    assert np.asarray(venv.reset()).shape == (2, 1)
    venv.close()


def test_a_replaced_reward_sees_the_last_observation_and_the_end_of_the_task() -> None:
    """At the end of an episode the next observation is the last one, not the first of the next episode."""
    seen: list[tuple[list[float], list[float], list[bool]]] = []

    def reward(obs: Any, acts: Any, next_obs: Any, dones: Any) -> np.ndarray:
        seen.append((obs[:, 0].tolist(), next_obs[:, 0].tolist(), dones.tolist()))
        return np.full(len(acts), 7.0)

    venv = RewardVecEnvWrapper(DummyVecEnv([lambda: Len(2), lambda: gym.wrappers.TimeLimit(Len(9), 2)]), reward)
    venv.reset()
    _, rews, _, infos = venv.step(np.zeros(2, int))
    venv.step(np.zeros(2, int))

    assert rews.tolist() == [7.0, 7.0]
    assert [info["original_env_rew"] for info in infos] == [1.0, 1.0]
    assert seen == [([0, 0], [1, 1], [False, False]), ([1, 1], [2, 2], [True, False])]


def test_row_by_row_a_replaced_reward_sees_one_environment_at_a_time() -> None:
    sizes: list[int] = []

    def reward(obs: Any, acts: Any, next_obs: Any, dones: Any) -> np.ndarray:
        sizes.append(len(acts))
        return np.asarray(acts, float)

    venv = RewardVecEnvWrapper(DummyVecEnv([lambda: Len(2)] * 3), reward, row_by_row=True)
    venv.reset()

    assert venv.step(np.array([0, 1, 1]))[1].tolist() == [0.0, 1.0, 1.0]
    assert sizes == [1, 1, 1]


def test_a_reward_is_replaced_once_only() -> None:
    venv = RewardVecEnvWrapper(DummyVecEnv([lambda: Len(2)]), lambda obs, acts, next_obs, dones: np.zeros(len(acts)))

    with pytest.raises(ConfigError, match="replaced already"):
        RewardVecEnvWrapper(venv, lambda obs, acts, next_obs, dones: np.zeros(len(acts)))


def test_a_reward_of_the_wrong_shape_is_refused() -> None:
    venv = RewardVecEnvWrapper(DummyVecEnv([lambda: Len(2)]), lambda obs, acts, next_obs, dones: np.zeros((1, 2)))
    venv.reset()

    with pytest.raises(ComponentFailedError, match=r"gave an array of shape \(1, 2\) for 1 steps"):
        venv.step(np.zeros(1, int))


def test_wrapping_a_reward_does_not_reset_the_environments() -> None:
    """The reference's wrapper did, which left empty videos."""
    inner = Len(5)
    venv: VecEnv = DummyVecEnv([lambda: inner])

    RewardVecEnvWrapper(venv, lambda obs, acts, next_obs, dones: np.zeros(len(acts)))

    assert inner.episode == -1


def steps_of(env: EnvConfig, plan: EpisodePlan, processes: bool) -> list[Any]:
    venv = build_vec_env(env, n_envs=2, seed=0, processes=processes, outer=[partial(_plan, plan=plan)])
    steps: list[Any] = [np.asarray(venv.reset()).tolist()]
    for _ in range(30):
        obs, rews, dones, _ = venv.step(np.ones(2, int))
        steps.append((np.asarray(obs).tolist(), rews.tolist(), rews.dtype, dones.tolist()))
    venv.close()
    return steps


def _plan(env: gym.Env[Any, Any], index: int, *, plan: EpisodePlan) -> PlannedEpisodes:
    return PlannedEpisodes(env, plan, index)
