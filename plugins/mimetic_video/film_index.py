"""Which file shows which episode? ``videos/index.json`` says it, for all environments of an evaluation together."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mimetic.envs import EpisodeRecord

FOLDER = "videos"
INDEX_NAME = "index.json"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """Where one counted episode can be seen."""

    episode: int
    env_index: int
    seed: int | None
    episode_return: float
    length: int  # steps
    file: str  # beside the index
    frames: list[int]  # [start, stop) in the file: that of the reset first, one for each step after it
    fps: float

    @property
    def video(self) -> str:
        """The same place, beside the folder ``videos``: as the episode's record has it."""
        return f"{FOLDER}/{self.file}"

    @classmethod
    def of(cls, record: EpisodeRecord, path: Path, start: int, stop: int, *, fps: float) -> "IndexEntry":
        """Describe an episode whose frames are ``start`` to ``stop`` of the film at ``path``."""
        return cls(
            episode=record.index,
            env_index=record.env_index,
            seed=record.seed,
            episode_return=record.episode_return,
            length=record.length,
            file=path.name,
            frames=[start, stop],
            fps=fps,
        )

    def as_dict(self) -> dict[str, object]:
        """Say it in the words of the index."""
        return {
            "episode": self.episode,
            "file": self.file,
            "video": self.video,
            "frames": self.frames,
            "fps": self.fps,
            "seed": self.seed,
            "return": self.episode_return,
            "length": self.length,
            "env_index": self.env_index,
        }


class FilmIndex:
    """One environment's share in the index. Environments may be in processes of their own, and end in any order.

    Each writes its piece, then looks whether all pieces are there. The last one sees them all, whoever that is, and
    writes the index; should two be last at once, both write the same.
    """

    def __init__(self, folder: Path, *, env_index: int, n_envs: int) -> None:
        """Take part as number ``env_index`` of ``n_envs``."""
        self._folder = folder
        self._env_index = env_index
        self._pieces = [folder / f".index-{i:03d}.json" for i in range(n_envs)]

    def write(self, entries: Sequence[IndexEntry]) -> None:
        """Add this environment's episodes."""
        self._replace(self._pieces[self._env_index], [entry.as_dict() for entry in entries])
        if not all(piece.exists() for piece in self._pieces):
            return
        try:
            pieces = [json.loads(piece.read_text(encoding="utf-8")) for piece in self._pieces]
        except FileNotFoundError:  # another environment was last as well, and has written the index
            return
        together = sorted((entry for piece in pieces for entry in piece), key=lambda entry: int(entry["episode"]))
        self._replace(self._folder / INDEX_NAME, together)
        for piece in self._pieces:
            piece.unlink(missing_ok=True)

    def _replace(self, path: Path, entries: Sequence[dict[str, object]]) -> None:
        unfinished = path.with_name(f".{path.name}.{self._env_index:03d}")
        unfinished.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
        os.replace(unfinished, path)
