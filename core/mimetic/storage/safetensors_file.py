"""How are arrays and a description kept in one file? As safetensors with exactly one metadata key, ``mimetic``.

The description is JSON with sorted keys, so that equal content is equal bytes: the format's own writer puts several
metadata keys in a random order. Reading maps the file into memory and copies nothing. Nothing is ever unpickled.
"""

import json
import math
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mimetic.errors import DataError, TargetExistsError, UntrustedFileError

METADATA_KEY = "mimetic"
MAX_HEADER_BYTES = 100_000_000
"""What the safetensors format allows."""

DTYPE_OF = {
    "BOOL": np.dtype(bool),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "F16": np.dtype("<f2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
}
"""The dtypes that the format and numpy share."""


@dataclass(frozen=True, slots=True, eq=False)
class SafetensorsFile:
    """What lies in a file: its description and its arrays, which are views of the file mapped into memory.

    Writing into an array changes this process's copy of it, never the file.
    """

    path: Path
    document: Mapping[str, Any]  # what the metadata key `mimetic` holds; has "kind" and "version"
    arrays: Mapping[str, np.ndarray]


# --- writing ----------------------------------------------------------------------------------------------------


def write_safetensors(
    path: Path, arrays: Mapping[str, np.ndarray], document: Mapping[str, Any], *, overwrite: bool = False
) -> None:
    """Write arrays and their description: complete, or not at all.

    Raises:
        DataError: an array has a dtype that the format has not; the message names it.
        TargetExistsError: ``path`` exists, and ``overwrite`` is false.
    """
    from safetensors.numpy import save_file

    storable = {name: _storable(array, name) for name, array in arrays.items()}
    metadata = {METADATA_KEY: json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)}
    write_atomically(path, lambda temporary: save_file(storable, temporary, metadata=metadata), overwrite=overwrite)


def write_json(path: Path, document: Mapping[str, Any], *, overwrite: bool = False) -> None:
    """Write a JSON document with sorted keys: complete, or not at all."""
    text = json.dumps(document, sort_keys=True, indent=1, allow_nan=False) + "\n"
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"), overwrite=overwrite)


def write_atomically(path: Path, write: Callable[[Path], object], *, overwrite: bool = False) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then give it its name.

    A kill at any moment leaves the old file or the new one, and at worst a folder ``.<name>.<random>.tmp`` beside it.

    Raises:
        TargetExistsError: ``path`` exists, and ``overwrite`` is false. Then ``path`` is untouched.
    """
    if not overwrite and os.path.lexists(path):
        raise _target_exists(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    workshop = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")  # safetensors has temporary files of its own
    workshop.mkdir()
    temporary = workshop / "new"
    try:
        temporary.touch()
        mode = temporary.stat().st_mode & 0o777  # as for any new file of this user; safetensors would keep it private
        write(temporary)
        temporary.chmod(mode)
        _sync(temporary)
        _give_name(temporary, path, overwrite=overwrite)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    _sync(path.parent)


def _give_name(temporary: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)  # unlike a rename, refuses a file that appeared in the meantime
    except FileExistsError:
        raise _target_exists(path) from None
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise _target_exists(path) from None
        os.replace(temporary, path)


def _target_exists(path: Path) -> TargetExistsError:
    return TargetExistsError(f"{path} exists already, and nothing was written; choose another path or overwrite it")


def _sync(path: Path) -> None:
    """Have what was written reach the disk; folders too, where the system allows it."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        if path.is_dir():  # Windows opens no folders
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _storable(array: np.ndarray, name: str) -> np.ndarray:
    """Contiguous and little-endian: the format's writer stores anything else wrongly, without a word."""
    dtype = array.dtype.newbyteorder("<")
    if dtype not in DTYPE_OF.values():
        known = ", ".join(sorted(map(str, DTYPE_OF.values())))
        raise DataError(f"column {name!r} has dtype {array.dtype}; the file format has {known}")
    return np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)  # ascontiguousarray makes 0-d arrays 1-d


# --- reading ----------------------------------------------------------------------------------------------------


