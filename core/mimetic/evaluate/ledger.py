"""Which of the episodes that were played count? The shortest row 0, 1, 2, ... that is long enough."""

from collections.abc import Callable
from typing import NamedTuple

from mimetic.envs import EpisodeRecord
from mimetic.types import Trajectory


class FinishedEpisode(NamedTuple):
    """An episode that was played to its end, counted or not."""

    record: EpisodeRecord
    cut: bool = False  # by the step ceiling
    monitor_return: float | None = None  # what a Monitor, or our own innermost wrapper, summed up
    trajectories: tuple[Trajectory, ...] = ()  # the raw episode, when it is kept


class Ledger:
    """Takes finished episodes in any order, and counts them in theirs until they are enough.

    Which episodes count depends on their numbers and lengths alone: not on which environment was faster, nor on how
    many there are. ``on_counted`` is called with each as soon as it is sure to count; then its steps are let go.
    """

    def __init__(
        self,
        n_episodes: int | None,
        n_timesteps: int | None,
        on_counted: Callable[[FinishedEpisode], None] = lambda episode: None,
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
        self._next = 0
        self.counted: list[FinishedEpisode] = []
        self.n_counted = 0
        self.n_timesteps = 0  # in the counted episodes

    @property
    def complete(self) -> bool:
        """Whether there are enough."""
        return self.n_counted >= self._n_episodes and self.n_timesteps >= self._n_timesteps

    @property
    def next_index(self) -> int:
        """The episode that is missing first."""
        return self._next

    def add(self, episode: FinishedEpisode) -> None:
        """Take an episode, and count what has become countable."""
        self._waiting[episode.record.index] = episode
        while not self.complete and self._next in self._waiting:
            self._count(self._waiting.pop(self._next))
            self._next += 1

    def settle(self) -> None:
        """Count every episode that is there, though earlier ones are missing: nothing more will come."""
        for index in sorted(self._waiting):
            self._count(self._waiting.pop(index))

    def _count(self, episode: FinishedEpisode) -> None:
        self.n_counted += 1
        self.n_timesteps += episode.record.length
        self._on_counted(episode)
        if self._keeps:
            self.counted.append(episode._replace(trajectories=()) if episode.trajectories else episode)
