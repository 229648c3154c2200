"""Which folder does a run get, and how do its files come to lie there whole?"""

import itertools
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mimetic.errors import ConfigError, TargetExistsError

RUNS = Path("runs")
"""Where run folders are made when none is named, below the working folder."""


@dataclass(frozen=True, slots=True)
class RunDir:
    """The folder of one run or one evaluation. Nothing that was there before is ever written over."""

    path: Path
    made: bool  # whether this run made the folder

    @classmethod
    def create(
        cls, out: str | os.PathLike[str] | None, name: str, *, root: Path = RUNS, number_first: bool = False
    ) -> Self:
        """Take ``out`` when it is given, else the first free one of ``root/name``, ``root/name-2``, ...

        ``number_first`` calls the first one ``root/name-1``.

        Raises:
            TargetExistsError: ``out`` exists and is not an empty folder.
        """
        if out is None:
            return cls(_first_free(root, name, number_first=number_first), made=True)
        path = Path(out).absolute()
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not path.is_dir():
                raise TargetExistsError(f"{path}: is a file; name a folder that is new or empty") from None
            if any(path.iterdir()):
                raise TargetExistsError(
                    f"{path}: exists and is not empty, and nothing is written over; name a folder that is new or empty"
                ) from None
            return cls(path, made=False)
        return cls(path, made=True)

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        return self.path / name

    def write_text(self, name: str, text: str) -> Path:
        """Write a file in one step, and return its path."""
        return write_atomically(self.file(name), text)

    def write_json(self, name: str, data: Mapping[str, object]) -> Path:
        """Write ``data`` as JSON in one step, and return the path. Numbers that JSON cannot hold become null."""
        return self.write_text(name, json.dumps(_finite(data), indent=2, allow_nan=False, ensure_ascii=False) + "\n")

    def discard_if_empty(self) -> None:
        """Remove the folder when this run made it and wrote nothing: a run that could not start leaves no trace."""
        if self.made and not any(self.path.iterdir()):
            self.path.rmdir()


def write_atomically(path: Path, text: str) -> Path:
    """Write ``text`` beside ``path`` and rename it, so that a reader sees the old file or the new one, never half."""
    draft = path.with_name(f"{path.name}.tmp")
    draft.write_text(text, encoding="utf-8", newline="\n")
    os.replace(draft, path)
    return path


def _first_free(root: Path, name: str, *, number_first: bool) -> Path:
    if Path(name).name != name or name in ("", ".", ".."):
        raise ConfigError(f"name: {name!r} is no name for a folder: it must be one word of a path")
    for number in itertools.count(1):
        path = (root / (name if number == 1 and not number_first else f"{name}-{number}")).absolute()
        try:
            path.mkdir(parents=True)  # raises when another run took it in the meantime
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers do not end")


def _finite(data: object) -> object:
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return str(data) if isinstance(data, Path) else data
