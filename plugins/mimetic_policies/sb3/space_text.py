"""Which spaces does a zip name? Read from what gym or gymnasium printed of them, whatever their age.

Bounds are printed with eight digits, large arrays with dots in them, the parts of a Dict as ``Box(-1.0, 1.0, (3,),
float32)``: what cannot be read is not compared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mimetic.errors import DataError

_KINDS: Mapping[str, type[gym.Space[Any]]] = {
    kind.__name__: kind for kind in (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Dict)
}
_NUMBER = re.compile(r"[-+]?(?:inf|nan|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)")
_TYPE = re.compile(r"<class '([\w.]+)'>")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True, eq=False)
class SpaceText:
    """A space as a zip prints it; None for what it does not say."""

    kind: str  # Box, Discrete, MultiDiscrete, MultiBinary or Dict
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    counts: tuple[int, ...] | None = None  # how many categories or switches
    start: tuple[int, ...] | None = None  # the smallest of each category
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    parts: Mapping[str, SpaceText] | None = None  # of a Dict, in its order

    def __str__(self) -> str:
        """Read like a space."""
        if self.parts is not None:
            return f"Dict({', '.join(f'{key!r}: {part}' for key, part in self.parts.items())})"
        if self.kind == "Box":
            return f"Box(shape={self.shape}, dtype={self.dtype})"
        return f"{self.kind}({', '.join(map(str, self.counts or ('?',)))})"


def read_space(entry: object) -> SpaceText:
    """Read what a zip says about a space.

    Raises:
        DataError: it says nothing, or names a kind of space that is not known.
    """
    if not isinstance(entry, Mapping):
        raise DataError("is not stated")
    named = _TYPE.fullmatch(str(entry.get(":type:")))
    kind = named[1].rpartition(".")[2] if named else ""
    if kind not in _KINDS:
        raise DataError(f"is {named[1] if named else 'of no known kind'}; known are {', '.join(_KINDS)}")
    shape = entry.get("_shape", entry.get("shape"))
    dtype = entry.get("dtype")
    return SpaceText(
        kind,
        shape=tuple(shape) if isinstance(shape, list) and all(type(size) is int for size in shape) else None,
        dtype=dtype if isinstance(dtype, str) else None,
        counts=_whole(entry.get("nvec", entry.get("n"))),
        start=_whole(entry.get("start")),
        low=_numbers(entry.get("low")),
        high=_numbers(entry.get("high")),
        parts=_parts(str(entry.get("spaces"))) if kind == "Dict" else None,
    )


def difference(
    text: SpaceText,
    space: gym.Space[Any],
    role: Literal["observation", "action"],
    *,
    any_dtype: Collection[str] = (),
) -> str | None:
    """Say in what a zip's space and an environment's differ, or None when the policy can act there.

    ``any_dtype``: the keys whose dtype need not be the same ("" for an observation that is one array).
    Bounds of observations may differ, and so may the width of floats: networks calculate in float32.
    """
    if not isinstance(space, _KINDS[text.kind]):
        return f"{text} is a {text.kind}, {space} is a {type(space).__name__}"
    if text.parts is not None:
        return _difference_in_parts(text.parts, space, any_dtype)
    if text.shape is not None and text.shape != space.shape:
        return f"shape {text.shape} is not shape {space.shape}"
    if text.kind == "Box" and "" not in any_dtype and not _same_dtype(text.dtype, space.dtype):
        return f"dtype {text.dtype} is not dtype {space.dtype}"
    for said, own in ((text.counts, _counts(space)), (text.start, _start(space))):
        if said is not None and own is not None and said != own:
            return f"{said} is not {own}"
    if role == "action" and isinstance(space, spaces.Box):
        for name, bound in (("low", text.low), ("high", text.high)):
            if bound is not None and not _same_bound(bound, getattr(space, name)):
                return f"its {name} {bound.tolist()} is not {getattr(space, name).ravel().tolist()}"
    return None


def _difference_in_parts(
    parts: Mapping[str, SpaceText], space: gym.Space[Any], any_dtype: Collection[str]
) -> str | None:
    assert isinstance(space, spaces.Dict)
    if set(parts) != set(space.spaces):
        return f"keys {sorted(parts)} are not keys {sorted(space.spaces)}"
    for key, part in parts.items():
        found = difference(part, space.spaces[key], "observation", any_dtype=("",) if key in any_dtype else ())
        if found is not None:
            return f"key {key!r}: {found}"
    return None


def _same_dtype(text: str | None, dtype: np.dtype[Any] | None) -> bool:
    both_float = text is not None and text.startswith("float") and dtype is not None and dtype.kind == "f"
    return text is None or both_float or text == str(dtype)


def _counts(space: gym.Space[Any]) -> tuple[int, ...] | None:
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    if isinstance(space, spaces.MultiDiscrete):
        return tuple(int(size) for size in space.nvec.ravel())
    if isinstance(space, spaces.MultiBinary):
        return (space.n,) if isinstance(space.n, int) else tuple(int(size) for size in space.n)
    return None


def _start(space: gym.Space[Any]) -> tuple[int, ...] | None:
    return tuple(int(first) for first in np.ravel(space.start)) if hasattr(space, "start") else None


def _same_bound(said: np.ndarray, own: np.ndarray) -> bool:
    """Compare to the digits that were printed; what no number reaches is infinite."""
    if said.size != own.size:
        return False
    first, second = (np.where(np.abs(each) > 1e30, np.copysign(np.inf, each), each) for each in (said, own.ravel()))
    return bool(np.allclose(first, second, rtol=1e-5, atol=1e-7))


# --- what is printed --------------------------------------------------------------------------------------------


def _whole(value: object) -> tuple[int, ...] | None:
    """Read ``3``, ``'3'``, ``[3, 2]`` or ``'[3 2]'``."""
    if value is None or "..." in str(value):
        return None
    return tuple(int(digits) for digits in re.findall(r"-?\d+", str(value)[:100_000])[:10_000] if len(digits) < 20)


def _numbers(value: object) -> np.ndarray | None:
    """Read ``'[-1. inf]'``, unless it was abbreviated."""
    if not isinstance(value, str) or "..." in value:
        return None
    return np.array([float(number) for number in _NUMBER.findall(value)])


def _parts(text: str) -> dict[str, SpaceText]:
    """Read ``{'a': Box(...), ...}``, as newer releases print it, or ``OrderedDict([('a', Box(...)), ...])``."""
    inside = re.sub(r"^OrderedDict\(|\)$", "", text.strip())[1:-1] if text.startswith("OrderedDict(") else text[1:-1]
    parts = {}
    for item in _split(inside):
        pair = item[1:-1] if item.startswith("(") else item
        key, _, printed = _first_text(pair)
        parts[key] = _printed(printed)
    if not parts:
        raise DataError(f"is a Dict whose parts cannot be read from {text[:100]!r}")
    return parts


def _first_text(pair: str) -> tuple[str, str, str]:
    """Split ``'key': Box(...)`` or ``'key', Box(...)`` behind the key."""
    found = re.match(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*([:,])\s*""", pair)
    if found is None:
        raise DataError(f"is a Dict with a part that cannot be read: {pair[:100]!r}")
    return str(ast.literal_eval(found[1])), found[2], pair[found.end() :]


