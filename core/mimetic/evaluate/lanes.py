"""What does an evaluation step? Environments side by side, whoever built them, that say which episodes ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from mimetic.envs import PLAYED, EpisodePlan, EpisodeRecord, PlayedEpisode, success_in
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.evaluate.marks import Marks, marked
from mimetic.rollout import monitor_return, unwrap_traj
from mimetic.rollout.running import RunningEpisodes
from mimetic.rollout.stepping import Step, VenvSteps, Where
from mimetic.rollout.transitions import ROLLOUT
from mimetic.seeding import generator

Noted = Mapping[str, np.ndarray]
"""What the actor can tell about the actions of a step, ``(n, ...)`` by name."""


class Moment(NamedTuple):
    """What a step of all environments gave."""

    obs: Any
    begun: Where | None = None  # the observation is the first of an episode
    ended: Sequence[FinishedEpisode] = ()  # with this step, or before


class Lanes(Protocol):
    """Environments side by side."""

    n_envs: int
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    exact: bool  # whether every episode begins from its own seed, whatever n_envs is
    venv: VecEnv | None  # what is stepped, where that is stable-baselines3's kind

    def reset(self) -> Any:
        """Begin the first episodes; return their observations."""

    def begin(self, environments: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Tell for each of these, unless it plays no more, in which an episode begins: the environment, and a seed."""

    def step(self, acts: np.ndarray, noted: Noted) -> Moment:
        """Step every environment."""

    def rest(self) -> list[FinishedEpisode]:
        """Return what has ended and was not told yet."""

    def plays(self, env_index: int) -> bool:
        """Whether an environment goes on to play episodes."""

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Let observers end their work; return the records with what they add."""

    def close(self) -> None:
        """Close what was opened for the evaluation."""


class PlannedLanes:
    """Environments that were built here and know their episodes (:class:`mimetic.envs.PlannedEpisodes`)."""

    exact = True

    def __init__(self, venv: VecEnv, plan: EpisodePlan, *, record: bool = False) -> None:
        """Step ``venv``, which records its episodes or does not, and close it at the end."""
        self.venv: VecEnv | None = venv
        self._venv, self._plan = venv, plan
        self._marks = Marks(venv.num_envs) if record else None
        self._returns = np.zeros(venv.num_envs, np.float64)  # (n,) of the running episodes
        self._playing: list[int | None] = list(range(venv.num_envs))  # the episode that each plays
        self._seeds = [0] * venv.num_envs  # of those episodes
        self.n_envs = venv.num_envs
        self.observation_space = venv.observation_space
        self.action_space = venv.action_space

    def reset(self) -> Any:
        """Begin the first episodes."""
        return self._venv.reset()

    def begin(self, environments: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Give each episode's own seed."""
        for i in environments:
            number = self._playing[i]
            if number is not None:
                self._seeds[i] = self._plan.seed_of(number)
                yield i, self._seeds[i]

    def step(self, acts: np.ndarray, noted: Noted) -> Moment:
        """Step every environment; the endings are in the infos."""
        obs, rews, dones, infos = self._venv.step(acts)
        self._returns += rews
        if self._marks is not None:
            self._marks.add(noted)
        where = Where.of(dones)
        if where is None:
            return Moment(obs)
        return Moment(obs, where, [self._ended(i, infos[i][PLAYED]) for i in where.numbers])

    def rest(self) -> list[FinishedEpisode]:
        """Return nothing: what ends is told at once."""
        return []

    def plays(self, env_index: int) -> bool:
        """Whether an episode of the plan is left for it."""
        return self._playing[env_index] is not None

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

    def _ended(self, i: int, played: PlayedEpisode) -> FinishedEpisode:
        episode_return, self._returns[i] = self._returns.item(i), 0.0
        self._playing[i] = played.next_index
        trajectories = [] if played.raw is None else list(played.raw.trajectories)
        if self._marks is not None and played.raw is not None:
            noted = self._marks.take(i, played.length, more=played.next_index is not None)
            trajectories = marked(trajectories, noted, played.raw.steps_before)
        return FinishedEpisode(
            number=played.index,
            seed=self._seeds[i],
            env_index=i,
            episode_return=episode_return,
            env_return=played.env_return,
            monitor_return=played.env_return,
            length=played.length,
            terminated=played.terminated,
            truncated=played.truncated,
            cut=played.cut,
            is_success=played.is_success,
            trajectories=tuple(trajectories),
        )


