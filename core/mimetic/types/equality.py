"""When are two pieces of data the same? Same dtype, same shape, same bytes; NaN equals NaN.

Byte order and strides are how an array lies in memory, not what it holds: they do not count.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mimetic.types.observations import Observations, obs_leaves


def same_array(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Compare dtype, shape and bytes; any NaN equals any other, 0.0 and -0.0 differ."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
        return False
    if a.dtype.hasobject:
        return all(same_value(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    a, b = _native(a), _native(b)
    if np.array_equal(_bytes(a), _bytes(b)):
        return True
    return a.dtype.kind in "fc" and _same_but_for_nan(a, b)


def same_obs(a: Observations, b: Observations) -> bool:
    """Compare the structure, then every array."""
    first, second = obs_leaves(a), obs_leaves(b)
    return set(first) == set(second) and all(same_array(leaf, second[key]) for key, leaf in first.items())


def same_infos(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Compare step by step; no infos at all equals an empty mapping at every step."""
    if a is None or b is None:
        present = a if b is None else b
        return present is None or not any(present)
    return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))


def same_value(a: Any, b: Any) -> bool:
    """Compare what an info may hold; a number and numpy's scalar of the same dtype are the same."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return set(a) == set(b) and all(same_value(value, b[key]) for key, value in a.items())
    if _is_numeric(a) and _is_numeric(b):
        return same_array(np.asarray(a), np.asarray(b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def _is_numeric(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic, np.ndarray))


def _native(array: np.ndarray) -> np.ndarray:
    return np.asarray(array, dtype=array.dtype.newbyteorder("="))


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _same_but_for_nan(a: np.ndarray, b: np.ndarray) -> bool:
    nan = np.isnan(a)
    if not np.array_equal(nan, np.isnan(b)):
        return False
    return np.array_equal(_bytes(np.where(nan, 0, a)), _bytes(np.where(nan, 0, b)))
