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
from mimetic.storage import DatasetWriter, load_demonstrations, save_demonstrations
from mimetic.types import Trajectory, TrajectoryDataset

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
    """What an actor noted about its actions, such as ``explored``, until the episode that they belong to is over."""

    def __init__(self, n_envs: int) -> None:
        """Begin with nothing."""
        self._steps: list[list[Mapping[str, Any]]] = [[] for _ in range(n_envs)]

    def add(
        self, noted: Mapping[str, np.ndarray], playing: Sequence[int | None], idle: np.ndarray | None = None
    ) -> None:
        """Take what was noted about one action of every environment that plays and is not ``idle``."""
        for i, index in enumerate(playing):
            if index is not None and (idle is None or not idle[i]):
                self._steps[i].append({key: column[i] for key, column in noted.items()} if noted else noted)

    def move_into(self, ending: Ending) -> Ending:
        """Put the notes about an episode into the infos of its trajectories."""
        steps, self._steps[ending.env_index] = self._steps[ending.env_index], []
        if not ending.trajectories or not any(steps):
            return ending
        n_inner = sum(len(each) for each in ending.trajectories)
        infos = np.empty(n_inner, object)
        infos[:] = [dict(steps[outer]) if outer >= 0 else _nothing(steps[0]) for outer in _outer_steps(ending, n_inner)]
        ends = np.cumsum([len(each) for each in ending.trajectories])
        pieces = np.split(infos, ends[:-1])
        marked = [replace(each, infos=piece) for each, piece in zip(ending.trajectories, pieces, strict=True)]
        return replace(ending, trajectories=tuple(marked))


def _outer_steps(ending: Ending, n_inner: int) -> Sequence[int]:
    """Say for each inner step in which outer step it was made; -1: during the reset."""
    if ending.steps_before is None:
        return range(n_inner)
    inner = np.arange(n_inner)
    outer: list[int] = (np.searchsorted(ending.steps_before, inner, side="right") - 1).tolist()
    return outer


def _nothing(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mark of a step that the actor had no part in."""
    return {key: np.zeros_like(value) for key, value in step.items()}
