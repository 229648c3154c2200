"""What does an evaluation step? Environments side by side, whoever built them, that say which episodes ended."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from mimetic.envs import PLAYED, EpisodePlan, EpisodeRecord, PlayedEpisode, success_in
from mimetic.rollout import monitor_return, unwrap_traj
from mimetic.rollout.history import History
from mimetic.rollout.lengths import Lengths
from mimetic.rollout.transitions import ROLLOUT
from mimetic.types import Trajectory


class Ending(NamedTuple):
    """How an episode ended, as far as its environment knows."""

    env_index: int
    number: int  # of the episode
    length: int  # steps
    terminated: bool
    truncated: bool
    next_index: int | None  # the episode that this environment plays next; None: it plays no more
    cut: bool = False  # by the step ceiling
    pays_own: bool = False  # what was paid is the environment's own reward: nothing is around it
    env_return: float | None = None
    monitor_return: float | None = None
    is_success: bool | None = None
    trajectories: tuple[Trajectory, ...] = ()
    steps_before: np.ndarray | None = None  # see RawEpisode; None: as many steps inside as outside


class Moment(NamedTuple):
    """What a step of all environments gave."""

    obs: Any
    rews: np.ndarray  # (n,)
    begun: np.ndarray | None = None  # (n,) bool: the observation is the first of an episode; None: nowhere
    endings: Sequence[Ending] = ()
    idle: np.ndarray | None = None  # (n,) bool: the step was no step there, only a reset; None: nowhere


class Lanes(Protocol):
    """Environments side by side."""

    n_envs: int
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    exact: bool  # whether every episode begins from its own seed, whatever n_envs is
    venv: VecEnv | None  # what is stepped, where that is stable-baselines3's kind

    def reset(self) -> Any:
        """Begin the first episodes; return their observations."""

    def step(self, acts: np.ndarray) -> Moment:
        """Step every environment."""

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Let observers end their work; return the records with what they add."""

    def close(self) -> None:
        """Close what was opened for the evaluation."""


class PlannedLanes:
    """Environments that were built here and know their episodes (:class:`mimetic.envs.PlannedEpisodes`)."""

    exact = True

    def __init__(self, venv: VecEnv) -> None:
        """Step ``venv``, and close it at the end."""
        self.venv: VecEnv | None = venv
        self._venv = venv
        self.n_envs = venv.num_envs
        self.observation_space = venv.observation_space
        self.action_space = venv.action_space

    def reset(self) -> Any:
        """Begin the first episodes."""
        return self._venv.reset()

    def step(self, acts: np.ndarray) -> Moment:
        """Step every environment; the endings are in the infos."""
        obs, rews, dones, infos = self._venv.step(acts)
        if not dones.any():
            return Moment(obs, rews)
        return Moment(obs, rews, dones, [_ending(infos[i][PLAYED], i) for i in np.flatnonzero(dones).tolist()])

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Let the observers of each environment end their work on its own counted episodes."""
        finished = list(counted)
        for env_index in range(self.n_envs):
            places = [place for place, record in enumerate(counted) if record.env_index == env_index]
            own = [counted[place] for place in places]
            (more,) = self._venv.env_method("finish_observers", own, indices=[env_index])
            for place, each in zip(places, more, strict=True):
                finished[place] = counted[place].with_more(each)
        return finished

    def close(self) -> None:
        """Close the environments."""
        self._venv.close()


class VenvLanes:
    """A vectorised environment that the caller built: nothing is seeded, and it stays open."""

    exact = False

    def __init__(self, venv: VecEnv, plan: EpisodePlan, *, record: bool = False) -> None:
        """Step ``venv``; with ``record`` keep the raw episodes, which each environment's RolloutInfoWrapper knows."""
        self.venv: VecEnv | None = venv
        self._venv = venv
        self._next = np.arange(venv.num_envs)
        self._lengths = Lengths(venv.num_envs, plan.max_steps)
        self._stuck = np.zeros(venv.num_envs, bool)
        self._records = record
        self._history: History | None = None
        self.n_envs = venv.num_envs
        self.observation_space = venv.observation_space
        self.action_space = venv.action_space

    def reset(self) -> Any:
        """Reset every environment."""
        obs = self._venv.reset()
        self._history = History(obs, self.n_envs) if self._records else None
        return obs

    def step(self, acts: np.ndarray) -> Moment:
        """Step every environment; one that reaches the step ceiling is taken for ended, and plays no more."""
        obs, rews, dones, infos = self._venv.step(acts)
        if self._history is not None:
            self._history.add(acts, obs, rews, infos)
        if not self._lengths.tick() and not dones.any():
            return Moment(obs, rews)
        over = (dones | self._lengths.at_ceiling()) & ~self._stuck
        endings = [self._end(i, bool(dones[i]), infos[i]) for i in np.flatnonzero(over).tolist()]
        self._lengths.begin(over | self._stuck)
        if self._history is not None:
            self._history.begin(dones | self._stuck)
            self._history.forget()
        return Moment(obs, rews, dones, endings)

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the records as they are: nothing of ours is around the environments."""
        return list(counted)

    def close(self) -> None:
        """Close what was put around the venv for the evaluation; the venv itself is lent (:class:`Lent`)."""
        if isinstance(self._venv, VecEnvWrapper):
            self._venv.close()

    def _end(self, i: int, done: bool, info: Mapping[str, Any]) -> Ending:
        index = int(self._next[i])
        self._next[i] += self.n_envs
        self._stuck[i] = not done
        truncated = not done or bool(info.get("TimeLimit.truncated", False))
        raw = info.get(ROLLOUT)
        trajectories: tuple[Trajectory, ...] = ()
        if self._history is not None:
            trajectory = self._history.finish_in_venv(i, done=done)
            trajectories = (unwrap_traj(trajectory),) if done else ()
        return Ending(
            env_index=i,
            number=index,
            length=self._lengths.of(i),
            terminated=not truncated,
            truncated=truncated,
            next_index=int(self._next[i]) if done else None,
            cut=not done,
            env_return=None if raw is None else float(np.sum(raw["rews"], dtype=np.float64)),
            monitor_return=monitor_return(info) if done else None,
            is_success=success_in(info),
            trajectories=trajectories,
        )


class Lent(VecEnvWrapper):
    """A caller's venv, which wrappers around it must not close."""

    def reset(self) -> Any:
        """Reset every environment."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Collect the step."""
        return self.venv.step_wait()

    def close(self) -> None:
        """Leave it open."""


def _ending(played: PlayedEpisode, env_index: int) -> Ending:
    return Ending(
        env_index=env_index,
        number=played.index,
        length=played.length,
        terminated=played.terminated,
        truncated=played.truncated,
        next_index=played.next_index,
        cut=played.cut,
        env_return=played.env_return,
        monitor_return=played.env_return,
        is_success=played.is_success,
        trajectories=() if played.raw is None else played.raw.trajectories,
        steps_before=None if played.raw is None else played.raw.steps_before,
    )
