"""How are gymnasium's vectorised environments stepped? What has ended in them is told a block of steps at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import VectorEnv
from stable_baselines3.common.vec_env import VecEnv

from mimetic.envs import EpisodePlan, EpisodeRecord
from mimetic.evaluate.lanes import Moment, Noted, numbers_from
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.evaluate.step_log import StepLog
from mimetic.rollout.lengths import Lengths
from mimetic.rollout.stepping import Step, VectorSteps
from mimetic.seeding import derive_seed

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic.types import Trajectory

TELL_AFTER = 64
"""So many steps are made before the episodes that ended in them are told; fewer once they may be enough."""


class VectorLanes:
    """gymnasium's vectorised environments, its own or a caller's: none of them is seeded, or can be reset, alone."""

    exact = False
    venv: VecEnv | None = None

    def __init__(
        self,
        venv: VectorEnv[Any, Any, Any],
        plan: EpisodePlan,
        *,
        record: bool = False,
        alike: bool = False,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Step ``venv``; with ``record`` keep the episodes; ``close`` ends what was opened for the evaluation.

        Where the environments are ``alike`` each episode is the next to begin, wherever that is; else each environment
        plays its share of the episodes.
        """
        self._steps = VectorSteps(venv)
        self._plan, self._records, self._close = plan, record, close
        self._seeds = numbers_from(plan.seed)
        self._lengths = Lengths(venv.num_envs, plan.max_steps)
        self._returns = np.zeros(venv.num_envs, np.float64)  # (n,) of the running episodes
        self._playing = list(range(venv.num_envs))  # the episode that each plays
        self._coming = count(venv.num_envs) if alike else None  # numbers, in the order in which episodes begin
        self._left: set[int] = set()  # cut, and nobody can reset one of them alone
        self._untold: list[FinishedEpisode] = []
        self._n_episodes, self._n_timesteps = plan.n_episodes or 0, plan.n_timesteps or 0  # that are wanted
        self._n_ended = self._n_steps_ended = 0
        self._due = 0  # when to tell, in steps since the reset
        self.n_envs = venv.num_envs
        self.observation_space: gym.Space[Any] = venv.single_observation_space
        self.action_space: gym.Space[Any] = venv.single_action_space

    def reset(self) -> Any:
        """Reset every environment, from a seed for all together."""
        obs = self._steps.reset(derive_seed(self._plan.seed, "native"))
        self._log = StepLog(obs) if self._records else None
        self._tell_after = TELL_AFTER if self._log is None else min(TELL_AFTER, self._log.room)
        return obs

    def begin(self, environments: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Give numbers in the order in which episodes begin: seeds for actors, of episodes that cannot be repeated."""
        return ((i, next(self._seeds)) for i in environments if i not in self._left)

    def step(self, acts: np.ndarray, noted: Noted) -> Moment:
        """Step every environment; one that reaches the step ceiling is taken for ended, and plays no more."""
        step = self._steps.step(acts)
        self._returns += step.rews
        if self._log is not None:
            self._log.add(acts, step.obs, step.rews, noted)
        at_ceiling = self._lengths.tick()
        if step.idle is not None:
            self._lengths.begin(step.idle.numbers)
        if step.dones is not None:
            self._note(step, step.dones.numbers)
            self._lengths.begin(step.dones.numbers)
        if at_ceiling:
            self._leave(step)
        if step.begun is not None:
            for i in step.begun.numbers:
                self._returns[i] = 0.0
        return Moment(step.obs, step.begun, self.rest() if self._lengths.now >= self._due else ())

    def rest(self) -> list[FinishedEpisode]:
        """Tell which episodes have ended since this was told last."""
        told, self._untold = self._untold, []
        self._due = self._lengths.now + self._tell_after
        if self._log is not None and self._log.is_full:
            self._lengths.begin(self._left)
            self._log.cut()
            self._log.forget(self._lengths.now - self._lengths.longest())
        return told

    def plays(self, number: int) -> bool:
        """Whether an environment is left for it."""
        return number % self.n_envs not in self._left if self._coming is None else len(self._left) < self.n_envs

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the records as they are: nothing of ours is around the environments."""
        return list(counted)

    def close(self) -> None:
        """Close what was opened for the evaluation."""
        self._close()

    def _leave(self, step: Step) -> None:
        """Take those at the step ceiling for ended."""
        self._lengths.begin(self._left)
        self._note(step, self._lengths.at_ceiling(), cut=True)

    def _note(self, step: Step, over: Sequence[int], *, cut: bool = False) -> None:
        """Take note of the episodes that are over with a step, and tell it at once where there may be enough."""
        successes = _successes(step.infos) if step.infos else None
        numbers, coming, log, now = self._playing, self._coming, self._log, self._lengths.now
        for i in over:
            if i in self._left:
                continue
            paid, length, number = self._returns.item(i), self._lengths.of(i), numbers[i]
            terminated = not cut and step.terminated.item(i)  # type: ignore[union-attr]  # where something ended
            self._n_ended += 1
            self._n_steps_ended += length
            trajectories: Sequence[Trajectory] = ()
            if log is not None:
                last_obs = None if cut else self._steps.last_obs(step, i)
                trajectories = log.end(i, now - length, now, terminated=terminated, last_obs=last_obs)
            success = None if successes is None else successes(i)
            self._untold.append(
                FinishedEpisode(
                    number, None, i, paid, paid, paid, length, terminated, not terminated, cut, success, trajectories
                )
            )
            if cut:
                self._left.add(i)
            else:
                numbers[i] = number + self.n_envs if coming is None else next(coming)
        if self._n_ended >= self._n_episodes and self._n_steps_ended >= self._n_timesteps:
            self._due = now


def _successes(infos: Any) -> Callable[[int], bool | None]:
    """Return what tells whether an environment's episode, whose last step this was, is a success."""
    last = infos.get("final_info", infos)
    known = last.get("_is_success")
    return lambda i: bool(last["is_success"][i]) if known is not None and known[i] else None
