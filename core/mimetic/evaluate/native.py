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
from mimetic.rollout.history import History, row_of
from mimetic.rollout.lengths import Lengths
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
        self._seed = derive_seed(plan.seed, "native")
        self._mode = venv.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._next = np.arange(venv.num_envs)
        self._lengths = Lengths(venv.num_envs, plan.max_steps)
        self._stuck = np.zeros(venv.num_envs, bool)
        self._any_stuck = False
        self._resets = np.zeros(venv.num_envs, bool)  # the next step is a reset there
        self._any_resets = False
        self._records = record
        self._history: History | None = None
        self.n_envs = venv.num_envs
        self.observation_space = venv.single_observation_space
        self.action_space = venv.single_action_space

    def reset(self) -> Any:
        """Reset every environment, from a seed for all together."""
        obs, _ = self._venv.reset(seed=self._seed)
        self._history = History(obs, self.n_envs) if self._records else None
        return obs

    def step(self, acts: np.ndarray) -> Moment:
        """Step every environment."""
        obs, rews, terminated, truncated, info = self._venv.step(acts)
        rews = np.asarray(rews, np.float64)
        if self._history is not None:
            self._history.add(acts, obs, rews)
        ended = terminated | truncated
        at_ceiling = self._lengths.tick()
        if self._any_resets or at_ceiling or ended.any():
            return self._turn(obs, rews, ended, terminated, info, at_ceiling)
        return Moment(obs, rews)

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the records as they are: nothing observes native environments."""
        return list(counted)

    def close(self) -> None:
        """Close the environments."""
        self._venv.close()

    def _turn(
        self,
        obs: Any,
        rews: np.ndarray,
        ended: np.ndarray,
        terminated: np.ndarray,
        info: Mapping[str, Any],
        at_ceiling: bool,
    ) -> Moment:
        """Say which episodes ended with a step, and which begin."""
        idle = self._resets if self._any_resets else None
        dones = ended if idle is None else ended & ~idle
        if idle is not None:
            self._lengths.begin(idle)
            rews = np.where(idle, 0.0, rews)
        over = dones | self._lengths.at_ceiling() if at_ceiling else dones
        endings = [
            self._end(i, bool(terminated[i]), bool(dones[i]), info)
            for i in np.flatnonzero(over).tolist()
            if not self._stuck[i]
        ]
        begun: np.ndarray | None = dones
        if self._mode == AutoresetMode.NEXT_STEP:
            begun, self._resets, self._any_resets = idle, dones, bool(dones.any())
        elif self._mode == AutoresetMode.DISABLED and dones.any():
            obs, _ = self._venv.reset(options={"reset_mask": dones})
            if self._history is not None:
                self._history.replace(obs)
        self._begin(begun)
        return Moment(obs, rews, begun, endings, idle)

    def _begin(self, begun: np.ndarray | None) -> None:
        """Note where episodes begin with the newest observation, and where none will any more."""
        masks = [mask for mask in (begun, self._stuck if self._any_stuck else None) if mask is not None]
        for mask in masks:
            self._lengths.begin(mask)
            if self._history is not None:
                self._history.begin(mask)
        if self._history is not None:
            self._history.forget()

    def _end(self, i: int, terminated: bool, done: bool, info: Mapping[str, Any]) -> Ending:
        index = int(self._next[i])
        self._next[i] += self.n_envs
        if not done:
            self._stuck[i] = self._any_stuck = True
        return Ending(
            env_index=i,
            number=index,
            length=self._lengths.of(i),
            terminated=terminated,
            truncated=not terminated,
            next_index=int(self._next[i]) if done else None,
            cut=not done,
            pays_own=True,
            is_success=_success(info.get("final_info", info), i),
            trajectories=() if self._history is None else (self._episode(i, terminated, done, info),),
        )

    def _episode(self, i: int, terminated: bool, done: bool, info: Mapping[str, Any]) -> Trajectory:
        assert self._history is not None
        hidden = done and self._mode == AutoresetMode.SAME_STEP
        return self._history.finish(i, terminated=terminated, last_obs=row_of(info["final_obs"], i) if hidden else None)


def _success(info: Mapping[str, Any], i: int) -> bool | None:
    known = info.get("_is_success")
    return bool(info["is_success"][i]) if known is not None and known[i] else None
