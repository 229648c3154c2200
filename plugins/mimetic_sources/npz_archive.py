"""How is an .npz archive read without running anything in it? Its members one by one, never through pickle.

A member that lies uncompressed in the archive (``numpy.savez``) is mapped into memory; a compressed one
(``numpy.savez_compressed``) is inflated when it is read.
"""

import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mimetic.errors import DataError, UntrustedFileError

_LOCAL_HEADER = struct.Struct("<26xHH")
"""Of a member: the lengths of its name and of its extra field stand at bytes 26 and 28 of 30."""

_HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True, slots=True)
class Member:
    """One array in the archive."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool
    header_bytes: int


class NpzArchive:
    """An open .npz archive: what is in it is known, nothing is read yet."""

    def __init__(self, path: Path) -> None:
        """Open the archive and read the headers of its members.

        Raises:
            DataError: there is no such file, or it is no .npz archive. Nothing in it is run.
        """
        self.path = path
        self._zip = _open(path)
        members = (_member(path, self._zip, info) for info in self._zip.infolist() if info.filename.endswith(".npy"))
        self.members: Mapping[str, Member] = {member.name: member for member in members}
        if not self.members:
            self.close()
            raise DataError(f"{path}: a zip archive without a single array; expected an .npz archive of numpy")

    def __enter__(self) -> "NpzArchive":
        """Return the archive."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the archive; arrays that were read stay valid."""
        self.close()

    def close(self) -> None:
        """Close the archive; arrays that were read stay valid."""
        self._zip.close()

    def read(self, name: str, *, trust: bool = False) -> np.ndarray:
        """Return one array.

        Raises:
            UntrustedFileError: it holds pickled objects, and ``trust`` is false.
            DataError: it is damaged.
        """
        member = self.members[name]
        if member.dtype.hasobject and not trust:
            raise UntrustedFileError(
                f"{self.path}: column {name!r} holds pickled objects, which can run code when they are read; nothing "
                "was run. Convert it to numbers, or write `trust: true` for this one file if you trust its maker"
            )
        info = self._zip.getinfo(f"{name}.npy")
        try:
            if info.compress_type == zipfile.ZIP_STORED and not member.dtype.hasobject and 0 not in member.shape:
                return self._map(member, info)
            with self._zip.open(info) as file:
                return np.lib.format.read_array(file, allow_pickle=trust)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
            raise DataError(f"{self.path}: column {name!r} is damaged ({error})") from error

    def _map(self, member: Member, info: zipfile.ZipInfo) -> np.ndarray:
        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            name_bytes, extra_bytes = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        start = info.header_offset + _LOCAL_HEADER.size + name_bytes + extra_bytes + member.header_bytes
        order: Literal["F", "C"] = "F" if member.is_fortran else "C"
        mapped = np.memmap(self.path, member.dtype, "c", start, member.shape, order).view(np.ndarray)
        return mapped if mapped.flags.aligned else mapped.copy()  # numbers at odd addresses are slow, or refused


def _open(path: Path) -> zipfile.ZipFile:
    try:
        with path.open("rb") as file:
            first = file.read(2)
        return zipfile.ZipFile(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except zipfile.BadZipFile:
        expected = "expected an .npz archive of numpy"
        if first[:1] == b"\x80":
            said = "a pickle, which could run code; nothing in it was run"
            raise UntrustedFileError(f"{path}: {said}; {expected}") from None
        raise DataError(f"{path}: no .npz archive, or an incomplete one; {expected}") from None


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name = info.filename.removesuffix(".npy")
    try:
        with archive.open(info) as file:
            version = np.lib.format.read_magic(file)
            if version not in _HEADER_READERS:
                raise ValueError(f"version {version} of the .npy format")
            shape, is_fortran, dtype = _HEADER_READERS[version](file)
            return Member(name, dtype, shape, is_fortran, file.tell())
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path}: column {name!r} is damaged ({error})") from error
