"""Which rows are meant? Numbers of rows from what users write, and from where episodes begin."""

from collections.abc import Iterable

import numpy as np

from mimetic.errors import DataError


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return ``[starts[0], ..., starts[0] + lengths[0] - 1, starts[1], ...]``."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def as_indices(indices: Iterable[int] | np.ndarray, n: int) -> np.ndarray:
    """Turn numbers, negative ones too, or a bool for each of ``n`` trajectories into numbers from 0 to n-1."""
    chosen = np.asarray(indices if isinstance(indices, (np.ndarray, range)) else list(indices))
    if chosen.dtype == bool:
        if chosen.shape != (n,):
            raise DataError(f"a selection of shape {chosen.shape}; expected ({n},): a bool for each trajectory")
        return np.flatnonzero(chosen)
    if chosen.size == 0:
        return np.zeros(0, np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise DataError(f"a selection of shape {chosen.shape} and dtype {chosen.dtype}; expected numbers in a row")
    if chosen.min() < -n or chosen.max() >= n:
        raise IndexError(f"trajectory {int(chosen.max() if chosen.max() >= n else chosen.min())} of {n}")
    return np.where(chosen < 0, chosen + n, chosen).astype(np.int64)
