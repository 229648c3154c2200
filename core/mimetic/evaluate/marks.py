"""Where does what an actor noted about its actions, such as ``explored``, wait until the episodes are over?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mimetic.rollout.history import MUCH
from mimetic.types.rows import Rows

if TYPE_CHECKING:
    from mimetic.types import Trajectory


class Marks:
    """What was noted about the latest actions of all environments. It costs nothing while nothing is noted."""

    def __init__(self, n_envs: int) -> None:
        """Begin with nothing."""
        self._columns: dict[str, Rows] = {}
        self._n_steps = 0  # that are held; before the first note: that were made
        self._starts = [0] * n_envs  # the first of them that each environment's running episode may hold
        self._over: set[int] = set()  # no episode follows in these

    def add(self, noted: Mapping[str, np.ndarray]) -> None:
        """Take what was noted about one action of every environment."""
        if noted or self._columns:
            for name in noted.keys() | self._columns.keys():
                if name not in self._columns:  # it was not noted before
                    self._columns[name] = Rows(noted[name])
                    for _ in range(self._n_steps):
                        self._columns[name].append(np.zeros_like(noted[name]))
                self._columns[name].append(noted.get(name, 0))
        self._n_steps += 1

    def take(self, env_index: int, length: int, *, more: bool) -> dict[str, np.ndarray]:
        """Hand over what was noted in the last ``length`` steps of an environment; ``more``: episodes follow there."""
        self._starts[env_index] = self._n_steps
        if not more:
            self._over.add(env_index)
        if not self._columns:
            return {}
        start = self._n_steps - length
        columns = {name: rows.view(start)[:, env_index].copy() for name, rows in self._columns.items()}
        self._forget()
        return columns

    def _forget(self) -> None:
        """Drop what no running episode holds any more."""
        held = [start for index, start in enumerate(self._starts) if index not in self._over]
        surplus = min(held, default=self._n_steps)
        if surplus > max(self._n_steps // 2, MUCH):
            for rows in self._columns.values():
                rows.forget(surplus)
            self._starts = [start - surplus for start in self._starts]
            self._n_steps -= surplus


def marked(
    trajectories: "Sequence[Trajectory]", noted: Mapping[str, np.ndarray], steps_before: np.ndarray | None = None
) -> "Sequence[Trajectory]":
    """Put what was noted in the steps of an episode into the infos of its trajectories.

    ``steps_before`` (T + 1,) is how many steps the environment had made before each step that was acted in, see
    :class:`mimetic.envs.RawEpisode`; None: it made one each.
    """
    if not noted or not trajectories:
        return trajectories
    lengths = [len(each) for each in trajectories]
    infos = np.empty(sum(lengths), object)
    infos[:] = [
        {name: column[step] if step >= 0 else np.zeros_like(column[0]) for name, column in noted.items()}
        for step in _outer_steps(steps_before, len(infos))
    ]
    pieces = np.split(infos, np.cumsum(lengths)[:-1])
    return [replace(each, infos=piece) for each, piece in zip(trajectories, pieces, strict=True)]


def _outer_steps(steps_before: np.ndarray | None, n_inner: int) -> Sequence[int]:
    """Say for each inner step in which outer step it was made; -1: during the reset."""
    if steps_before is None:
        return range(n_inner)
    outer: list[int] = (np.searchsorted(steps_before, np.arange(n_inner), side="right") - 1).tolist()
    return outer
