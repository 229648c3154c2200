"""Which numpy array or number does a pickle describe? Made of the bytes in it, whose type and size are checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mimetic.errors import DataError
from mimetic_policies.sb3.inert_pickle import Call, Name

_NUMERIC = frozenset(("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))
_BYTE_ORDERS = frozenset("<>|=")
_MOST_AXES = 32
_MOST_ITEMS = 2**40


def array_of(value: object) -> np.ndarray:
    """Return the array that a call in a pickle would have made; old and new numpy write it in two ways.

    Raises:
        DataError: it is no array, not of numbers, or its bytes are not as many as its shape needs.
    """
    match value:
        case Call(Name(module, "_reconstruct"), _, (_, shape, dtype, is_fortran, raw)) if _is_numpy(module):
            return _array(raw, dtype, shape, "F" if is_fortran is True else "C")
        case Call(Name(module, "_frombuffer"), (raw, dtype, shape, order)) if _is_numpy(module):
            return _array(raw, dtype, shape, order)
        case Call(Name(module, "scalar"), (dtype, raw)) if _is_numpy(module):
            return _array(raw, dtype, (), "C")
    raise DataError(f"{told(value)}; expected an array of numbers")


def number_of(value: object) -> float:
    """Return a number, be it Python's or one of numpy's. Raises: DataError."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    else:
        array = array_of(value)
        if array.ndim:
            raise DataError(f"an array of shape {array.shape}; expected one number")
        number = array.item()
    try:
        return float(number)
    except OverflowError:
        raise DataError("a whole number beyond any float; expected one number") from None


def name_of(value: object) -> Name | None:
    """Return the class or function that a call in a pickle is of; protocols 0 and 1 name classes by a helper."""
    match value:
        case Call(Name("copyreg" | "copy_reg", "_reconstructor"), (Name() as kind, *_)):
            return kind
        case Call(Name() as function):
            return function
    return None


def told(value: object) -> str:
    """Say what a pickle holds, without ever printing much of it."""
    name = name_of(value)
    if name is not None:
        return f"a {name}"
    return f"the name {value}" if isinstance(value, Name) else f"a {type(value).__name__}"


def _array(raw: object, dtype: object, shape: object, order: object) -> np.ndarray:
    kind = _dtype_of(dtype)
    if not isinstance(shape, tuple) or len(shape) > _MOST_AXES or not all(_is_size(size) for size in shape):
        raise DataError("an array whose shape is no row of sizes")
    content = _bytes_of(raw)
    needed = math.prod(shape) * kind.itemsize
    if len(content) != needed:
        raise DataError(f"an array of shape {shape} and dtype {kind} has {len(content)} bytes; it needs {needed}")
    flat = np.frombuffer(content, kind)
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _dtype_of(value: object) -> np.dtype[Any]:
    """Read ``dtype('f8')``, whose byte order is in its state."""
    match value:
        case Call(Name("numpy", "dtype"), (str() as code, *_), (_, str() as order, *_)):
            if code in _NUMERIC and order in _BYTE_ORDERS:
                return np.dtype(code if order in "|=" else order + code)
    raise DataError("an array whose dtype is no number's")


def _is_numpy(module: str) -> bool:
    return module.partition(".")[0] == "numpy"


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_ITEMS


def _bytes_of(raw: object) -> bytes:
    """Return bytes, be they written as such or, as protocols 0 to 2 do, as text to be encoded."""
    if isinstance(raw, bytes | bytearray):
        return bytes(raw)
    match raw:
        case Call(Name("_codecs", "encode"), (str() as text, "latin1")):
            try:
                return text.encode("latin1")
            except UnicodeEncodeError:
                raise DataError("an array whose bytes are no bytes") from None
        case Call(Name("__builtin__" | "builtins", "bytes"), ()):
            return b""
    raise DataError(f"an array made of {told(raw)}; expected one of numbers")
