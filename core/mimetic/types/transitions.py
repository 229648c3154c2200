"""What are transitions? Single steps in rows, without the episodes that they came from; usable as a torch dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, overload

import numpy as np

from mimetic.errors import DataError
from mimetic.types.equality import same_array, same_infos, same_obs
from mimetic.types.observations import (
    Observations,
    as_array,
    as_observations,
    n_rows,
    obs_difference,
    take_rows,
)
from mimetic.types.trajectories import as_infos, as_rewards


def _absent() -> Any:
    """Stand for an argument that was left out; ``__post_init__`` fills or refuses it."""
    return None


@dataclass(frozen=True, slots=True, eq=False)
class TransitionsMinimal:
    """Observations and the actions taken in them, row by row. Arrays are kept as they are given, without a copy.

    A number as index gives one row as a dict, anything else that numpy takes as an index (a slice, numbers, bools)
    the same class again.

    Raises:
        DataError: columns differ in length.
    """

    obs: Observations  # (N, *O), or a mapping of such arrays
    acts: np.ndarray  # (N, *A)
    infos: np.ndarray | None = None  # (N,), a mapping a row

    def __post_init__(self) -> None:
        acts = as_array(self.acts, "acts")
        if acts.ndim == 0:
            raise DataError("acts: a single number; expected an array with one row an action")
        object.__setattr__(self, "obs", as_observations(self.obs))
        object.__setattr__(self, "acts", acts)
        object.__setattr__(self, "infos", as_infos(self.infos, len(acts)))
        _require_rows(n_rows(self.obs), len(acts), "obs", "an observation")

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.acts)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: Any) -> Self: ...
    def __getitem__(self, index: Any) -> dict[str, Any] | Self:
        """Give one row as a dict, or several as the same class."""
        is_row = isinstance(index, (int, np.integer)) and not isinstance(index, (bool, np.bool_))
        if is_row and not -len(self) <= index < len(self):
            raise IndexError(f"row {index} of {len(self)} transitions")
        picked: dict[str, Any] = {}
        for name, column in self.columns().items():
            picked[name] = None if column is None else take_rows(column, index)
        if is_row:
            present = {name: value for name, value in picked.items() if value is not None}
            return {**present, "infos": picked["infos"] or {}}
        return type(self)(**picked)

    def __eq__(self, other: object) -> bool:
        """Compare dtypes, shapes and bytes of every column."""
        if not isinstance(other, TransitionsMinimal):
            return NotImplemented
        if type(self) is not type(other):
            return False
        theirs = other.columns()
        return all(_same_column(column, theirs[name], name) for name, column in self.columns().items())

    def columns(self) -> dict[str, Any]:
        """Return every column by name; one that is absent is None."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True, eq=False)
class Transitions(TransitionsMinimal):
    """Steps with the observation that followed and how the step ended."""

    next_obs: Observations = field(default_factory=_absent)  # as obs
    dones: np.ndarray = field(default_factory=_absent)  # (N,) bool: terminated, the task ended with this step
    truncated: np.ndarray = field(default_factory=_absent, kw_only=True)  # (N,) bool; left out: nowhere

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is a new class, which the zero-argument form does not know.
        TransitionsMinimal.__post_init__(self)
        n = len(self.acts)
        if self.next_obs is None or self.dones is None:
            raise TypeError(f"{type(self).__name__} needs next_obs and dones; TransitionsMinimal does without")
        next_obs = as_observations(self.next_obs, "next_obs")
        _require_rows(n_rows(next_obs, "next_obs"), n, "next_obs", "an observation")
        difference = obs_difference(self.obs, next_obs)
        if difference:
            raise DataError(f"obs and next_obs differ: {difference}")
        truncated = np.zeros(n, bool) if self.truncated is None else self.truncated
        object.__setattr__(self, "next_obs", next_obs)
        object.__setattr__(self, "dones", as_flags(self.dones, n, "dones"))
        object.__setattr__(self, "truncated", as_flags(truncated, n, "truncated"))


@dataclass(frozen=True, slots=True, eq=False)
class TransitionsWithRew(Transitions):
    """Steps with the reward that the environment gave."""

    rews: np.ndarray = field(default_factory=_absent)  # (N,)

    def __post_init__(self) -> None:
        Transitions.__post_init__(self)
        if self.rews is None:
            raise TypeError("TransitionsWithRew needs rews; Transitions does without")
        object.__setattr__(self, "rews", as_rewards(self.rews, len(self.acts)))


def as_flags(value: Any, n: int, name: str) -> np.ndarray:
    """View ``value`` as ``n`` bools."""
    flags = as_array(value, name)
    if flags.shape != (n,):
        raise DataError(f"{name} have shape {flags.shape}; expected ({n},)")
    if flags.dtype != bool:
        raise DataError(f"{name} have dtype {flags.dtype}; expected bool")
    return flags


def _require_rows(rows: int, n: int, name: str, what: str) -> None:
    if rows != n:
        raise DataError(f"{name} has {rows} rows and acts {n}; expected as many: {what} an action")


def _same_column(a: Any, b: Any, name: str) -> bool:
    if name == "infos":
        return same_infos(a, b)
    return same_obs(a, b) if isinstance(a, Mapping) or isinstance(b, Mapping) else same_array(a, b)
