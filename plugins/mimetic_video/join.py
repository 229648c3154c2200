"""How do finished films become one without encoding them again?"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mimetic.errors import TargetExistsError
from mimetic_video.encoder import file_url, run_ffmpeg
from mimetic_video.gif import join_gif


@dataclass(frozen=True, slots=True)
class Part:
    """A finished film, to be joined with others of the same size, rate and format."""

    path: Path
    n_frames: int
    fps: float


def join_films(parts: Sequence[Part], target: Path) -> None:
    """Write the parts one after the other into a new file; it appears under its name when it is complete.

    Raises:
        TargetExistsError: Something is there already.
        EncoderError: A part cannot be read, or the file not be written.
    """
    if target.exists():
        raise TargetExistsError(f"{target}: exists already, and a video never overwrites anything")
    unfinished = target.with_name(f".{target.stem}.unfinished{target.suffix}")
    try:
        if target.suffix == ".gif":
            join_gif([part.path for part in parts], unfinished)
        else:
            _join_mp4(parts, unfinished)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _join_mp4(parts: Sequence[Part], target: Path) -> None:
    """Let ffmpeg copy the encoded frames; a file in fragments does not say how long it is, so the list does."""
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "parts.txt"
        listing.write_text("".join(_listed(part) for part in parts), encoding="utf-8")
        source = ["-f", "concat", "-safe", "0", "-i", file_url(listing)]
        run_ffmpeg(["-y", *source, "-c", "copy", "-movflags", "+faststart", file_url(target)], target)


def _listed(part: Part) -> str:
    quoted = file_url(part.path.absolute()).replace("'", r"'\''")
    return f"file '{quoted}'\nduration {part.n_frames / part.fps:.6f}\n"
