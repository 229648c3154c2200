"""What an observation is for arrays: one array, or a mapping of arrays to any depth, with one row a step.

Everything here works on both forms, so that no other module asks which one it holds. A leaf's *dotted key* is
``obs`` for a single array and ``obs.<key>.<key>`` inside mappings, where ``%`` and ``.`` inside a key are written
``%25`` and ``%2E``; the native dataset uses the same names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from mimetic.errors import DataError

Observations: TypeAlias = "np.ndarray | Mapping[str, Observations]"
"""One array ``(n, *O)``, or a mapping of such arrays, nested to any depth."""

Leaf = TypeVar("Leaf")


def as_array(value: Any, name: str) -> np.ndarray:
    """View ``value`` as an array without copying one; ``name`` is what an error calls it."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: cannot be seen as one array ({error}); expected rows of equal shape") from error


def as_observations(value: Any, name: str = "obs") -> Observations:
    """View ``value`` as observations: arrays stay as they are, mappings become plain dicts of arrays."""
    if not isinstance(value, Mapping):
        return as_array(value, name)
    if not value:
        raise DataError(f"{name}: an empty mapping; expected at least one key with an array")
    for key in value:
        if not isinstance(key, str):
            raise DataError(f"{name}: the key {key!r} is of type {type(key).__name__}; expected text")
    return {key: as_observations(child, _join(name, key)) for key, child in value.items()}


def map_obs(fn: Callable[[np.ndarray], Any], obs: Observations) -> Any:
    """Apply ``fn`` to every array and keep the structure around the results."""
    if isinstance(obs, Mapping):
        return {key: map_obs(fn, child) for key, child in obs.items()}
    return fn(obs)


def obs_leaves(obs: Observations, prefix: str = "obs") -> dict[str, np.ndarray]:
    """Return every array under its dotted key."""
    return {prefix: obs} if isinstance(obs, np.ndarray) else dict(_walk(obs, prefix))


def obs_from_leaves(leaves: Mapping[str, Leaf], prefix: str = "obs") -> Any:
    """Build the structure back that :func:`obs_leaves` took apart; other keys than ``prefix`` and below are ignored.

    Raises:
        DataError: nothing is called ``prefix``, or a name is used for an array and for a mapping.
    """
    if prefix in leaves:
        if any(key.startswith(f"{prefix}.") for key in leaves):
            raise DataError(f"{prefix!r} is the name of an array and of a mapping; expected one of them")
        return leaves[prefix]
    tree: dict[str, Any] = {}
    for name, leaf in leaves.items():
        if not name.startswith(f"{prefix}."):
            continue
        *parents, last = (unescape_key(part) for part in name[len(prefix) + 1 :].split("."))
        branch = tree
        for key in parents:
            branch = branch.setdefault(key, {})
            if not isinstance(branch, dict):
                raise DataError(f"{name!r}: {key!r} is the name of an array and of a mapping; expected one of them")
        if last in branch:
            raise DataError(f"{name!r} is the name of an array and of a mapping; expected one of them")
        branch[last] = leaf
    if not tree:
        raise DataError(f"no column is called {prefix!r} or '{prefix}.<key>'; there are: {', '.join(sorted(leaves))}")
    return tree


def escape_key(key: str) -> str:
    """Write a key so that it holds no dot."""
    return key.replace("%", "%25").replace(".", "%2E")


def unescape_key(key: str) -> str:
    """Read what :func:`escape_key` wrote."""
    return key.replace("%2E", ".").replace("%25", "%")


def n_rows(obs: Observations, name: str = "obs") -> int:
    """Count the rows; arrays of one mapping must agree."""
    if isinstance(obs, np.ndarray) and obs.ndim:
        return len(obs)
    counts = {key: _rows_of(leaf, key) for key, leaf in obs_leaves(obs, name).items()}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{key} has {count}" for key, count in counts.items())
        raise DataError(f"{name}: the arrays differ in length: {found}")
    return next(iter(counts.values()))


def take_rows(obs: Observations, index: Any) -> Any:
    """Index every array: a slice gives views, a number one row, an array of numbers or bools a copy."""
    return map_obs(lambda leaf: leaf[index], obs)


def stack_obs(rows: Sequence[Observations]) -> Observations:
    """Put single observations on top of each other; all must have one structure, one shape and one dtype."""
    stacked: Observations = _merge(rows, lambda leaves, _: np.stack(leaves))
    return stacked


def concatenate_obs(pieces: Sequence[Observations]) -> Observations:
    """Put rows of observations end to end; all must have one structure, one shape and one dtype."""
    joined: Observations = _merge(pieces, lambda leaves, _: np.concatenate(leaves))
    return joined


def obs_difference(a: Observations, b: Observations, name: str = "obs") -> str | None:
    """Say how the structure, row shape or dtype of two observations differ; None when they agree."""
    first, second = obs_leaves(a, name), obs_leaves(b, name)
    if set(first) != set(second):
        return f"{name} has the arrays {', '.join(sorted(first))} against {', '.join(sorted(second))}"
    for key, leaf in first.items():
        difference = column_difference(leaf, second[key], key)
        if difference:
            return difference
    return None


def column_difference(a: np.ndarray, b: np.ndarray, name: str) -> str | None:
    """Say how the row shape or dtype of two columns differ; None when they agree."""
    if a.shape[1:] != b.shape[1:]:
        return f"{name} has rows of shape {a.shape[1:]} against {b.shape[1:]}"
    if a.dtype != b.dtype:
        return f"{name} has dtype {a.dtype} against {b.dtype}"
    return None


def _merge(pieces: Sequence[Observations], merge: Callable[[list[np.ndarray], str], np.ndarray]) -> Any:
    if not pieces:
        raise DataError("no observations to put together")
    all_leaves = [obs_leaves(piece) for piece in pieces]
    first = all_leaves[0]
    merged: dict[str, np.ndarray] = {}
    for key, leaf in first.items():
        for number, leaves in enumerate(all_leaves):
            if set(leaves) != set(first):
                raise DataError(f"observations 0 and {number}: arrays {sorted(first)} against {sorted(leaves)}")
            if leaves[key].dtype != leaf.dtype:
                raise DataError(f"observations 0 and {number}: {key} is {leaf.dtype} against {leaves[key].dtype}")
        try:
            merged[key] = merge([leaves[key] for leaves in all_leaves], key)
        except ValueError as error:
            shapes = sorted({leaves[key].shape for leaves in all_leaves}, key=repr)
            raise DataError(f"{key}: shapes {', '.join(map(str, shapes))} do not go together") from error
    return obs_from_leaves(merged)


def _walk(obs: Observations, name: str) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(obs, Mapping):
        for key, child in obs.items():
            yield from _walk(child, _join(name, key))
    else:
        yield name, obs


def _join(name: str, key: str) -> str:
    return f"{name}.{escape_key(key)}"


def _rows_of(leaf: np.ndarray, name: str) -> int:
    if leaf.ndim == 0:
        raise DataError(f"{name}: a single number; expected an array with one row a step")
    return len(leaf)
