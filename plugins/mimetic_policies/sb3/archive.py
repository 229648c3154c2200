"""What is in a stable-baselines3 zip? Settings as JSON and weights as tensors; no pickle in it is ever run.

Nothing is unpacked to disk, so the names of its members lead nowhere; only the two that are known are read.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mimetic.errors import DataError

EXPECTED = "a zip that stable-baselines3's `model.save` wrote"
DATA, WEIGHTS = "data", "policy.pth"
MAX_BYTES: Mapping[str, int] = {DATA: 256 * 2**20, WEIGHTS: 4 * 2**30}
"""Of a member, unpacked: pickles of everything around a policy take a megabyte, weights rarely hundreds."""

MAX_RATIO = 100
"""How much smaller a member may be packed than unpacked: JSON shrinks to a tenth, weights hardly."""

_WHAT_TORCH_RAISES = (
    pickle.UnpicklingError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    EOFError,
)


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """A zip's settings and weights."""

    path: Path
    data: Mapping[str, Any]  # what `model.save` wrote of the algorithm, pickles in it as text
    weights: Mapping[str, torch.Tensor]


def read_archive(path: Path) -> Archive:
    """Read a zip of any age and algorithm.

    Raises:
        DataError: there is no such file, or it is no such zip; names the file and what was expected.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return Archive(path, _settings(archive), _weights(archive))
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file{_with_suffix(path)}; expected {EXPECTED}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}); expected {EXPECTED}") from error
    except DataError as error:
        raise DataError(f"{path}: {error}; expected {EXPECTED} (nothing in it was run)") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise DataError(f"{path}: damaged, or no zip ({error}); expected {EXPECTED}") from error


def _with_suffix(path: Path) -> str:
    longer = path.with_name(f"{path.name}.zip")
    return f" (there is {longer})" if os.path.exists(longer) else ""


def _settings(archive: zipfile.ZipFile) -> Mapping[str, Any]:
    content = _member(archive, DATA)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"its member {DATA!r} is no JSON ({error})") from error
    if not isinstance(data, dict):
        raise DataError(f"its member {DATA!r} is a {type(data).__name__}, no mapping")
    return data


def _weights(archive: zipfile.ZipFile) -> Mapping[str, torch.Tensor]:
    content = _member(archive, WEIGHTS)
    _require_stored(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no torch wrote such a file, just before it is refused
            weights = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (
        pickle.UnpicklingError,
        RuntimeError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        EOFError,
    ) as error:
        raise DataError(f"its member {WEIGHTS!r} {_said(error)}") from error
    if not isinstance(weights, dict) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in weights.items()
    ):
        raise DataError(f"its member {WEIGHTS!r} is no mapping from names to tensors")
    for name, value in weights.items():
        _require_plain(name, value)
    return weights


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Unpack one member into memory, unless it is a bomb."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise DataError(_without(name, archive.namelist())) from None
    if info.file_size > MAX_BYTES[name]:
        raise DataError(f"its member {name!r} has {info.file_size:,} bytes; at most {MAX_BYTES[name]:,} are read")
    if info.file_size > MAX_RATIO * max(info.compress_size, 1):
        raise DataError(f"its member {name!r} is packed to less than a {MAX_RATIO}th of its size")
    return archive.read(info)


def _without(name: str, names: list[str]) -> str:
    if "parameter_list" in names:
        return "written by stable-baselines 2, with weights for TensorFlow, which cannot be read"
    if any(each.endswith("data.pkl") for each in names):
        return (
            "written by a policy's own `save` or by torch.save, whose pickle could run code: load it where you trust "
            "it, and save it with mimetic.save_policy"
        )
    return f"has no member {name!r}"


def _require_stored(content: bytes) -> None:
    """Refuse packed weights: torch writes a zip of its own and packs nothing, so that would be a bomb."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise DataError(f"its member {WEIGHTS!r} is packed in a way that torch never writes")


def _require_plain(name: str, value: torch.Tensor) -> None:
    """Refuse a tensor that claims more numbers than it brings."""
    if value.layout is not torch.strided or value.device.type != "cpu" or value.is_quantized:
        raise DataError(f"its weight {name!r} is no plain tensor")
    if value.numel() * value.element_size() > value.untyped_storage().nbytes():
        raise DataError(f"its weight {name!r} claims shape {tuple(value.shape)} and brings fewer numbers")


def _said(error: BaseException) -> str:
    """Say what torch found, without its pages of advice, which end in how to run the pickle after all."""
    named = re.search(r"GLOBAL ([\w.]+)", str(error))
    if named:
        return f"names {named[1]}, which is no weight"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"is damaged, or holds more than weights ({lines[0][:200] if lines else type(error).__name__})"
