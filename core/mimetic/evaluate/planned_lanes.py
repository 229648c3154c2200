"""How are environments stepped that were built here and know their episodes?"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from mimetic.envs import PLAYED, EpisodePlan, EpisodeRecord, LocalVecEnv, PlayedEpisode
from mimetic.evaluate.lanes import Moment, Noted
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.evaluate.marks import Marks, marked
from mimetic.evaluate.step_log import StepLog
from mimetic.rollout.stepping import Where

if TYPE_CHECKING:
    from mimetic.types import Trajectory


class PlannedLanes:
    """Environments that were built here and know their episodes (:class:`mimetic.envs.PlannedEpisodes`)."""

    exact = True

    def __init__(self, venv: VecEnv, plan: EpisodePlan, *, record: bool = False) -> None:
        """Step ``venv``, which records its episodes or does not, and close it at the end.

        Where nothing lies between the environments and what is seen of them, their steps are logged together instead.
        """
        self.venv: VecEnv | None = venv
        self._venv, self._plan = venv, plan
        self._logs = record and isinstance(venv, LocalVecEnv) and all(venv.env_method("leave_recording"))
        self._log: StepLog | None = None
        self._marks = Marks(venv.num_envs) if record and not self._logs else None
        self._returns = np.zeros(venv.num_envs, np.float64)  # (n,) of the running episodes
        self._playing: list[int | None] = list(range(venv.num_envs))  # the episode that each plays
        self._seeds = [0] * venv.num_envs  # of those episodes
        self._starts = [0] * venv.num_envs  # the position at which each began
        self._position = 0  # steps since the reset
        self.n_envs = venv.num_envs
        self.observation_space = venv.observation_space
        self.action_space = venv.action_space

    def reset(self) -> Any:
        """Begin the first episodes."""
        obs = self._venv.reset()
        self._log = StepLog(obs) if self._logs else None
        return obs

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
        self._position += 1
        if self._log is not None:
            self._log.add(acts, obs, rews, noted)
        elif self._marks is not None:
            self._marks.add(noted)
        where = Where.of(dones)
        if where is None:
            return Moment(obs)
        ended = [self._ended(i, infos[i]) for i in where.numbers]
        if self._log is not None and self._log.is_full:
            self._log.cut()
            running = (start for start, number in zip(self._starts, self._playing, strict=True) if number is not None)
            self._log.forget(min(running, default=self._position))
        return Moment(obs, where, ended)

    def rest(self) -> list[FinishedEpisode]:
        """Return nothing: what ends is told at once."""
        return []

    def plays(self, number: int) -> bool:
        """Whether its environment has an episode of the plan left."""
        return self._playing[number % self.n_envs] is not None

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

    def _ended(self, i: int, info: Mapping[str, Any]) -> FinishedEpisode:
        played: PlayedEpisode = info[PLAYED]
        episode_return, self._returns[i] = self._returns.item(i), 0.0
        self._playing[i] = played.next_index
        start, self._starts[i] = self._starts[i], self._position
        trajectories: Sequence[Trajectory] = ()
        if self._log is not None:
            last = info["terminal_observation"]
            trajectories = self._log.end(i, start, self._position, terminated=played.terminated, last_obs=last)
        elif self._marks is not None and played.raw is not None:
            noted = self._marks.take(i, played.length, more=played.next_index is not None)
            trajectories = marked(played.raw.trajectories, noted, played.raw.steps_before)
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
            trajectories=trajectories,
        )
