"""How do several environments become one, in this process or in a process each?"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn
from stable_baselines3.common.vec_env.util import dict_to_obs

from mimetic.envs.construction import EnvFactory, OuterWrapper
from mimetic.envs.processes import ProcessVecEnv
from mimetic.types import map_obs

if TYPE_CHECKING:
    from mimetic.config import EnvConfig


def build_vec_env(
    env: "EnvConfig",
    *,
    n_envs: int,
    seed: int,
    processes: bool = False,
    render_mode: str | None = None,
    record: bool = False,
    outer: Sequence[OuterWrapper] = (),
) -> VecEnv:
    """Build ``n_envs`` environments of one kind as one; the arguments are those of :func:`make_env`.

    Raises:
        EnvError: An environment cannot be built, or its process cannot be started.
    """
    factories = [
        EnvFactory(
            env=env, index=i, n_envs=n_envs, seed=seed, render_mode=render_mode, record=record, outer=tuple(outer)
        )
        for i in range(n_envs)
    ]
    return ProcessVecEnv(factories) if processes else LocalVecEnv(factories)


def make_vec_env(
    env_name: str,
    *,
    rng: np.random.Generator,
    n_envs: int = 8,
    parallel: bool = False,
    log_dir: str | Path | None = None,
    max_episode_steps: int | None = None,
    post_wrappers: Sequence[OuterWrapper] | None = None,
    env_make_kwargs: Mapping[str, Any] | None = None,
) -> VecEnv:
    """Build a vectorised environment to roll out in, each environment seeded once from ``rng`` and monitored.

    ``env_make_kwargs`` go to the environment's constructor as they are. Each of ``post_wrappers`` is called with an
    environment and its index. With ``log_dir``, monitor files lie in its folder ``monitor``; ``parallel`` gives
    every environment a process.
    """
    from mimetic.config import EnvConfig

    env = EnvConfig(id=env_name, max_episode_steps=max_episode_steps)
    env = env.model_copy(update={"kwargs": dict(env_make_kwargs or {})})  # any objects: nothing is written down
    seeds = [int(seed) for seed in rng.integers(2**31, size=n_envs)]
    monitors = None if log_dir is None else Path(log_dir) / "monitor"
    if monitors is not None:
        monitors.mkdir(parents=True, exist_ok=True)
    outer: list[OuterWrapper] = [partial(_seeded_and_monitored, seeds=seeds, folder=monitors), *(post_wrappers or ())]
    return build_vec_env(env, n_envs=n_envs, seed=seeds[0], processes=parallel, outer=outer)


class LocalVecEnv(DummyVecEnv):
    """Environments one after the other in this process; rewards stay float64 and infos are not copied."""

    def __init__(self, env_fns: Sequence[Callable[[], gym.Env[Any, Any]]]) -> None:
        """Build every environment; when one cannot be built, the others are closed."""
        built: list[gym.Env[Any, Any]] = []
        try:
            built.extend(fn() for fn in env_fns)
            super().__init__([partial(_itself, env) for env in built])
        except BaseException:
            for env in built:
                env.close()
            raise
        self.buf_rews = np.zeros(self.num_envs, np.float64)
        self._one_array = dict(self.buf_obs).get(None)  # type: ignore[call-overload]  # SB3 says that keys are text

    def step_wait(self) -> VecEnvStepReturn:
        """Step every environment; one whose episode is over is reset, and its last observation put into its info."""
        infos: list[dict[str, Any]] = []
        one_array = self._one_array
        for index, env in enumerate(self.envs):
            obs, reward, terminated, truncated, info = env.step(self.actions[index])
            done = bool(terminated or truncated)
            if done:
                cut = bool(truncated and not terminated)
                last = map_obs(np.array, obs)  # a copy: the reset may write over it
                info = {**info, "terminal_observation": last, "TimeLimit.truncated": cut}
                obs, self.reset_infos[index] = env.reset()
            self.buf_rews[index] = reward
            self.buf_dones[index] = done
            infos.append(info)
            if one_array is None:
                self._save_obs(index, obs)
            else:
                one_array[index] = obs
        return self._obs_from_buf(), self.buf_rews.copy(), self.buf_dones.copy(), infos

    def _obs_from_buf(self) -> VecEnvObs:
        if self._one_array is not None:
            return np.array(self._one_array)
        return dict_to_obs(self.observation_space, {key: column.copy() for key, column in self.buf_obs.items()})


def _itself(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    return env


def _seeded_and_monitored(
    env: gym.Env[Any, Any], index: int, *, seeds: Sequence[int], folder: Path | None
) -> gym.Env[Any, Any]:
    env.reset(seed=seeds[index])
    return Monitor(env, None if folder is None else str(folder / f"mon{index:03d}"))
