"""How are environments stepped side by side, whoever vectorised them and whichever way they reset themselves?

stable-baselines3's reset an environment in the step that ends its episode and put the last observation into its info.
gymnasium's do the same (SAME_STEP), or reset in the step after (NEXT_STEP), or leave it to the caller (DISABLED).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_wrapper

from mimetic.spaces import refuse_unsupported

if TYPE_CHECKING:
    import gymnasium as gym

AnyVectorEnv = VecEnv | VectorEnv[Any, Any, Any]
"""Vectorised environments of stable-baselines3's kind, or of gymnasium's."""


class Step(NamedTuple):
    """What a step of all environments gave. Masks are (n,) bool, and None where they would be False everywhere."""

    obs: Any  # what comes next: the first of a new episode where one has begun
    seen: Any  # what the step itself gave; the same object unless the caller reset environments
    rews: np.ndarray  # (n,)
    dones: np.ndarray | None = None  # the step was the last of an episode
    terminated: np.ndarray | None = None  # ... whose task ended; where not done it means nothing
    begun: np.ndarray | None = None  # ``obs`` is the first of an episode
    idle: np.ndarray | None = None  # the step was no step here, only a reset
    infos: Sequence[Mapping[str, Any]] | Mapping[str, Any] = ()  # in the form that the environments give


class VectorSteps:
    """Steps one of gymnasium's vector environments. What it gives in ``infos`` is a mapping of columns."""

    def __init__(self, venv: VectorEnv[Any, Any, Any]) -> None:
        """Step ``venv``.

        Raises:
            SpaceError: Its observations or actions are of a kind that is not supported.
        """
        refuse_unsupported(venv.single_observation_space, "observation")
        refuse_unsupported(venv.single_action_space, "action")
        self._venv = venv
        self._mode = venv.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._resets: np.ndarray | None = None  # (n,) where the next step is a reset
        self.n_envs = venv.num_envs
        self.observation_space: gym.Space[Any] = venv.single_observation_space
        self.action_space: gym.Space[Any] = venv.single_action_space

    def reset(self, seed: int | None = None) -> Any:
        """Reset every environment, from a seed for all together."""
        self._resets = None
        return self._venv.reset(seed=seed)[0]

    def step(self, acts: np.ndarray) -> Step:
        """Step every environment."""
        obs, rews, terminated, truncated, info = self._venv.step(acts)
        ended, rews = terminated | truncated, np.asarray(rews, np.float64)
        idle = self._resets
        if idle is None and not ended.any():
            return Step(obs, obs, rews, infos=info)
        dones = ended if idle is None else ended & ~idle
        rews = rews if idle is None else np.where(idle, 0.0, rews)
        ends = dones if idle is None or dones.any() else None
        seen, begun = obs, ends
        if self._mode == AutoresetMode.NEXT_STEP:
            begun, self._resets = idle, ends
        elif self._mode == AutoresetMode.DISABLED:
            obs, _ = self._venv.reset(options={"reset_mask": dones})
        return Step(obs, seen, rews, ends, terminated, begun, idle, info)

    def last_obs(self, step: Step, index: int) -> Any:
        """Return the last observation of the episode that ended there, or None where ``step.seen`` holds it."""
        return row_of(step.infos["final_obs"], index) if self._mode == AutoresetMode.SAME_STEP else None  # type: ignore[call-overload]  # it is a mapping


class VenvSteps:
    """Steps one of stable-baselines3's vectorised environments. What it gives in ``infos`` is a mapping for each."""

    def __init__(self, venv: VecEnv) -> None:
        """Step ``venv``."""
        self._venv = venv
        self.n_envs = venv.num_envs
        self.observation_space = venv.observation_space
        self.action_space = venv.action_space

    def reset(self, seed: int | None = None) -> Any:
        """Reset every environment; the seed is left unused, since here the caller seeds his own."""
        return self._venv.reset()

    def step(self, acts: np.ndarray) -> Step:
        """Step every environment."""
        obs, rews, dones, infos = self._venv.step(acts)
        if not dones.any():
            return Step(obs, obs, rews, infos=infos)
        dones = np.asarray(dones, bool)
        cut = np.array([bool(info.get("TimeLimit.truncated", False)) for info in infos])
        return Step(obs, obs, rews, dones, ~cut, dones, infos=infos)

    def last_obs(self, step: Step, index: int) -> Any:
        """Return the last observation of the episode that ended there."""
        return step.infos[index]["terminal_observation"]  # type: ignore[index]  # it is a sequence


def steps_of(venv: AnyVectorEnv) -> VectorSteps | VenvSteps:
    """Return what steps a vectorised environment."""
    return VectorSteps(venv) if isinstance(venv, VectorEnv) else VenvSteps(venv)


def normalizes_observations(venv: AnyVectorEnv) -> bool:
    """Whether a VecNormalize is around the environments and gives their observations normalised."""
    normalizer = unwrap_vec_wrapper(venv, VecNormalize) if isinstance(venv, VecEnv) else None
    return isinstance(normalizer, VecNormalize) and normalizer.norm_obs


def row_of(obs: Any, index: int) -> Any:
    """Return the observation of one environment; arrays are views."""
    if isinstance(obs, Mapping):
        return {key: row_of(column, index) for key, column in obs.items()}
    return obs[index]
