"""How were observations normalised when a policy learned? Read from a pickled VecNormalize, which is never run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mimetic.errors import DataError
from mimetic_policies.sb3.inert_pickle import MAX_BYTES, Call, read_pickle
from mimetic_policies.sb3.pickled_arrays import array_of, name_of, number_of, told

if TYPE_CHECKING:
    import gymnasium as gym

EXPECTED = "what stable-baselines3's `VecNormalize.save` wrote"


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Mean and variance of every number of an observation, or of one key of it."""

    mean: np.ndarray  # (*O) float64
    var: np.ndarray  # (*O) float64


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What a VecNormalize did to observations: ``clip((obs - mean) / sqrt(var + epsilon), -clip_obs, clip_obs)``."""

    path: Path
    clip_obs: float
    epsilon: float
    moments: Mapping[str, Moments]  # by key of a Dict, "" for one array; empty when only rewards were normalised


def read_statistics(path: Path) -> Statistics:
    """Read the statistics that ``VecNormalize.save`` pickled, without unpickling them.

    Raises:
        DataError: there is no such file, or it holds something else; names the file and what was expected.
    """
    try:
        return _statistics(path, read_pickle(_content(path)))
    except DataError as error:
        raise DataError(f"{path}: {error}; expected {EXPECTED} (nothing in it was run)") from error


def check_shapes(statistics: Statistics, space: gym.Space[object]) -> None:
    """Compare the statistics with the space of observations. Raises: DataError."""
    for key, moments in statistics.moments.items():
        part = space.spaces.get(key) if hasattr(space, "spaces") else (space if not key else None)
        place = f" of {key!r}" if key else ""
        if part is None or moments.mean.shape != part.shape:
            shape = "no such key" if part is None else f"shape {part.shape}"
            raise DataError(
                f"{statistics.path}: statistics{place} of shape {moments.mean.shape}, and the observations have "
                f"{shape}; expected the file that was saved beside this policy"
            )


def _content(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise DataError(f"has {size:,} bytes; at most {MAX_BYTES:,} are read")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})") from error


def _statistics(path: Path, content: object) -> Statistics:
    name = name_of(content)
    if not isinstance(content, Call) or name is None or name.attribute != "VecNormalize":
        raise DataError(f"holds {told(content)}")
    state = content.state
    if not isinstance(state, dict):
        raise DataError("holds a VecNormalize without its state")
    moments = _all_moments(state) if state.get("norm_obs", True) is not False else {}
    clip_obs, epsilon = (_positive(state, key) for key in ("clip_obs", "epsilon"))
    return Statistics(path, clip_obs, epsilon, moments)


def _all_moments(state: Mapping[str, object]) -> dict[str, Moments]:
    rms = state.get("obs_rms")
    if isinstance(rms, dict):
        wanted = state.get("norm_obs_keys")
        keys = [key for key in wanted if isinstance(key, str)] if isinstance(wanted, list | tuple) else list(rms)
        missing = [key for key in keys if key not in rms]
        if missing:
            raise DataError(f"has no statistics of {missing[0]!r}, which it normalises")
        return {key: _moments(rms[key], f"obs_rms[{key!r}]") for key in keys}
    return {"": _moments(rms, "obs_rms")}


def _moments(value: object, place: str) -> Moments:
    if not isinstance(value, Call) or not isinstance(value.state, dict):
        raise DataError(f"its {place} is {told(value)} without mean and variance")
    mean, var = (_finite(value.state, key, place) for key in ("mean", "var"))
    if mean.shape != var.shape:
        raise DataError(f"its {place} has a mean of shape {mean.shape} and a variance of shape {var.shape}")
    if (var < 0).any():
        raise DataError(f"its {place} has a negative variance")
    return Moments(mean, var)


def _finite(state: Mapping[str, object], key: str, place: str) -> np.ndarray:
    try:
        array = array_of(state.get(key))
    except DataError as error:
        raise DataError(f"its {place}.{key} is {error}") from error
    if not np.isfinite(array).all():
        raise DataError(f"its {place}.{key} is not finite")
    return array.astype(np.float64)


def _positive(state: Mapping[str, object], key: str) -> float:
    try:
        number = number_of(state.get(key))
    except DataError as error:
        raise DataError(f"its {key} is {error}") from error
    if not (number > 0 and np.isfinite(number)):
        raise DataError(f"its {key} is {number}, not above zero")
    return number
