"""Which of the episodes that were played count? The shortest row 0, 1, 2, ... that is long enough."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mimetic.envs import EpisodeRecord
from mimetic.types import Trajectory


class FinishedEpisode(NamedTuple):
    """An episode that was played to its end, counted or not."""

    number: int  # its place in 0, 1, 2, ...
    seed: int | None  # None where the episode cannot be repeated from a seed
    env_index: int
    episode_return: float  # what was paid
    env_return: float | None  # of the environment's own rewards; None when nobody counted them
    monitor_return: float | None  # what a Monitor, or our own innermost wrapper, summed up
    length: int  # steps
    terminated: bool
    truncated: bool
    cut: bool = False  # by the step ceiling
    is_success: bool | None = None
    trajectories: Sequence[Trajectory] = ()  # the raw episode, when it is kept

    @property
    def record(self) -> EpisodeRecord:
        """What the JSON of an evaluation says about it."""
        return EpisodeRecord(
            index=self.number,
            seed=self.seed,
            env_index=self.env_index,
            episode_return=self.episode_return,
            env_return=self.env_return,
            length=self.length,
            terminated=self.terminated,
            truncated=self.truncated,
            is_success=self.is_success,
        )


class Ledger:
    """Takes finished episodes in any order, and counts them in theirs until they are enough.

    Which episodes count depends on their numbers and lengths alone: not on which environment was faster, nor on how
    many there are. ``on_counted`` is called with those that have become sure to count; then their steps are let go.
    """

    def __init__(
        self,
        n_episodes: int | None,
        n_timesteps: int | None,
        on_counted: Callable[[list[FinishedEpisode]], None] = lambda episodes: None,
        *,
        keeps: bool = True,
    ) -> None:
        """Count until there are ``n_episodes`` and ``n_timesteps``, whichever are given.

        Without ``keeps`` the list ``counted`` stays empty, for rows that have no end.
        """
        self._n_episodes = n_episodes or 0
        self._n_timesteps = n_timesteps or 0
        self._on_counted = on_counted
        self._keeps = keeps
        self._waiting: dict[int, FinishedEpisode] = {}
        self.next_index = 0  # the episode that is missing first
        self.counted: list[FinishedEpisode] = []
        self.n_counted = 0
        self.n_timesteps = 0  # in the counted episodes

    @property
    def complete(self) -> bool:
        """Whether there are enough."""
        return self.n_counted >= self._n_episodes and self.n_timesteps >= self._n_timesteps

    def add(self, episodes: Iterable[FinishedEpisode]) -> None:
        """Take episodes, and count what has become countable."""
        self._waiting.update((episode.number, episode) for episode in episodes)
        countable = []
        while self.next_index in self._waiting and not self.complete:
            episode = self._waiting.pop(self.next_index)
            self.next_index += 1
            self.n_counted += 1
            self.n_timesteps += episode.length
            countable.append(episode)
        self._tell(countable)

    def settle(self) -> None:
        """Count every episode that is there, though earlier ones are missing: nothing more will come."""
        rest = [self._waiting.pop(number) for number in sorted(self._waiting)]
        self.n_counted += len(rest)
        self.n_timesteps += sum(episode.length for episode in rest)
        self._tell(rest)

    def _tell(self, episodes: list[FinishedEpisode]) -> None:
        if not episodes:
            return
        self._on_counted(episodes)
        if self._keeps:
            self.counted += [each._replace(trajectories=()) if each.trajectories else each for each in episodes]
