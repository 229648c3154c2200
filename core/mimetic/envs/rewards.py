"""How is the environment's reward replaced, and where does its own stay visible?"""

from collections.abc import Callable
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from mimetic.errors import ComponentFailedError, ConfigError
from mimetic.types import take_rows

RewardFn = Callable[[Any, np.ndarray, Any, np.ndarray], np.ndarray]
"""``(obs, acts, next_obs, dones) -> (B,)``; ``dones`` marks steps that ended the task, not those that were cut."""


class RewardVecEnvWrapper(VecEnvWrapper):
    """Pays ``reward_fn`` instead of the environment's own reward, which stays in ``info["original_env_rew"]``.

    ``reward_fn`` is called once for all environments, or once for each with ``row_by_row``, which makes its last bits
    independent of their number. Nothing is reset at construction.
    """

    def __init__(self, venv: VecEnv, reward_fn: RewardFn, *, row_by_row: bool = False) -> None:
        """Wrap ``venv``.

        Raises:
            ConfigError: Its reward is replaced already.
        """
        inner: VecEnv = venv
        while isinstance(inner, VecEnvWrapper):
            if isinstance(inner, RewardVecEnvWrapper):
                raise ConfigError("reward: the environment's reward is replaced already, and is replaced once only")
            inner = inner.venv
        super().__init__(venv)
        self._reward_fn = reward_fn
        self._row_by_row = row_by_row
        self._obs: VecEnvObs | None = None
        self._acts: np.ndarray | None = None

    def reset(self) -> VecEnvObs:
        """Reset every environment."""
        self._obs = self.venv.reset()
        return self._obs

    def step_async(self, actions: np.ndarray) -> None:
        """Send every environment its action."""
        self._acts = actions
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Collect the step and pay for it."""
        obs, own, dones, infos = self.venv.step_wait()
        assert self._acts is not None
        next_obs, ended = obs, dones
        if dones.any():
            next_obs = with_last_observations(obs, dones, infos)
            ended = dones & ~np.array([bool(info.get("TimeLimit.truncated", False)) for info in infos])
        rews = self._pay(self._obs, self._acts, next_obs, ended)
        infos = [{**info, "original_env_rew": own[index]} for index, info in enumerate(infos)]
        self._obs = obs
        return obs, rews, dones, infos

    def _pay(self, obs: Any, acts: np.ndarray, next_obs: Any, dones: np.ndarray) -> np.ndarray:
        if not self._row_by_row:
            return self._call(obs, acts, next_obs, dones)
        rows = [slice(index, index + 1) for index in range(self.num_envs)]
        return np.concatenate(
            [self._call(take_rows(obs, row), acts[row], take_rows(next_obs, row), dones[row]) for row in rows]
        )

    def _call(self, obs: Any, acts: np.ndarray, next_obs: Any, dones: np.ndarray) -> np.ndarray:
        rews = np.asarray(self._reward_fn(obs, acts, next_obs, dones), np.float64)
        if rews.shape != (len(dones),):
            raise ComponentFailedError(
                f"reward: gave an array of shape {rews.shape} for {len(dones)} steps; expected ({len(dones)},)"
            )
        return rews


def with_last_observations(obs: VecEnvObs, dones: np.ndarray, infos: Any) -> Any:
    """Return a copy in which the rows of ended episodes hold their last observation, not the next one's first."""
    last = {index: infos[index]["terminal_observation"] for index in np.flatnonzero(dones)}
    if isinstance(obs, dict):
        return {
            key: _with_rows(column, {index: each[key] for index, each in last.items()}) for key, column in obs.items()
        }
    return _with_rows(np.asarray(obs), last)


def _with_rows(column: np.ndarray, rows: dict[Any, Any]) -> np.ndarray:
    column = column.copy()
    for index, row in rows.items():
        column[index] = row
    return column
