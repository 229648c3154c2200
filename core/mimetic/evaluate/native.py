"""How are gymnasium's own vectorised environments stepped, whichever way they reset themselves?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv

from mimetic.envs import EpisodePlan, EpisodeRecord
from mimetic.errors import ConfigError, EnvError
from mimetic.evaluate.lanes import Ending, Moment
from mimetic.evaluate.native_history import NativeHistory
from mimetic.rollout.history import row_of
from mimetic.seeding import derive_seed
from mimetic.spaces import refuse_unsupported
from mimetic.types import Trajectory

if TYPE_CHECKING:
    from mimetic.config import EnvConfig, EvaluationConfig


def make_native(env: "EnvConfig", settings: "EvaluationConfig", n_envs: int) -> VectorEnv[Any, Any, Any]:
    """Build ``gymnasium.make_vec``'s vectorised environment: the environment's own one where it has one.

    Raises:
        ConfigError: Something is asked that goes around single environments, which nobody can reach in it.
        EnvError: It cannot be built.
    """
    asked = {
        "env.wrappers": env.wrappers,
        "evaluation.wrappers": settings.wrappers,
        "videos": settings.videos,
        "render": settings.render,
        "reward": settings.reward,
    }
    refused = [name for name, value in asked.items() if value]
    if refused:
        raise ConfigError(
            "vectorization: native environments are stepped as gymnasium builds them, so there is no "
            f"{', no '.join(refused)} around them; leave out either"
        )
    options: dict[str, Any] = dict(env.kwargs)
    if env.max_episode_steps is not None:
        options["max_episode_steps"] = env.max_episode_steps
    mode = "async" if settings.processes else None
    try:
        return gym.make_vec(env.id, num_envs=n_envs, vectorization_mode=mode, **options)
    except Exception as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise EnvError(f"environment {env.id!r} cannot be vectorised with {dict(env.kwargs)}: {text}") from error


class NativeLanes:
    """A gymnasium vector environment. Its episodes have no seeds of their own, so none can be repeated alone."""

    exact = False
    venv: VecEnv | None = None

    def __init__(self, venv: VectorEnv[Any, Any, Any], plan: EpisodePlan, *, record: bool = False) -> None:
        """Step ``venv``, and close it at the end; with ``record`` keep the episodes."""
        refuse_unsupported(venv.single_observation_space, "observation")
        refuse_unsupported(venv.single_action_space, "action")
        self._venv = venv
        self._plan = plan
        self._mode = venv.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._next = np.arange(venv.num_envs)
        self._lengths = np.zeros(venv.num_envs, np.int64)
        self._stuck = np.zeros(venv.num_envs, bool)
        self._resets = np.zeros(venv.num_envs, bool)  # the next step is a reset there
        self._totals = np.zeros(venv.num_envs, np.float64)
        self._records = record
        self._history: NativeHistory | None = None
        self.n_envs = venv.num_envs
        self.observation_space = venv.single_observation_space
        self.action_space = venv.single_action_space

    def reset(self) -> Any:
        """Reset every environment, from a seed for all together."""
        obs, _ = self._venv.reset(seed=derive_seed(self._plan.seed, "native"))
        self._history = NativeHistory(obs, self.n_envs) if self._records else None
        return obs

    def step(self, acts: np.ndarray) -> Moment:
        """Step every environment."""
        obs, rews, terminated, truncated, info = self._venv.step(acts)
        idle = self._resets
        dones = (terminated | truncated) & ~idle
        self._lengths += ~idle
        rews = np.where(idle, 0.0, rews)
        self._totals += rews
        if self._history is not None:
            self._history.add(acts, obs, rews)
        over = (dones | (self._lengths >= self._plan.max_steps)) & ~self._stuck & ~idle
        endings = [self._end(i, bool(terminated[i]), bool(dones[i]), info) for i in np.flatnonzero(over).tolist()]
        begun = dones
        if self._mode == AutoresetMode.NEXT_STEP:
            begun, self._resets = idle, dones
        elif self._mode == AutoresetMode.DISABLED and dones.any():
            obs, _ = self._venv.reset(options={"reset_mask": dones})
            if self._history is not None:
                self._history.replace(obs)
        if self._history is not None:
            self._history.begin(begun, self._stuck)
        return Moment(obs, rews, begun, endings, idle)

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the records as they are: nothing observes native environments."""
        return list(counted)

    def close(self) -> None:
        """Close the environments."""
        self._venv.close()

    def _end(self, i: int, terminated: bool, done: bool, info: Mapping[str, Any]) -> Ending:
        index, own = int(self._next[i]), float(self._totals[i])
        self._next[i] += self.n_envs
        self._lengths[i], self._totals[i] = 0, 0.0
        self._stuck[i] = not done
        return Ending(
            env_index=i,
            index=index,
            terminated=terminated,
            truncated=not terminated,
            next_index=int(self._next[i]) if done else None,
            cut=not done,
            env_return=own,  # there is nothing around these environments
            monitor_return=own,
            is_success=_success(info.get("final_info", info), i),
            trajectories=() if self._history is None else (self._episode(i, terminated, done, info),),
        )

    def _episode(self, i: int, terminated: bool, done: bool, info: Mapping[str, Any]) -> Trajectory:
        assert self._history is not None
        written_over = done and self._mode == AutoresetMode.SAME_STEP
        last = row_of(info["final_obs"], i) if written_over else None
        return self._history.finish(i, terminated=terminated, last_obs=last)


def _success(info: Mapping[str, Any], i: int) -> bool | None:
    known = info.get("_is_success")
    return bool(info["is_success"][i]) if known is not None and known[i] else None
