"""How do the infos of many steps become columns, and come back?

Infos arrive as one mapping a step. Columns are one array a key: numbers of one dtype and one shape that every step
has become a numeric column, everything else an object array in which :data:`ABSENT` marks the steps without the key.
Only numeric columns can be stored; nothing is lost in memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


class _Absent:
    """The mark for a step whose info has no such key."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        """Stay one object through copies and subprocesses."""
        return "ABSENT"


ABSENT = _Absent()


def columns_from_infos(steps: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Turn a mapping a step into an array a key."""
    keys: dict[str, None] = {}
    for info in steps:
        keys.update(dict.fromkeys(info))
    return {key: _column([info.get(key, ABSENT) for info in steps]) for key in keys}


def infos_from_columns(columns: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Turn an array a key back into a mapping a step."""
    infos = np.empty(n, dtype=object)
    for step in range(n):
        infos[step] = {key: column[step] for key, column in columns.items() if column[step] is not ABSENT}
    return infos


def concatenate_columns(pieces: Iterable[tuple[Mapping[str, np.ndarray], int]]) -> dict[str, np.ndarray]:
    """Put columns end to end; each piece comes with its number of steps, because it may have no column at all."""
    pieces = list(pieces)
    keys = dict.fromkeys(key for columns, _ in pieces for key in columns)
    return {key: _join([_column_or_absent(columns, key, n) for columns, n in pieces]) for key in keys}


def numeric_columns(columns: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
    """Return the columns that can be stored, in the order of their names."""
    columns = columns or {}
    return {key: columns[key] for key in sorted(columns) if columns[key].dtype.kind in "fiub"}


def _column(values: Sequence[Any]) -> np.ndarray:
    signatures = {_signature(value) for value in values}
    if len(signatures) == 1 and None not in signatures:
        return np.asarray(values)
    return _objects(values)


def _signature(value: Any) -> tuple[Any, ...] | None:
    """What values must share to become one numeric column; None when the value is no number."""
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        array = np.asarray(value)
        return (array.dtype, array.shape) if array.dtype.kind in "fiub" else None
    return None


def _objects(values: Iterable[Any]) -> np.ndarray:
    values = list(values)
    column = np.empty(len(values), dtype=object)
    for step, value in enumerate(values):  # one by one: an assignment to a slice would take arrays apart
        column[step] = value
    return column


def _column_or_absent(columns: Mapping[str, np.ndarray], key: str, n: int) -> np.ndarray:
    return columns[key] if key in columns else _objects([ABSENT] * n)


def _join(pieces: list[np.ndarray]) -> np.ndarray:
    alike = {(piece.dtype, piece.shape[1:]) for piece in pieces}
    return np.concatenate(pieces if len(alike) == 1 else [_objects(piece) for piece in pieces])
