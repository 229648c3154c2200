"""How are a caller's environments of stable-baselines3's kind stepped?"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from mimetic.envs import EpisodePlan, EpisodeRecord, success_in
from mimetic.evaluate.lanes import Moment, Noted, numbers_from
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.evaluate.marks import Marks, marked
from mimetic.rollout import monitor_return, unwrap_traj
from mimetic.rollout.running import RunningEpisodes
from mimetic.rollout.stepping import Step, VenvSteps
from mimetic.rollout.transitions import ROLLOUT

if TYPE_CHECKING:
    from mimetic.types import Trajectory


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

    def plays(self, number: int) -> bool:
        """Whether its environment was not cut."""
        return number % self.n_envs not in self._left

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
        trajectories: Sequence[Trajectory] = ()
        if self._records:
            lived, noted = self._running.finish(i, step), self._marks.take(i, length, more=done)
            trajectories = marked([unwrap_traj(lived)], noted) if done else ()  # the raw rest of a cut one is not known
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
            trajectories=trajectories,
        )


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