class VenvLanes:
    """A caller's environments of stable-baselines3's kind, which know nothing of episodes and are not seeded."""

    exact = False

    def __init__(self, venv: VecEnv, plan: EpisodePlan, *, record: bool = False) -> None:
        """Step ``venv``; with ``record`` keep the episodes."""
        self.venv: VecEnv | None = venv
        self._steps = VenvSteps(venv)
        self._plan, self._records, self._close = plan, record, venv.close
        self._marks = Marks(venv.num_envs)
        self._returns = np.zeros(venv.num_envs, np.float64)  # (n,) of the running episodes
        self._next = list(range(venv.num_envs))  # the episode that each plays
        self._left: set[int] = set()  # cut, and nobody can reset one of them alone
        self._seeds = numbers_from(plan.seed)
        self.n_envs = venv.num_envs
        self.observation_space = venv.observation_space
        self.action_space = venv.action_space

    def reset(self) -> Any:
        """Reset every environment."""
        obs = self._steps.reset()
        self._running = RunningEpisodes(self._steps, obs, self._plan.max_steps, record=self._records)
        return obs

    def begin(self, environments: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Give numbers in the order in which episodes begin: seeds for actors, of episodes that cannot be repeated."""
        return ((i, next(self._seeds)) for i in environments if i not in self._left)

    def step(self, acts: np.ndarray, noted: Noted) -> Moment:
        """Step every environment; one that reaches the step ceiling is taken for ended, and plays no more."""
        step = self._steps.step(acts)
        over = self._running.add(acts, step, infos=True)
        self._returns += step.rews
        if self._records:
            self._marks.add(noted)
        if not over and step.begun is None:
            return Moment(step.obs)
        ended = [self._ended(i, step) for i in over]
        self._running.go_on(over, step)
        return Moment(step.obs, step.begun, ended)

    def rest(self) -> list[FinishedEpisode]:
        """Return nothing: what ends is told at once."""
        return []

    def plays(self, env_index: int) -> bool:
        """Whether it was not cut."""
        return env_index not in self._left

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the records as they are: nothing of ours is around the environments."""
        return list(counted)

    def close(self) -> None:
        """Close what was opened for the evaluation."""
        self._close()

    def _ended(self, i: int, step: Step) -> FinishedEpisode:
        info = step.infos[i]  # type: ignore[index]  # one for each environment
        done = step.dones is not None and bool(step.dones.mask[i])
        terminated = done and step.terminated is not None and bool(step.terminated[i])
        number, self._next[i] = self._next[i], self._next[i] + self.n_envs
        episode_return, self._returns[i] = self._returns.item(i), 0.0
        length = self._running.length(i)
        if not done:
            self._left.add(i)
            self._running.leave(i)
        trajectories = []
        if self._records:
            lived, noted = self._running.finish(i, step), self._marks.take(i, length, more=done)
            trajectories = marked([unwrap_traj(lived)], noted) if done else []  # the raw rest of a cut one is not known
        return FinishedEpisode(
            number=number,
            seed=None,
            env_index=i,
            episode_return=episode_return,
            env_return=_own_return(info),
            monitor_return=monitor_return(info) if done else None,
            length=length,
            terminated=terminated,
            truncated=not terminated,
            cut=not done,
            is_success=success_in(info),
            trajectories=tuple(trajectories),
        )


def numbers_from(seed: int) -> Iterator[int]:
    """Give numbers without an end, the same for the same seed."""
    stream = generator(seed, "unrepeatable episodes")
    return chain.from_iterable(stream.integers(2**31, size=256).tolist() for _ in count())


def _own_return(info: Mapping[str, Any]) -> float | None:
    """Return the sum of the raw rewards where a RolloutInfoWrapper kept them."""
    raw = info.get(ROLLOUT)
    return None if raw is None else float(np.sum(raw["rews"], dtype=np.float64))


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
