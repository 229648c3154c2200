"""How is a space written into a file? As plain data that another version of gymnasium or numpy reads again.

Infinities are text, since JSON has none; bounds that are one number throughout are written as that number; a Dict
is a list of pairs, since its order matters. What is read back is bit-equal to what was written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mimetic.errors import DataError, SpaceError

_TEXT_OF = {math.inf: "inf", -math.inf: "-inf"}
_NUMBER_OF = {text: number for number, text in _TEXT_OF.items()}


def space_to_json(space: gym.Space[Any]) -> dict[str, Any]:
    """Describe a space by plain data. Raises: SpaceError for a kind that has no such description."""
    kind = type(space)
    if kind not in _WRITERS:
        raise SpaceError(f"{space!r} cannot be written to a file: {_kinds()} can")
    return {"type": kind.__name__, **_WRITERS[kind](space)}


def space_from_json(data: Mapping[str, Any]) -> gym.Space[Any]:
    """Rebuild the space that ``space_to_json`` described. Raises: DataError when it describes none."""
    kind = data.get("type") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in _READERS:
        raise DataError(f"a space of type {kind!r} cannot be read: {_kinds()} can")
    try:
        space: gym.Space[Any] = _READERS[kind](data)
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise DataError(f"the description of a {kind} space is not complete or not valid: {error}") from error
    return space


def _write_box(space: spaces.Box) -> dict[str, Any]:
    if space.dtype.char in "gG":  # longer than what a JSON number is read as
        raise SpaceError(f"{space!r} cannot be written to a file: dtype {space.dtype} has no portable form")
    data = {
        "dtype": space.dtype.str,
        "shape": list(space.shape),
        "low": _write_numbers(space.low),
        "high": _write_numbers(space.high),
    }
    if space.dtype.kind != "f":  # integers hold no infinity, so whether a side is bounded is told beside them
        data["bounded"] = [_write_numbers(space.bounded_below), _write_numbers(space.bounded_above)]
    return data


def _read_box(data: Mapping[str, Any]) -> spaces.Box:
    dtype, shape = np.dtype(data["dtype"]), tuple(data["shape"])
    low, high = (_read_numbers(data[side], dtype, shape) for side in ("low", "high"))
    space = spaces.Box(low, high, shape, dtype=dtype)
    space.low, space.high = low, high  # gymnasium moves the largest integers by one
    bounded = data.get("bounded")
    below, above = (
        (np.asarray(low > -np.inf), np.asarray(high < np.inf))
        if bounded is None
        else (_read_numbers(side, np.dtype(bool), shape) for side in bounded)
    )
    space.bounded_below, space.bounded_above = below, above
    return space


def _write_discrete(space: spaces.Discrete) -> dict[str, Any]:
    return {"n": int(space.n), "start": int(space.start), "dtype": space.dtype.str}


def _read_discrete(data: Mapping[str, Any]) -> spaces.Discrete:
    space = spaces.Discrete(data["n"], start=data["start"])
    if space.dtype != np.dtype(data["dtype"]):  # gymnasium before 1.2 takes no dtype
        space = spaces.Discrete(data["n"], start=data["start"], dtype=np.dtype(data["dtype"]).type)
    return space


def _write_multi_discrete(space: spaces.MultiDiscrete) -> dict[str, Any]:
    return {"nvec": space.nvec.tolist(), "start": space.start.tolist(), "dtype": space.dtype.str}


def _read_multi_discrete(data: Mapping[str, Any]) -> spaces.MultiDiscrete:
    dtype = np.dtype(data["dtype"])
    nvec, start = (np.array(data[key], dtype) for key in ("nvec", "start"))
    return spaces.MultiDiscrete(nvec, dtype=dtype.type, start=start)


def _write_multi_binary(space: spaces.MultiBinary) -> dict[str, Any]:
    return {"n": space.n if isinstance(space.n, int) else [int(size) for size in space.n]}


def _read_multi_binary(data: Mapping[str, Any]) -> spaces.MultiBinary:
    return spaces.MultiBinary(data["n"])


def _write_dict(space: spaces.Dict) -> dict[str, Any]:
    return {"spaces": [[key, space_to_json(sub)] for key, sub in space.spaces.items()]}


def _read_dict(data: Mapping[str, Any]) -> spaces.Dict:
    return spaces.Dict([(key, space_from_json(sub)) for key, sub in data["spaces"]])


def _write_numbers(values: np.ndarray) -> Any:
    """One number when all are bit-equal, else nested lists; infinities as text."""
    flat = np.ascontiguousarray(values).reshape(-1)
    raw = flat.view(np.uint8).reshape(flat.size, -1)
    if flat.size and (raw == raw[0]).all():
        return _write_number(flat[0].item())
    return _map_nested(_write_number, values.tolist())


def _read_numbers(data: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    values = np.array(_map_nested(lambda item: _NUMBER_OF.get(item, item), data), dtype)
    return np.full(shape, values, dtype) if values.ndim == 0 else values.reshape(shape)


def _write_number(value: Any) -> Any:
    return _TEXT_OF.get(value, value) if isinstance(value, float) else value


def _map_nested(function: Any, data: Any) -> Any:
    return [_map_nested(function, item) for item in data] if isinstance(data, list) else function(data)


def _kinds() -> str:
    return ", ".join(_READERS)


_WRITERS: dict[type, Any] = {
    spaces.Box: _write_box,
    spaces.Discrete: _write_discrete,
    spaces.MultiDiscrete: _write_multi_discrete,
    spaces.MultiBinary: _write_multi_binary,
    spaces.Dict: _write_dict,
}
_READERS: dict[str, Any] = {
    "Box": _read_box,
    "Discrete": _read_discrete,
    "MultiDiscrete": _read_multi_discrete,
    "MultiBinary": _read_multi_binary,
    "Dict": _read_dict,
}
