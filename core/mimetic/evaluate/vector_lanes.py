"""How are gymnasium's vectorised environments stepped? What has ended in them is told a block of steps at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import VectorEnv
from stable_baselines3.common.vec_env import VecEnv

from mimetic.envs import EpisodePlan, EpisodeRecord
from mimetic.evaluate.lanes import Moment, Noted, numbers_from
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.evaluate.marks import Marks, marked
from mimetic.evaluate.step_log import Cut, StepLog
from mimetic.rollout.lengths import Lengths
from mimetic.rollout.stepping import Step, VectorSteps
from mimetic.seeding import derive_seed
from mimetic.types import obs_leaves

if TYPE_CHECKING:
    import gymnasium as gym

BLOCK = 64
"""So many steps are made before the episodes that ended in them are told; fewer once they may be enough."""

BLOCK_BYTES = 2**20
"""Fewer, too, where the observations of a block are larger and are kept."""


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
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Step ``venv``; with ``record`` keep the episodes; ``close`` ends what was opened for the evaluation."""
        self._steps = VectorSteps(venv)
        self._plan, self._records, self._close = plan, record, close
        self._marks = Marks(venv.num_envs)
        self._seeds = numbers_from(plan.seed)
        self._lengths = Lengths(venv.num_envs, plan.max_steps)
        self._returns = np.zeros(venv.num_envs, np.float64)  # (n,) of the running episodes
        self._next = list(range(venv.num_envs))  # the episode that each plays, or 0, 1, ... before the first
        self._left: set[int] = set()  # cut, and nobody can reset one of them alone
        self._untold: list[FinishedEpisode] = []
        self._cuts: list[Cut] = []  # where the steps of each of them are, if they are recorded
        self._n_ended = self._n_steps_ended = 0
        self._position = 0  # steps since the reset
        self._block, self._due = BLOCK, 0  # the position at which to tell, and by how much it moves on
        self.n_envs = venv.num_envs
        self.observation_space: gym.Space[Any] = venv.single_observation_space
        self.action_space: gym.Space[Any] = venv.single_action_space

    def reset(self) -> Any:
        """Reset every environment, from a seed for all together."""
        obs = self._steps.reset(derive_seed(self._plan.seed, "native"))
        self._log = None
        if self._records:
            self._log = StepLog(obs)
            self._block = max(1, min(BLOCK, BLOCK_BYTES // sum(leaf.nbytes for leaf in obs_leaves(obs).values())))
        self._due = self._block
        return obs

    def begin(self, environments: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Give numbers in the order in which episodes begin: seeds for actors, of episodes that cannot be repeated."""
        return ((i, next(self._seeds)) for i in environments if i not in self._left)

    def step(self, acts: np.ndarray, noted: Noted) -> Moment:
        """Step every environment; one that reaches the step ceiling is taken for ended, and plays no more."""
        step = self._steps.step(acts)
        self._position += 1
        self._returns += step.rews
        if self._log is not None:
            self._log.add(acts, step.obs, step.rews)
            self._marks.add(noted)
        at_ceiling = self._lengths.tick()
        if step.idle is not None:
            self._lengths.begin(step.idle.numbers)
        if step.dones is not None or at_ceiling:
            self._note(step)
        if step.begun is not None:
            for i in step.begun.numbers:
                self._returns[i] = 0.0
        return Moment(step.obs, step.begun, self.rest() if self._position >= self._due else ())

    def rest(self) -> list[FinishedEpisode]:
        """Tell which episodes have ended since this was told last."""
        told, self._untold = self._untold, []
        cuts, self._cuts = self._cuts, []
        self._due = self._position + self._block
        if self._log is None:
            return told
        trajectories = self._log.take(cuts)
        for place, (cut, episode) in enumerate(zip(cuts, told, strict=True)):
            noted = self._marks.take(cut.env_index, episode.length, ago=self._position - cut.stop, more=not episode.cut)
            told[place] = episode._replace(trajectories=tuple(marked([trajectories[place]], noted)))
        self._log.forget(self._position - self._lengths.longest())
        return told

    def plays(self, env_index: int) -> bool:
        """Whether it was not cut."""
        return env_index not in self._left

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the records as they are: nothing of ours is around the environments."""
        return list(counted)

    def close(self) -> None:
        """Close what was opened for the evaluation."""
        self._close()

    def _note(self, step: Step) -> None:
        """Take note of what is over with a step, and tell it at once where there may be enough."""
        if step.dones is not None:
            for i in step.dones.numbers:
                self._ended(i, step)
            self._lengths.begin(step.dones.numbers)
        self._lengths.begin(self._left)
        for i in self._lengths.at_ceiling():
            self._ended(i, step, cut=True)
            self._left.add(i)
        if self._n_ended >= (self._plan.n_episodes or 0) and self._n_steps_ended >= (self._plan.n_timesteps or 0):
            self._due = self._position

    def _ended(self, i: int, step: Step, *, cut: bool = False) -> None:
        if i in self._left:
            return
        terminated = not cut and bool(step.terminated[i])  # type: ignore[index]  # something ended, so it is there
        paid, length = self._returns.item(i), self._lengths.of(i)
        number, self._next[i] = self._next[i], self._next[i] + self.n_envs
        self._n_ended += 1
        self._n_steps_ended += length
        if self._log is not None:
            last = None if cut else self._steps.last_obs(step, i)
            self._cuts.append(Cut(i, self._position - length, self._position, terminated, last))
        self._untold.append(
            FinishedEpisode(
                number=number,
                seed=None,
                env_index=i,
                episode_return=paid,
                env_return=paid,  # nothing is around these environments
                monitor_return=paid,
                length=length,
                terminated=terminated,
                truncated=not terminated,
                cut=cut,
                is_success=_success(step.infos, i),
            )
        )


def _success(info: Any, i: int) -> bool | None:
    """Return what gymnasium's environments tell about success in the last step of an episode."""
    last = info.get("final_info", info)
    known = last.get("_is_success")
    return bool(last["is_success"][i]) if known is not None and known[i] else None
