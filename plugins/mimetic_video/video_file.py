"""What lies on disk for one video: the film, and a note beside it that says what is in it."""

import json
import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mimetic_video.config import VideoFormat
from mimetic_video.encoder import Encoder

CONTENT_TYPES: Mapping[VideoFormat, str] = {"mp4": "video/mp4", "gif": "image/gif"}


@dataclass(slots=True)
class FilmedEpisode:
    """One episode in a file's note."""

    episode_id: int
    seed: int | None  # what reset was given
    start: int  # the frame of its reset
    length: int = 0  # in steps
    episode_return: float = 0.0
    terminated: bool = False
    truncated: bool = False

    def as_dict(self) -> dict[str, object]:
        """Say it in the words of the note."""
        return {
            "episode_id": self.episode_id,
            "seed": self.seed,
            "frames": [self.start, self.start + self.length + 1],
            "length": self.length,
            "return": self.episode_return,
            "terminated": self.terminated,
            "truncated": self.truncated,
        }


@dataclass(slots=True)
class Note:
    """What ``video.000000.meta.json`` says about the video beside it."""

    path: Path
    content_type: str
    fps: float
    episodes: list[FilmedEpisode] = field(default_factory=list)

    def write(self, *, complete: bool) -> None:
        """Write the note, replacing the one before as a whole."""
        content = {
            "episode_id": self.episodes[0].episode_id,
            "content_type": self.content_type,
            "fps": self.fps,
            "complete": complete,
            "episodes": [episode.as_dict() for episode in self.episodes],
        }
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        os.replace(unfinished, self.path)


class VideoRecorder:
    """One video file that is being written, and the note beside it."""

    def __init__(self, encoder: Encoder, note: Note, episode: FilmedEpisode) -> None:
        """Take a file that was just claimed; until it is closed, its note says that it is not complete."""
        self.path = encoder.path
        self.meta_path = note.path
        self._encoder = encoder
        self._note = note
        self._finalizer = weakref.finalize(self, _finish_quietly, encoder, note)
        note.episodes.append(episode)
        note.write(complete=False)

    @property
    def n_frames(self) -> int:
        """How many frames the file holds, those on their way included."""
        return self._encoder.n_frames

    def begin_episode(self, episode: FilmedEpisode) -> None:
        """Say that the next frame is the first of an episode."""
        self._note.episodes.append(episode)

    def write(self, frame: np.ndarray) -> None:
        """Add a frame to the file."""
        self._encoder.write(frame)

    def count_step(self, reward: float, terminated: bool, truncated: bool) -> None:
        """Note a step whose frame was added."""
        episode = self._note.episodes[-1]
        episode.length += 1
        episode.episode_return += reward
        episode.terminated, episode.truncated = bool(terminated), bool(truncated)

    def close(self) -> None:
        """Complete the file and its note. Harmless when called again.

        Raises:
            EncoderError: The file could not be written.
        """
        if self._finalizer.detach() is not None:
            self._encoder.close()
            self._note.write(complete=True)


def _finish_quietly(encoder: Encoder, note: Note) -> None:
    """Complete a video that nobody closed; at collection or at the interpreter's end nobody could catch an error."""
    try:
        encoder.close()
        note.write(complete=True)
    except Exception:
        return