def _printed(text: str) -> SpaceText:
    """Read ``Discrete(4)``, ``MultiBinary(2)``, ``MultiDiscrete([2 3])``, ``Box(-1.0, 1.0, (3,), float32)``."""
    kind, _, inside = text.strip().partition("(")
    arguments = [part for part in _split(inside[:-1]) if not part.startswith("start=")]
    if kind == "Box":  # gym before 0.17.3 prints the shape alone
        *_, shape, dtype = arguments if "float" in inside or "int" in inside else (inside[:-1], "")
        return SpaceText(kind, shape=_whole(shape), dtype=dtype or None)
    if kind not in ("Discrete", "MultiBinary", "MultiDiscrete"):
        raise DataError(f"is a Dict with {text[:100]!r} in it; the networks of stable-baselines3 take no such part")
    counts = _whole(arguments[0]) if arguments else None
    return SpaceText(kind, counts=counts)


def _split(text: str) -> Iterator[str]:
    """Split at commas that stand outside of brackets and quotes."""
    depth, quote, start, skip = 0, "", 0, False
    for index, character in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip, quote = character == "\\", "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in _OPENING) - (character in _CLOSING)
            if character == "," and depth == 0:
                yield text[start:index].strip()
                start = index + 1
    if text[start:].strip():
        yield text[start:].strip()
