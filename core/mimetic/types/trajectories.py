"""What is a trajectory? T actions between T+1 observations, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mimetic.errors import DataError
from mimetic.types.equality import same_array, same_infos, same_obs
from mimetic.types.observations import Observations, as_array, as_observations, n_rows


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """One episode, or a fragment of one, as it was lived: T actions between T+1 observations.

    Arrays are kept as they are given, without a copy; lists become arrays. Equality compares dtypes, shapes and
    bytes.

    Raises:
        DataError: lengths do not fit together, or there is no action.
    """

    obs: Observations  # (T + 1, *O), or a mapping of such arrays
    acts: np.ndarray  # (T, *A)
    infos: np.ndarray | None  # (T,), a mapping a step
    terminal: bool  # the task ended: nothing follows the last observation
    rews: np.ndarray | None = field(default=None, kw_only=True)  # (T,), the environment's own reward
    truncated: bool = field(default=False, kw_only=True)  # the clock or the collector cut it: more would have followed

    def __post_init__(self) -> None:
        acts = as_array(self.acts, "acts")
        if acts.ndim == 0 or len(acts) == 0:
            raise DataError("a trajectory needs at least one action: got none")
        obs = as_observations(self.obs)
        rows, need = n_rows(obs), len(acts) + 1
        if rows != need:
            raise DataError(
                f"a trajectory of {len(acts)} actions needs {need} observations: "
                f"got {rows}, need {need} (the state after the last action)"
            )
        object.__setattr__(self, "obs", obs)
        object.__setattr__(self, "acts", acts)
        object.__setattr__(self, "infos", as_infos(self.infos, len(acts)))
        object.__setattr__(self, "rews", None if self.rews is None else as_rewards(self.rews, len(acts)))
        object.__setattr__(self, "terminal", as_flag(self.terminal, "terminal"))
        object.__setattr__(self, "truncated", as_flag(self.truncated, "truncated"))

    def __len__(self) -> int:
        """Count the actions."""
        return len(self.acts)

    def __eq__(self, other: object) -> bool:
        """Compare dtypes, shapes and bytes of every array, the infos, and how the trajectories ended."""
        if not isinstance(other, Trajectory):
            return NotImplemented
        return (
            (self.terminal, self.truncated) == (other.terminal, other.truncated)
            and same_array(self.acts, other.acts)
            and same_array(self.rews, other.rews)
            and same_obs(self.obs, other.obs)
            and same_infos(self.infos, other.infos)
        )

    @property
    def episode_return(self) -> float | None:
        """The undiscounted sum of the rewards in float64; None without rewards."""
        return None if self.rews is None else float(np.sum(self.rews, dtype=np.float64))


def TrajectoryWithRew(  # noqa: N802 - the name that users of the reference library write
    obs: Observations,
    acts: np.ndarray,
    infos: np.ndarray | None,
    terminal: bool,
    rews: np.ndarray,
    *,
    truncated: bool = False,
) -> Trajectory:
    """Build a :class:`Trajectory` whose rewards are given by position."""
    return Trajectory(obs, acts, infos, terminal, rews=rews, truncated=truncated)


def as_infos(infos: Any, n_steps: int) -> np.ndarray | None:
    """View infos as an array of mappings, one a step; None stays None."""
    if infos is None:
        return None
    steps = infos if isinstance(infos, np.ndarray) else _in_an_array(list(infos))
    if steps.shape != (n_steps,):
        raise DataError(f"infos have shape {steps.shape}; expected ({n_steps},): a mapping an action, or None")
    for step, info in enumerate(steps):
        if not isinstance(info, Mapping):
            raise DataError(f"infos, step {step}: of type {type(info).__name__}; expected a mapping")
    return steps


def as_rewards(rews: Any, n_steps: int) -> np.ndarray:
    """View rewards as an array of one number a step."""
    column = as_array(rews, "rews")
    if column.shape != (n_steps,):
        raise DataError(f"rews have shape {column.shape}; expected ({n_steps},): one reward an action")
    if column.dtype.kind not in "fiub":
        raise DataError(f"rews have dtype {column.dtype}; expected numbers")
    return column


def as_flag(value: Any, name: str) -> bool:
    """View ``value`` as true or false; anything but a bool is refused."""
    if isinstance(value, bool):
        return value
    if np.ndim(value) == 0 and np.asarray(value).dtype == bool:
        return bool(value)
    raise DataError(f"{name} is {value!r}; expected True or False")


def _in_an_array(items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):  # one by one: numpy would take a sequence-like mapping apart
        array[index] = item
    return array
