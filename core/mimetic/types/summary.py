"""What is in demonstrations? Counts, columns and statistics, for people and for machines."""

from collections.abc import Callable
from typing import Any, TypedDict

import numpy as np

from mimetic.types.dataset import TrajectoryDataset
from mimetic.types.demonstrations import Demonstrations
from mimetic.types.observations import escape_key, obs_leaves
from mimetic.types.transitions import TransitionsMinimal


class ColumnSummary(TypedDict):
    """What one column looks like."""

    dtype: str
    shape: list[int]


class Statistics(TypedDict):
    """Numbers over trajectories, as an evaluation names them; null without rewards, or where one is not finite."""

    return_min: float | None
    return_mean: float | None
    return_std: float | None  # of the population
    return_max: float | None
    len_min: float | None
    len_mean: float | None
    len_std: float | None  # of the population
    len_max: float | None


class Summary(Statistics):
    """What ``mimetic data inspect --json`` prints, beside faults and notes."""

    n_trajectories: int | None  # None: single steps, which belong to no trajectory
    n_transitions: int | None  # None: batches, which are not counted
    n_terminated: int | None
    n_truncated: int | None
    columns: dict[str, ColumnSummary]
    observation_space: str | None
    action_space: str | None
    infos_left_out: list[str]  # what a file could not hold
    fingerprint: str


def summarise(demonstrations: Demonstrations) -> Summary:
    """Describe demonstrations; batches are not walked through."""
    data = demonstrations.data
    known = data if isinstance(data, TrajectoryDataset) else None
    spaces = demonstrations.observation_space, demonstrations.action_space
    return {
        "n_trajectories": None if known is None else len(known),
        "n_transitions": demonstrations.n_transitions,
        "n_terminated": None if known is None else int(known.terminals.sum()),
        "n_truncated": None if known is None else int(known.truncations.sum()),
        **_statistics(known),
        "columns": {
            name: {"dtype": str(column.dtype), "shape": list(column.shape)} for name, column in _columns(data).items()
        },
        "observation_space": None if spaces[0] is None else str(spaces[0]),
        "action_space": None if spaces[1] is None else str(spaces[1]),
        "infos_left_out": [] if known is None else list(known.left_out),
        "fingerprint": demonstrations.fingerprint(),
    }


def _statistics(data: TrajectoryDataset | None) -> Statistics:
    returns = None if data is None else data.returns
    lengths = None if data is None else data.lengths
    return {
        "return_min": _number(np.min, returns),
        "return_mean": _number(np.mean, returns),
        "return_std": _number(np.std, returns),
        "return_max": _number(np.max, returns),
        "len_min": _number(np.min, lengths),
        "len_mean": _number(np.mean, lengths),
        "len_std": _number(np.std, lengths),
        "len_max": _number(np.max, lengths),
    }


def _number(statistic: Callable[[np.ndarray], Any], values: np.ndarray | None) -> float | None:
    if values is None or not len(values) or not np.isfinite(values).all():
        return None
    return float(statistic(values))


def _columns(data: object) -> dict[str, np.ndarray]:
    if isinstance(data, TrajectoryDataset):
        columns = obs_leaves(data.obs) | {"acts": data.acts} | ({} if data.rews is None else {"rews": data.rews})
        return columns | {f"infos.{escape_key(key)}": column for key, column in (data.infos or {}).items()}
    if isinstance(data, TransitionsMinimal):
        known = {name: column for name, column in data.columns().items() if column is not None}
        return {leaf: array for name, column in known.items() for leaf, array in obs_leaves(column, name).items()}
    return {}
