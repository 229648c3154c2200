"""Does one column fit one space? Shapes, dtypes, finite numbers, values: every row is looked at, in pieces.

A row's place in words ("trajectory 0 step 5") comes from a function of the row's number, so that the same checks
serve trajectories, single steps and batches.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mimetic.types.observations import Observations, escape_key, obs_from_leaves, obs_leaves

Where: TypeAlias = Callable[[int], str]
Space: TypeAlias = gym.Space[Any]

PIECE_BYTES = 2**24
"""How much of a column is looked at at once: a mapped file larger than the memory can be checked."""


@dataclass(slots=True)
class Findings:
    """What was found so far. ``subject`` begins each sentence."""

    subject: str = "demonstrations"
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Note what stops a training."""
        self.faults.append(f"{self.subject}: {text}")

    def note(self, text: str) -> None:
        """Note what does not."""
        self.notes.append(f"{self.subject}: {text}")


def fit_observations(
    findings: Findings, obs: Observations, space: Space | None, where: Where, *, prefix: str = ""
) -> Observations:
    """Check observations and return them in the shapes of their space; without a space, only numbers are checked."""
    leaves = obs_leaves(obs)
    wanted: Mapping[str, Space | None] = dict.fromkeys(leaves) if space is None else _space_leaves(space, "obs")
    if set(leaves) != set(wanted):
        findings.fault(f"{prefix}observations have {_keys(leaves)}; the space has {_keys(wanted)}: {space}")
        return obs
    fitted = {
        name: _fit(findings, leaf, wanted[name], where, f"{prefix}observation{_key(name)}", is_action=False)
        for name, leaf in leaves.items()
    }
    observations: Observations = obs_from_leaves(fitted)
    return observations


def fit_actions(findings: Findings, acts: np.ndarray, space: Space | None, where: Where) -> np.ndarray:
    """Check actions and return them in the shape of their space; whole numbers in floats become integers."""
    fitted = _fit(findings, acts, space, where, "action", is_action=True)
    if isinstance(space, spaces.Box):
        _report_bounds(findings, fitted, space)
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary) and not findings.faults:
        return fitted.astype(space.dtype) if fitted.dtype.kind == "f" else fitted
    return fitted


def non_finite(piece: np.ndarray) -> np.ndarray | None:
    """Mark numbers that are NaN or infinite; None when the sum shows that there are none."""
    if piece.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        is_plain = np.isfinite(piece.sum(dtype=np.float32 if piece.dtype == np.float16 else None))
    return None if is_plain else ~np.isfinite(piece)


