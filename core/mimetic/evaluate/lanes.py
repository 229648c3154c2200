"""What does an evaluation step? Environments side by side, whoever built them, that say which episodes ended."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from mimetic.envs import PLAYED, EpisodePlan, EpisodeRecord, PlayedEpisode, success_in
from mimetic.rollout import monitor_return, unwrap_traj
from mimetic.rollout.running import RunningEpisodes
from mimetic.rollout.stepping import AnyVectorEnv, Step, steps_of
from mimetic.rollout.transitions import ROLLOUT
from mimetic.seeding import derive_seed
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
        return Moment(obs, rews, dones, [_ending(infos[i][PLAYED], i) for i in dones.nonzero()[0].tolist()])

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


class FoundLanes:
    """Environments that know nothing of episodes: a caller's, or gymnasium's own. None of them is seeded alone."""

    exact = False

    def __init__(
        self,
        venv: AnyVectorEnv,
        plan: EpisodePlan,
        *,
        record: bool = False,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Step ``venv``; with ``record`` keep the episodes; ``close`` ends what was opened for the evaluation."""
        self.venv = venv if isinstance(venv, VecEnv) else None
        self._steps = steps_of(venv)
        self._plan, self._records = plan, record
        self._close = close
        self._next = np.arange(venv.num_envs)  # (n,) the episode that each plays, or 0, 1, ... before the first
        self.n_envs = self._steps.n_envs
        self.observation_space = self._steps.observation_space
        self.action_space = self._steps.action_space

    def reset(self) -> Any:
        """Reset every environment; gymnasium's begin from a seed for all together."""
        obs = self._steps.reset(derive_seed(self._plan.seed, "native"))
        self._running = RunningEpisodes(self._steps, obs, self._plan.max_steps, record=self._records)
        return obs

    def step(self, acts: np.ndarray) -> Moment:
        """Step every environment; one that reaches the step ceiling is taken for ended, and plays no more."""
        step = self._steps.step(acts)
        over = self._running.add(acts, step, infos=self.venv is not None)
        if not over and step.begun is None and step.idle is None:
            return Moment(step.obs, step.rews)
        endings = [self._end(i, step) for i in over]
        self._running.go_on(over, step)
        return Moment(step.obs, step.rews, step.begun, endings, step.idle)

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the records as they are: nothing of ours is around the environments."""
        return list(counted)

    def close(self) -> None:
        """Close what was opened for the evaluation."""
        self._close()

    def _end(self, i: int, step: Step) -> Ending:
        done = step.dones is not None and bool(step.dones[i])
        terminated = done and step.terminated is not None and bool(step.terminated[i])
        number, self._next[i] = int(self._next[i]), self._next[i] + self.n_envs
        if not done:
            self._running.leave(i)
        trajectory = self._running.finish(i, step) if self._records else None
        facts = _told_in_columns(step.infos, i) if isinstance(step.infos, Mapping) else _told_in(step.infos[i], done)
        return Ending(
            env_index=i,
            number=number,
            length=self._running.length(i),
            terminated=terminated,
            truncated=not terminated,
            next_index=number + self.n_envs if done else None,
            cut=not done,
            pays_own=facts.pays_own,
            env_return=facts.env_return,
            monitor_return=facts.monitor_return,
            is_success=facts.is_success,
            trajectories=() if trajectory is None else facts.raw(trajectory),
        )


class _Told(NamedTuple):
    """What the infos of an episode's last step tell."""

    pays_own: bool
    env_return: float | None = None
    monitor_return: float | None = None
    is_success: bool | None = None
    raw: Callable[[Trajectory], tuple[Trajectory, ...]] = lambda trajectory: (trajectory,)


def _told_in_columns(info: Mapping[str, Any], i: int) -> _Told:
    """Read one of gymnasium's vector environments; there is nothing around its environments."""
    last = info.get("final_info", info)
    known = last.get("_is_success")
    return _Told(True, is_success=bool(last["is_success"][i]) if known is not None and known[i] else None)


def _told_in(info: Mapping[str, Any], done: bool) -> _Told:
    """Read the info of one environment; the raw episode of one that was cut is not known."""
    raw = info.get(ROLLOUT)
    return _Told(
        pays_own=False,
        env_return=None if raw is None else float(np.sum(raw["rews"], dtype=np.float64)),
        monitor_return=monitor_return(info) if done else None,
        is_success=success_in(info),
        raw=(lambda trajectory: (unwrap_traj(trajectory),)) if done else (lambda trajectory: ()),
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
