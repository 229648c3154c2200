"""How do the counted episodes come onto the disk: raw, with a mark on what was explored?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import gymnasium as gym
import numpy as np

from mimetic.errors import TargetExistsError
from mimetic.evaluate.lanes import Ending
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.rollout.history import MUCH
from mimetic.storage import DatasetWriter, load_demonstrations, save_demonstrations
from mimetic.types import Trajectory, TrajectoryDataset
from mimetic.types.rows import Rows

SUFFIX = ".safetensors"


class Rollouts:
    """A native dataset that takes counted episodes one by one.

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
        self._held: list[Trajectory] = []

    def add(self, episode: FinishedEpisode) -> None:
        """Take a counted episode."""
        for trajectory in episode.trajectories:
            if self._writer is None:
                self._held.append(trajectory)
            else:
                self._writer.append(trajectory)
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
        if self._writer is not None:
            self._writer.close()
        elif not self._is_written:
            self._write()

    def _write(self) -> None:
        if self._writer is not None:
            self._writer.flush()
        elif self._held:
            dataset = TrajectoryDataset.from_trajectories(self._held, **self._spaces)
            save_demonstrations(dataset, self._path, overwrite=self._is_written)  # its own, never another's
            self._is_written = True

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


class Marks:
    """What an actor noted about its actions, such as ``explored``, until the episodes that they belong to are over."""

    def __init__(self, n_envs: int) -> None:
        """Begin with nothing."""
        self._columns: dict[str, Rows] = {}
        self._n_steps = 0
        self._starts = np.zeros(n_envs, np.int64)  # (n,) the first step of each running episode
        self._over = np.zeros(n_envs, bool)  # (n,) no episode follows

    def add(self, noted: Mapping[str, np.ndarray], idle: np.ndarray | None = None) -> None:
        """Take what was noted about one action of every environment; where it is ``idle`` there was none."""
        if noted or self._columns:
            self._note(noted)
        self._n_steps += 1
        if idle is not None:
            self._starts[idle] = self._n_steps

    def _note(self, noted: Mapping[str, np.ndarray]) -> None:
        for name in noted.keys() | self._columns.keys():
            if name not in self._columns:  # it was not noted before
                self._columns[name] = Rows(noted[name])
                for _ in range(self._n_steps):
                    self._columns[name].append(np.zeros_like(noted[name]))
            self._columns[name].append(noted.get(name, 0))

    def move_into(self, ending: Ending) -> Ending:
        """Put the notes about an episode into the infos of its trajectories."""
        i = ending.env_index
        start, self._starts[i] = int(self._starts[i]), self._n_steps
        self._over[i] = ending.next_index is None
        if not self._columns:
            return ending
        columns = {name: rows.view(start)[:, i].copy() for name, rows in self._columns.items()}
        self._forget()
        if not ending.trajectories:
            return ending
        lengths = [len(each) for each in ending.trajectories]
        infos = np.empty(sum(lengths), object)
        infos[:] = [
            {name: column[step] if step >= 0 else np.zeros_like(column[0]) for name, column in columns.items()}
            for step in _outer_steps(ending, len(infos))
        ]
        pieces = np.split(infos, np.cumsum(lengths)[:-1])
        marked = [replace(each, infos=piece) for each, piece in zip(ending.trajectories, pieces, strict=True)]
        return ending._replace(trajectories=tuple(marked))

    def _forget(self) -> None:
        """Drop what no running episode holds any more."""
        surplus = self._n_steps - int((self._n_steps - self._starts)[~self._over].max(initial=0))
        if surplus > max(self._n_steps // 2, MUCH):
            for rows in self._columns.values():
                rows.forget(surplus)
            self._starts -= surplus
            self._n_steps -= surplus


def _outer_steps(ending: Ending, n_inner: int) -> Sequence[int]:
    """Say for each inner step in which outer step it was made; -1: during the reset."""
    if ending.steps_before is None:
        return range(n_inner)
    inner = np.arange(n_inner)
    outer: list[int] = (np.searchsorted(ending.steps_before, inner, side="right") - 1).tolist()
    return outer
