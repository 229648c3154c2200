"""How does a log file stay whole? It is created once, flushed line by line and never written over."""

import os
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from mimetic import ConfigError, TargetExistsError


class LogFile:
    """A text file that grows by whole lines; closed at the latest when nothing refers to it any more."""

    def __init__(self, path: Path) -> None:
        """Create ``path``.

        Raises:
            TargetExistsError: something is there already.
        """
        self.path = path
        try:
            handle = path.open("x", encoding="utf-8", newline="")
        except FileExistsError:
            raise TargetExistsError(
                f"{path}: a log of another run is there, and is not written over; choose another folder"
            ) from None
        self._hold(handle)

    def append(self, text: str) -> None:
        """Write ``text``, which ends with a line end, and hand it to the operating system."""
        self._handle.write(text)
        self._handle.flush()

    def replace(self, texts: Iterable[str]) -> None:
        """Put ``texts`` in place of the whole content, in one step that a crash cannot tear."""
        draft = self.path.with_name(self.path.name + ".tmp")
        with draft.open("w", encoding="utf-8", newline="") as handle:
            handle.writelines(texts)
        self._closer()
        try:
            os.replace(draft, self.path)
        finally:
            self._hold(self.path.open("a", encoding="utf-8", newline=""))

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        self._closer()

    def _hold(self, handle: TextIO) -> None:
        self._handle = handle
        self._closer = weakref.finalize(self, handle.close)


def required_folder(logger: str, folder: Path | None) -> Path:
    """Return ``folder``; a logger that writes files cannot do without."""
    if folder is None:
        raise ConfigError(f"logger {logger!r} writes files, and no folder was given for them")
    return folder