def read_safetensors(path: Path) -> SafetensorsFile:
    """Map a file into memory and check its layout.

    Raises:
        DataError: there is no such file, it is incomplete, or it was not written by this project.
        UntrustedFileError: the file is a pickle; nothing in it was run.
    """
    header, start = _read_header(path)
    document = _document(path, header)
    raw = np.memmap(path, dtype=np.uint8, mode="c").view(np.ndarray)[start:]
    layout = {name: _placed(path, name, entry) for name, entry in header.items() if name != "__metadata__"}
    _require_gapless(path, [span for *_, span in layout.values()], len(raw))
    arrays = {name: raw[begin:end].view(dtype).reshape(shape) for name, (dtype, shape, (begin, end)) in layout.items()}
    return SafetensorsFile(path, document, arrays)


def read_document(path: Path) -> Mapping[str, Any]:
    """Read the description alone. Raises as :func:`read_safetensors`."""
    return _document(path, _read_header(path)[0])


def require_format(path: Path, document: Mapping[str, Any], kind: str, version: int) -> None:
    """Refuse a file that holds something else, or whose format is newer than ``version``.

    Raises:
        DataError: says what the file holds, or which version it has and what to do.
    """
    seen, written = document.get("kind"), document.get("version")
    if seen != kind:
        raise DataError(f"{path}: says that it holds {seen!r}; expected {kind!r}")
    if type(written) is not int or written < 1:
        raise DataError(f"{path}: its format version is {written!r}; expected a number from 1 to {version}")
    if written > version:
        raise DataError(
            f"{path}: written by a newer mimetic ({kind} format {written}; this one reads up to {version}); "
            "update mimetic to read it"
        )


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header and where the data start."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            first = file.read(8)
            length = int.from_bytes(first, "little")
            if len(first) < 8 or length > MAX_HEADER_BYTES or not 2 <= length <= size - 8:
                raise _foreign(path, first, size)
            text = file.read(length)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise _foreign(path, first, size) from None
    if not isinstance(header, dict):
        raise _foreign(path, first, size)
    return header, 8 + length


def _document(path: Path, header: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = header.get("__metadata__")
    text = metadata.get(METADATA_KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise DataError(f"{path}: a safetensors file of another program: its metadata have no key {METADATA_KEY!r}")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: its description is damaged ({error})") from error
    if not isinstance(document, dict):
        raise DataError(f"{path}: its description is a {type(document).__name__}; expected a mapping")
    return document


def _placed(path: Path, name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, int]]:
    """Return a column's dtype, shape and span of bytes."""
    try:
        dtype, shape, (begin, end) = DTYPE_OF[entry["dtype"]], tuple(entry["shape"]), entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path}: the place of column {name!r} is given as {entry!r}, which is not readable") from None
    if any(type(number) is not int or number < 0 for number in (*shape, begin, end)):
        raise DataError(f"{path}: the place of column {name!r} is given as {entry!r}, which is not readable")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise DataError(f"{path}: column {name!r} of {dtype} and shape {shape} lies in {end - begin} bytes")
    return dtype, shape, (begin, end)


def _require_gapless(path: Path, spans: list[tuple[int, int]], size: int) -> None:
    position = 0
    for begin, end in sorted(spans):
        if begin != position:
            raise DataError(f"{path}: columns overlap or leave a gap at byte {position} of the data")
        position = end
    if position != size:
        raise DataError(f"{path}: incomplete: its columns need {position} bytes, and {size} are there")


def _foreign(path: Path, first: bytes, size: int) -> DataError:
    expected = "expected a file that mimetic wrote (safetensors)"
    if first[:1] == b"\x80" and first[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return UntrustedFileError(f"{path}: a pickle, which could run code; nothing in it was run; {expected}")
    if first[:4] == b"PK\x03\x04":
        return DataError(f"{path}: a zip archive (such as .npz or a stable-baselines3 file); {expected}")
    if size < 8:
        return DataError(f"{path}: {'empty' if size == 0 else f'only {size} bytes long'}; {expected}")
    return DataError(f"{path}: not of a known format, or incomplete; {expected}")
