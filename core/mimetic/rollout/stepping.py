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
from mimetic.types import map_obs

if TYPE_CHECKING:
    import gymnasium as gym

AnyVectorEnv = VecEnv | VectorEnv[Any, Any, Any]
"""Vectorised environments of stable-baselines3's kind, or of gymnasium's."""


class Where(NamedTuple):
    """Some of the environments, as whoever needs them likes them."""

    mask: np.ndarray  # (n,) bool
    numbers: list[int]  # in order

    @classmethod
    def of(cls, mask: np.ndarray) -> "Where | None":
        """Return the environments of a mask, None when there are none."""
        numbers = mask.nonzero()[0].tolist()
        return cls(mask, numbers) if numbers else None


class Step(NamedTuple):
    """What a step of all environments gave."""

    obs: Any  # what comes next: the first of a new episode where one has begun
    seen: Any  # what the step itself gave; the same object unless the caller reset environments
    rews: np.ndarray  # (n,) float64
    infos: Sequence[Mapping[str, Any]] | Mapping[str, Any] = ()  # in the form that the environments give
    dones: Where | None = None  # the step was the last of an episode
    terminated: np.ndarray | None = None  # (n,) bool: ... whose task ended; where not done it means nothing
    begun: Where | None = None  # ``obs`` is the first of an episode
    idle: Where | None = None  # the step was no step here, only a reset


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
        self._resets_next = self._mode == AutoresetMode.NEXT_STEP
        self._resets: Where | None = None  # the next step is a reset
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
        ended, rews, idle = terminated | truncated, np.asarray(rews).astype(np.float64), self._resets
        if idle is not None:
            for index in idle.numbers:
                ended[index], rews[index] = False, 0.0
        dones = Where.of(ended)
        if dones is None and idle is None:
            return Step(obs, obs, rews, info)
        seen, begun = obs, dones
        if self._resets_next:
            begun, self._resets = idle, dones
        elif self._mode == AutoresetMode.DISABLED and dones is not None:
            obs, _ = self._venv.reset(options={"reset_mask": dones.mask})
        return Step(obs, seen, rews, info, dones, terminated, begun, idle)

    def last_obs(self, step: Step, index: int) -> Any:
        """Return the last observation of the episode that ended there, or None where ``step.obs`` holds it."""
        if self._resets_next:
            return None
        last = step.infos["final_obs"] if self._mode == AutoresetMode.SAME_STEP else step.seen  # type: ignore[call-overload]  # it is a mapping
        return map_obs(np.array, row_of(last, index))


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
        where = Where.of(np.asarray(dones, bool))
        if where is None:
            return Step(obs, obs, rews, infos)
        cut = np.array([bool(info.get("TimeLimit.truncated", False)) for info in infos])
        return Step(obs, obs, rews, infos, where, ~cut, where)

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
