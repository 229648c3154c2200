"""How do the counted episodes come onto the disk?"""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import gymnasium as gym

from mimetic.errors import TargetExistsError
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.evaluate.step_log import Pile
from mimetic.storage import DatasetWriter, load_demonstrations, save_demonstrations
from mimetic.types import TrajectoryDataset

SUFFIX = ".safetensors"


class Rollouts:
    """A native dataset that takes counted episodes as they come.

    A path that ends in ``.safetensors`` becomes one file, written at the end; any other a folder to which files are
    added as episodes come, for what does not fit into memory. Whatever ends it, what was counted is kept.
    """

    def __init__(
        self, path: Path, observation_space: gym.Space[Any], action_space: gym.Space[Any], *, at_once: bool = False
    ) -> None:
        """Save to ``path``, with the environment's own spaces; ``at_once``: each episode before the next one begins."""
        self._path = path
        self._at_once = at_once
        self._is_written = False
        self._spaces: dict[str, Any] = {"observation_space": observation_space, "action_space": action_space}
        self._writer = None if path.suffix == SUFFIX else DatasetWriter(path, **self._spaces)
        self._held = Pile()

    def add(self, episodes: Iterable[FinishedEpisode]) -> None:
        """Take counted episodes."""
        for episode in episodes:
            self._held.add(episode.trajectories)
            if self._writer is not None and self._held.is_at_least(
                self._writer.shard_transitions, self._writer.shard_bytes
            ):
                self._write()
        if self._at_once:
            self._write()

    def saved(self) -> TrajectoryDataset | None:
        """Return what lies on the disk, mapped into memory; None when no episode was counted."""
        return load_demonstrations(self._path) if self._path.is_file() or self._has_shards() else None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is held."""
        if not self._is_written:
            self._write()

    def _write(self) -> None:
        if not self._held:
            return
        if self._writer is None:
            dataset = self._held.data().with_spaces(**self._spaces)
            save_demonstrations(dataset, self._path, overwrite=self._is_written)  # its own, never another's
            self._is_written = True
            return
        try:
            self._writer.append_file(self._held.data())
        except Exception:
            self._held = Pile()  # what cannot be written is not tried again while the error is on its way
            raise
        self._held = Pile()

    def _has_shards(self) -> bool:
        return self._writer is not None and self._writer.n_trajectories > 0


def refuse_existing(path: Path) -> None:
    """Refuse a place where something lies already.

    Raises:
        TargetExistsError: It does.
    """
    if path.is_dir() and path.suffix != SUFFIX and not any(path.iterdir()):
        return
    if path.exists() or path.is_symlink():
        raise TargetExistsError(f"save_rollouts: {path} exists already, and nothing is written over; name another path")