def count_rows(column: np.ndarray, mark: Callable[[np.ndarray], np.ndarray | None]) -> tuple[int, int]:
    """Count the rows in which ``mark`` marks a number, and return the first of them too (-1: none)."""
    count, first = 0, -1
    rows = max(1, PIECE_BYTES // max(1, column.nbytes // max(1, len(column))))
    for start in range(0, len(column), rows):
        marked = mark(column[start : start + rows])
        if marked is None:
            continue
        is_marked = marked.reshape(len(marked), -1).any(axis=1)
        if first < 0 and is_marked.any():
            first = start + int(is_marked.argmax())
        count += int(is_marked.sum())
    return count, first


def plural(count: int, noun: str) -> str:
    """``1 action``, ``2 actions``; what follows a noun in quotes stays behind it."""
    word, space, rest = noun.partition(" '")
    return f"{count} {word}{'' if count == 1 else 's'}{space}{rest}"


def _fit(
    findings: Findings, column: np.ndarray, space: Space | None, where: Where, noun: str, *, is_action: bool
) -> np.ndarray:
    before = len(findings.faults)
    if column.dtype.kind not in "fiub":
        findings.fault(f"{noun}s have dtype {column.dtype}; expected numbers")
        return column
    if space is not None:
        column = _reshaped(findings, column, space, noun, is_action=is_action)
    count, first = count_rows(column, non_finite)
    if count:
        findings.fault(f"{plural(count, f'non-finite {noun}')}, first at {where(first)}")
    if space is not None and len(findings.faults) == before:
        _check_values(findings, column, space, where, noun)
    return column


def _reshaped(findings: Findings, column: np.ndarray, space: Space, noun: str, *, is_action: bool) -> np.ndarray:
    seen, wanted = column.shape[1:], space.shape
    if wanted is None:
        findings.fault(f"{noun}: the space is not supported: {space}")
        return column
    if seen == wanted:
        return column
    is_same_but_for_ones = [size for size in seen if size != 1] == [size for size in wanted if size != 1]
    is_flat = is_action and 1 in (len(seen), len(wanted)) and np.prod(seen) == np.prod(wanted)
    if is_same_but_for_ones or is_flat:
        return column.reshape(len(column), *wanted)
    findings.fault(f"{noun} shape {seen} != space shape {wanted}{_layout_hint(seen, wanted)}")
    return column


def _layout_hint(seen: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    if len(seen) != 3 or len(wanted) != 3:
        return ""
    if (seen[2], seen[0], seen[1]) == wanted:
        return " (height-width-channel images for a channel-first space: turn them by np.moveaxis(obs, -1, 1))"
    if (seen[1], seen[2], seen[0]) == wanted:
        return " (channel-first images for a height-width-channel space: turn them by np.moveaxis(obs, 1, -1))"
    return ""


def _check_values(findings: Findings, column: np.ndarray, space: Space, where: Where, noun: str) -> None:
    bounds = _whole_bounds(space)
    if bounds is None or (isinstance(space, spaces.Box) and column.dtype == space.dtype):
        return
    low, high = bounds
    if column.dtype.kind == "f":
        count, first = count_rows(column, lambda piece: piece != np.floor(piece))
        if count:
            findings.fault(
                f"{_one(column, first, noun, where)} is not whole{_more(count)}; expected {_expected(space)}"
            )
            return
    count, first = count_rows(column, lambda piece: (piece < low) | (piece > high))
    if count:
        findings.fault(f"{_one(column, first, noun, where)} is outside{_more(count)}; expected {_expected(space)}")


def _whole_bounds(space: Space) -> tuple[Any, Any] | None:
    """Return the least and the greatest value of a space of whole numbers; None for others."""
    if isinstance(space, spaces.Discrete):
        return int(space.start), int(space.start) + int(space.n) - 1
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    if isinstance(space, spaces.MultiBinary):
        return 0, 1
    if isinstance(space, spaces.Box) and space.dtype.kind in "iu":
        return np.iinfo(space.dtype).min, np.iinfo(space.dtype).max
    return (0, 1) if isinstance(space, spaces.Box) and space.dtype.kind == "b" else None


def _expected(space: Space) -> str:
    if isinstance(space, spaces.Discrete):
        low, high = _whole_bounds(space) or (0, 0)
        return f"whole numbers from {low} to {high} ({space})"
    if isinstance(space, spaces.Box):
        return f"whole numbers that {space.dtype} holds ({space})"
    return f"whole numbers of {space}"


def _one(column: np.ndarray, row: int, noun: str, where: Where) -> str:
    return f"{noun} {column[row]} at {where(row)}"


def _more(count: int) -> str:
    return f" ({count} rows in all)" if count > 1 else ""


def _report_bounds(findings: Findings, acts: np.ndarray, space: spaces.Box) -> None:
    if findings.faults or not (np.isfinite(space.low).any() or np.isfinite(space.high).any()):
        return
    count, _ = count_rows(acts, lambda piece: (piece < space.low) | (piece > space.high))
    if count:
        share = 100 * count / len(acts)
        findings.note(f"{count} of {len(acts)} transitions ({share:.1f}%) outside action space {space}; kept as is")


def _space_leaves(space: Space, name: str) -> dict[str, Space]:
    if not isinstance(space, spaces.Dict):
        return {name: space}
    leaves: dict[str, Space] = {}
    for key, sub in space.spaces.items():
        leaves |= _space_leaves(sub, f"{name}.{escape_key(key)}")
    return leaves


def _keys(leaves: Mapping[str, object]) -> str:
    keys = sorted(name.removeprefix("obs.") for name in leaves)
    return "one array" if keys == ["obs"] else f"the keys {', '.join(map(repr, keys))}"


def _key(name: str) -> str:
    return "" if name == "obs" else f" {name.removeprefix('obs.')!r}"
