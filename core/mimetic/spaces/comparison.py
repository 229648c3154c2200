"""Which spaces are supported, and in what do two differ? The answers are sentences for people."""

from __future__ import annotations

from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mimetic.errors import SpaceError
from mimetic.types.observations import escape_key

Role = Literal["action", "observation"]

_SUPPORTED_ACTIONS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
_BEYOND_ANY_NUMBER = 1e30
"""Bounds of at least this size say "unbounded": older gymnasium wrote float32's largest number for it."""


def refuse_unsupported(space: gym.Space[Any], role: Role) -> None:
    """Raise SpaceError, naming the space, when policies of this project cannot take it in this role."""
    if role == "observation" and isinstance(space, spaces.Dict):
        if not space.spaces:
            raise SpaceError("the observation space is a Dict without keys; a policy needs at least one")
        for sub in space.spaces.values():
            refuse_unsupported(sub, role)
        return
    if not isinstance(space, _SUPPORTED_ACTIONS):
        known = ", ".join(kind.__name__ for kind in _SUPPORTED_ACTIONS)
        dicts = " and Dict (nested ones too)" if role == "observation" else ""
        raise SpaceError(
            f"{type(space).__name__} is not supported as {role} space, or inside it: {space}. Supported are {known}"
            f"{dicts}; wrap the environment so that it offers one of these"
        )
    if isinstance(space, spaces.Box) and space.dtype.kind not in "fiub":
        raise SpaceError(f"a Box of dtype {space.dtype} is not supported as {role} space: {space}")
    if not np.prod(space.shape or (), dtype=int):
        raise SpaceError(f"{space} holds nothing: its shape is {space.shape}")


def space_difference(first: gym.Space[Any], second: gym.Space[Any], *, bounds: bool = True) -> str | None:
    """Say in what two spaces differ, or None when data of one is data of the other.

    Bounds are compared to float tolerance, and any two that no number reaches are the same bound;
    ``bounds=False`` leaves the bounds of a Box out. A nested Dict is the Dict of its parts under dotted keys.
    """
    if type(first) is not type(second):
        return f"{first} is a {type(first).__name__}, {second} is a {type(second).__name__}"
    if isinstance(first, spaces.Dict) and isinstance(second, spaces.Dict):
        return _dict_difference(first, second, bounds)
    if first.shape != second.shape:
        return f"shape {first.shape} is not shape {second.shape}{_channel_hint(first, second)}"
    if first.dtype != second.dtype:
        return f"dtype {first.dtype} is not dtype {second.dtype}"
    if isinstance(first, spaces.Box) and isinstance(second, spaces.Box):
        same = not bounds or (_same_bounds(first.low, second.low) and _same_bounds(first.high, second.high))
        return None if same else f"the bounds of {first} are not those of {second}"
    return None if first == second else f"{first} is not {second}"


def is_channel_transpose(first: gym.Space[Any], second: gym.Space[Any]) -> bool:
    """Whether one space holds the images of the other with the channels on the other side."""
    a, b = first.shape or (), second.shape or ()
    if len(a) != 3 or len(b) != 3 or a == b or first.dtype != second.dtype:
        return False
    return b in ((a[2], a[0], a[1]), (a[1], a[2], a[0]))


def dotted_spaces(space: spaces.Dict) -> dict[str, gym.Space[Any]]:
    """List the parts of a nested Dict under their dotted keys, as the native dataset names them."""
    parts: dict[str, gym.Space[Any]] = {}
    for key, sub in space.spaces.items():
        inner = dotted_spaces(sub) if isinstance(sub, spaces.Dict) else {"": sub}
        parts |= {f"{escape_key(key)}.{name}".rstrip("."): part for name, part in inner.items()}
    return parts


def _is_nested(space: spaces.Dict) -> bool:
    return any(isinstance(sub, spaces.Dict) for sub in space.spaces.values())


def _dict_difference(first: spaces.Dict, second: spaces.Dict, bounds: bool) -> str | None:
    one, other = dict(first.spaces), dict(second.spaces)
    if _is_nested(first) != _is_nested(second):
        one, other = (dotted_spaces(space) if _is_nested(space) else dict(space.spaces) for space in (first, second))
    if set(one) != set(other):
        return f"keys {sorted(one)} are not keys {sorted(other)}"
    for key, sub in one.items():
        difference = space_difference(sub, other[key], bounds=bounds)
        if difference is not None:
            return f"key {key!r}: {difference}"
    return None


def _channel_hint(first: gym.Space[Any], second: gym.Space[Any]) -> str:
    if not is_channel_transpose(first, second):
        return ""
    return " (these look like the same images with their channels first in one and last in the other: wrap one of them)"


def _same_bounds(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.allclose(_reachable(first), _reachable(second), rtol=1e-6, atol=1e-8))


def _reachable(bound: np.ndarray) -> np.ndarray:
    values = bound.astype(np.float64)
    return np.where(np.abs(values) >= _BEYOND_ANY_NUMBER, np.copysign(np.inf, values), values)
