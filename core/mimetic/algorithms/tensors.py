"""How do columns become tensors, and how are rows of nested tensors picked?"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

_TORCH_INTEGERS = (np.dtype(np.uint8), np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64))


def to_tensors(column: Any, device: torch.device, *, floats: torch.dtype = torch.float32) -> Any:
    """Turn arrays, lists or tensors, nested in mappings or not, into contiguous tensors on ``device``.

    Fractions become ``floats`` and integers that torch does not calculate with int64; all else keeps its dtype. Memory
    is shared where nothing has to be converted, and never written to.
    """
    if isinstance(column, Mapping):
        return {key: to_tensors(child, device, floats=floats) for key, child in column.items()}
    tensor = column.detach() if isinstance(column, Tensor) else _from_numpy(np.asarray(column))
    if tensor.is_floating_point():
        tensor = tensor.to(floats)
    return tensor.to(device).contiguous()


def take(column: Any, rows: Tensor, device: torch.device) -> Any:
    """Copy rows of nested tensors to ``device``."""
    return _map(lambda leaf: moved(leaf.index_select(0, rows), device), column)


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """Return ``tensor`` on ``device``. The host does not wait until it is there: what comes next on the device does."""
    if device.type == "cuda" and tensor.is_cpu:
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def copied(column: Any) -> Any:
    """Copy nested tensors."""
    return _map(torch.clone, column)


def fill(column: Any, values: Any) -> None:
    """Overwrite nested tensors with others of the same shapes."""
    if isinstance(column, Mapping):
        for key, child in column.items():
            fill(child, values[key])
    else:
        column.copy_(values)


def split_rows(column: Any, size: int) -> Sequence[Any]:
    """Cut nested tensors into views of ``size`` rows; the last may be shorter."""
    if isinstance(column, Mapping):
        parts = {key: split_rows(child, size) for key, child in column.items()}
        return [dict(zip(parts, piece, strict=True)) for piece in zip(*parts.values(), strict=True)]
    return column.split(size)  # type: ignore[no-any-return]  # a tensor gives a tuple of tensors


def slice_rows(column: Any, begin: int, end: int) -> Any:
    """View the rows ``[begin, end)`` of nested tensors."""
    return _map(lambda leaf: leaf[begin:end], column)


def concatenate(pieces: Sequence[Any]) -> Any:
    """Put rows of nested tensors end to end."""
    if isinstance(pieces[0], Mapping):
        return {key: concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
    return torch.cat(list(pieces))


def rows_of(column: Any) -> int:
    """Count the rows of a nested column."""
    while isinstance(column, Mapping):
        column = next(iter(column.values()))
    return len(column)


def row_bytes(column: Any) -> int:
    """Count the bytes of one row of a nested column."""
    if isinstance(column, Mapping):
        return sum(row_bytes(child) for child in column.values())
    return int(column.nbytes) // max(len(column), 1)


def _map(fn: Callable[[Tensor], Any], column: Any) -> Any:
    if isinstance(column, Mapping):
        return {key: _map(fn, child) for key, child in column.items()}
    return fn(column)


def _from_numpy(array: np.ndarray) -> Tensor:
    if array.dtype.kind in "iu" and array.dtype not in _TORCH_INTEGERS:
        array = array.astype(np.int64)
    elif array.dtype.kind == "f" and array.dtype not in (np.float16, np.float32, np.float64):
        array = array.astype(np.float64)
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    with warnings.catch_warnings():
        # A read-only array (a memory-mapped file, say) is only read here.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable", category=UserWarning)
        return torch.from_numpy(array)
