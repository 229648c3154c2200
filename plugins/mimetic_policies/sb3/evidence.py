"""Did a policy learn from normalised observations? Asked when nobody said so: without them it would act badly.

The zip never holds the statistics. On-policy algorithms keep an unnormalised observation under VecNormalize alone;
off-policy ones always keep one, but then the last two observations tell in some cases.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from mimetic.errors import DataError
from mimetic_policies.sb3.inert_pickle import read_pickle
from mimetic_policies.sb3.pickled_arrays import array_of

if TYPE_CHECKING:
    from mimetic_policies.sb3.archive import Archive
    from mimetic_policies.sb3.space_text import SpaceText

Answer = Literal["yes", "no", "unknown"]
_ORIGINAL, _LAST = "_last_original_obs", "_last_obs"


def refuse_without_statistics(archive: Archive, space: SpaceText, *, on_policy: bool) -> None:
    """Raise DataError, saying what to write, when a policy seems to have learned from normalised observations."""
    answer = was_normalized(archive, space, on_policy=on_policy)
    siblings = list(_siblings(archive.path))
    if answer == "no" or (answer == "unknown" and not siblings):
        return
    reason = "the zip shows that VecNormalize was used" if answer == "yes" else f"beside it lies {siblings[0].name}"
    known = str(siblings[0]) if siblings else "FILE"
    raise DataError(
        f"{archive.path}: {reason}, and without its statistics the policy would see other observations than it "
        f"learned from. Name the file that `VecNormalize.save` wrote: sb3:path={archive.path},vecnormalize={known}; "
        "or say `vecnormalize=none` if it normalised rewards alone"
    )


def was_normalized(archive: Archive, space: SpaceText, *, on_policy: bool) -> Answer:
    """Say whether a policy learned under VecNormalize, as far as its zip shows it."""
    data = archive.data
    if data.get("_vec_normalize_env") is not None:
        return "yes"
    if on_policy:
        return ("no" if data[_ORIGINAL] is None else "yes") if _ORIGINAL in data else "unknown"
    original, last = _array(data.get(_ORIGINAL)), _array(data.get(_LAST))
    if original is None or last is None or original.shape != last.shape:
        return "unknown"
    if np.array_equal(original, last):
        return "no"  # under VecNormalize both are of the same step
    if original.dtype != last.dtype:
        return "yes"  # an environment gives one dtype; normalising changes it
    return "yes" if _within(original, space) and not _within(last, space) else "unknown"


def _array(entry: object) -> np.ndarray | None:
    """Return the array in a pickle of the zip, which is read and not run."""
    text = entry.get(":serialized:") if isinstance(entry, Mapping) else None
    if not isinstance(text, str):
        return None
    try:
        return array_of(read_pickle(base64.b64decode(text, validate=True)))
    except (DataError, binascii.Error):
        return None


def _within(obs: np.ndarray, space: SpaceText) -> bool:
    low, high = space.low, space.high
    rows = obs.reshape(len(obs) if obs.ndim else 1, -1).astype(np.float64)
    if low is None or high is None or not rows.size or not low.size == high.size == rows.shape[1]:
        return True
    slack = 1e-5 * (1.0 + np.abs(rows))
    return bool(((rows >= low - slack) & (rows <= high + slack)).all())


def _siblings(path: Path) -> Iterator[Path]:
    """Yield files beside a zip that are called as statistics are, by people and by stable-baselines3's own tools."""
    names = ("vecnormalize.pkl", "vec_normalize.pkl")
    yield from (found for name in names if (found := path.parent / f"{path.stem}_{name}").is_file())
    yield from (found for name in names if (found := path.parent / path.stem / name).is_file())
    prefix, _, steps = path.stem.removesuffix("_steps").rpartition("_")
    if path.stem.endswith("_steps") and (found := path.parent / f"{prefix}_vecnormalize_{steps}_steps.pkl").is_file():
        yield found
    yield from (found for name in names if (found := path.parent / name).is_file())
