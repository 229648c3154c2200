"""How do trajectories lie in memory? End to end, one array a quantity.

The observations of an episode of T actions are T+1 rows of ``obs``, so ``obs`` has one row more for each episode than
``acts``. ``episode_ends`` counts actions: episode e owns the actions ``[ends[e-1], ends[e])`` and the observation rows
``[ends[e-1] + e, ends[e] + e + 1)``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from mimetic.errors import DataError
from mimetic.types.infos import infos_from_columns
from mimetic.types.observations import Observations, as_array, as_observations, obs_leaves, take_rows
from mimetic.types.trajectories import Trajectory


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Trajectories end to end, one array a quantity.

    Raises:
        DataError: names everything that does not fit together.
    """

    obs: Observations  # (N + E, *O), or a mapping of such arrays
    acts: np.ndarray  # (N, *A)
    episode_ends: np.ndarray  # (E,) int64, cumulative counts of actions
    terminals: np.ndarray  # (E,) bool
    truncations: np.ndarray  # (E,) bool
    rews: np.ndarray | None = None  # (N,)
    infos: Mapping[str, np.ndarray] = field(default_factory=dict)  # (N, ...) each

    def __post_init__(self) -> None:
        object.__setattr__(self, "obs", as_observations(self.obs))
        for name in ("acts", "terminals", "truncations"):
            object.__setattr__(self, name, as_array(getattr(self, name), name))
        object.__setattr__(self, "episode_ends", _as_ends(self.episode_ends))
        faults = _column_faults(self)
        if faults:
            raise DataError("\n".join(faults))

    def slice(self, start: int, stop: int) -> Self:
        """View the episodes ``[start, stop)``."""
        first = int(self.episode_ends[start - 1]) if start else 0
        last = int(self.episode_ends[stop - 1]) if stop > start else first
        acts = slice(first, last)
        return type(self)(
            obs=take_rows(self.obs, slice(first + start, last + stop)),
            acts=self.acts[acts],
            episode_ends=self.episode_ends[start:stop] - first,
            terminals=self.terminals[start:stop],
            truncations=self.truncations[start:stop],
            rews=None if self.rews is None else self.rews[acts],
            infos={key: column[acts] for key, column in self.infos.items()},
        )

    def trajectory(self, number: int) -> Trajectory:
        """View one episode."""
        start = int(self.episode_ends[number - 1]) if number else 0
        stop = int(self.episode_ends[number])
        acts = slice(start, stop)
        infos = {key: column[acts] for key, column in self.infos.items()}
        return Trajectory(
            take_rows(self.obs, slice(start + number, stop + number + 1)),
            self.acts[acts],
            infos_from_columns(infos, stop - start) if infos else None,
            bool(self.terminals[number]),
            rews=None if self.rews is None else self.rews[acts],
            truncated=bool(self.truncations[number]),
        )


def _as_ends(ends: Any) -> np.ndarray:
    array = as_array(ends, "episode_ends")
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise DataError(f"episode_ends has shape {array.shape} and dtype {array.dtype}; expected numbers in a row")
    return array.astype(np.int64, copy=False)


def _column_faults(columns: Columns) -> list[str]:
    ends, n = columns.episode_ends, len(columns.acts) if columns.acts.ndim else -1
    faults: list[str] = []
    if n < 0:
        return ["acts is a single number; expected an array with one row an action"]
    steps = np.diff(ends, prepend=0)
    for episode in np.flatnonzero(steps < 1)[:3]:
        faults.append(f"episode_ends: trajectory {episode} has {steps[episode]} actions; expected at least 1")
    if (int(ends[-1]) if len(ends) else 0) != n:
        faults.append(f"episode_ends ends with {ends[-1] if len(ends) else 'nothing'}, and acts has {n} rows")
    if not faults:
        faults += _obs_faults(columns, n, len(ends))
    for name in ("terminals", "truncations"):
        flags = getattr(columns, name)
        if flags.shape != ends.shape or (flags.dtype != bool and flags.size):
            faults.append(f"{name} has shape {flags.shape} and dtype {flags.dtype}; expected {ends.shape} and bool")
    for name, column in [("rews", columns.rews), *((f"infos.{key}", c) for key, c in columns.infos.items())]:
        if column is not None and (np.ndim(column) == 0 or len(column) != n):
            faults.append(f"{name} has shape {np.shape(column)}, and acts has {n} rows; expected as many")
    if columns.rews is not None and (columns.rews.ndim != 1 or columns.rews.dtype.kind not in "fiub"):
        faults.append(f"rews has shape {columns.rews.shape} and dtype {columns.rews.dtype}; expected numbers in a row")
    return faults


def _obs_faults(columns: Columns, n: int, n_episodes: int) -> list[str]:
    need = n + n_episodes
    faults = []
    for name, leaf in obs_leaves(columns.obs).items():
        rows = len(leaf) if leaf.ndim else 0
        if rows != need:
            faults.append(
                f"{name} has {rows} rows for {n} actions in {n_episodes} trajectories: "
                f"got {rows}, need {need} (each trajectory has the state after the last action)"
            )
    return faults
