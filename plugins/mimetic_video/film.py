"""How does an evaluation get exactly its counted episodes on film? Each is a film; what is not counted is removed."""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium as gym

from mimetic.envs import EpisodeObserver, EpisodeRecord
from mimetic.errors import ConfigError, TargetExistsError
from mimetic.hookspecs import WrapperContext
from mimetic_video.camera import Camera
from mimetic_video.config import VideoConfig
from mimetic_video.encoder import Encoder, find_ffmpeg
from mimetic_video.film_index import FOLDER, INDEX_NAME, FilmIndex, IndexEntry
from mimetic_video.join import Part, join_films

PARTS = "parts"
MAX_ENDING = 2
"""Films of ended episodes that may still be on their way to the disk: short episodes need not wait for each."""


def build(config: VideoConfig, context: WrapperContext) -> "EpisodeFilm":
    """Film the environment of a ``WrapperContext`` into ``videos`` in the run's folder.

    Raises:
        ConfigError: The run keeps no folder.
    """
    if context.run_dir is None:
        raise ConfigError("video: films need a folder to lie in, and none was named: give one (--out DIR, or log_dir)")
    return EpisodeFilm(context.wrapped, context.run_dir, config, env_index=context.env_index, n_envs=context.n_envs)


class EpisodeFilm(EpisodeObserver):
    """Films every episode that an evaluation plays on one environment, and keeps the counted ones.

    An episode of N steps has N + 1 frames, that of its reset first. When the evaluation never comes to its end, the
    films of its episodes stay where they were written: ``videos/episode-000000.mp4``, or ``videos/parts/...`` in
    mode ``one``.
    """

    def __init__(
        self, env: gym.Env[Any, Any], run_dir: Path, config: VideoConfig, *, env_index: int = 0, n_envs: int = 1
    ) -> None:
        """Film ``env``, number ``env_index`` of ``n_envs`` that share ``run_dir``.

        Raises:
            EnvError: The environment gives no frames.
            MissingDependencyError: There is no ffmpeg.
            TargetExistsError: An earlier evaluation's videos are there.
        """
        super().__init__(env)
        find_ffmpeg()
        self._camera = Camera(env, caption=config.caption)
        self._config = config
        self._env_index = env_index
        self._folder = run_dir / FOLDER
        self._index = FilmIndex(self._folder, env_index=env_index, n_envs=n_envs)
        self._episode = 0
        self._at_reset = False
        self._encoder: Encoder | None = None
        self._ending: deque[Encoder] = deque()
        self._parts: dict[int, Part] = {}  # finished ones, by episode
        _refuse_older_films(self._folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def begin_episode(self, index: int, seed: int) -> None:
        """Note which episode the next reset begins."""
        self._end_part()
        self._episode = index

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment; its frame is kept until a step follows."""
        self._end_part()
        observation, info = super().reset(seed=seed, options=options)
        self._camera.reset()
        self._at_reset = True
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and film what it shows then."""
        observation, reward, terminated, truncated, info = super().step(action)
        if self._at_reset:
            self._at_reset = False
            self._encoder = self._begin_part()
        for frame in self._camera.step(action, float(reward)):
            if self._encoder is not None:
                self._encoder.write(frame)
        if terminated or truncated:
            self._end_part()
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:
        """Return the frame that was just filmed, so that a window beside the film costs no second rendering."""
        return self._camera.frame if self._camera.frame is not None else super().render()

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[Mapping[str, object]]:
        """Keep the films of the counted episodes, put them where they belong, and write them down in the index."""
        self._end_part()
        self._complete_all_but(0)
        kept = [self._parts.pop(record.index) for record in counted]
        for part in self._parts.values():
            part.path.unlink()
        self._parts.clear()
        places = self._joined(kept) if self._config.mode == "one" else [(part.path, 0, part.n_frames) for part in kept]
        entries = [
            IndexEntry.of(record, path, start, stop, fps=part.fps)
            for record, part, (path, start, stop) in zip(counted, kept, places, strict=True)
        ]
        self._index.write(entries)
        return [{"video": entry.video, "frames": entry.frames} for entry in entries]

    def close(self) -> None:
        """Complete the film in progress, then close the environment."""
        try:
            self._end_part()
            self._complete_all_but(0)
        finally:
            super().close()

    def _begin_part(self) -> Encoder:
        again = self._parts.pop(self._episode, None)  # the same episode from its beginning
        if again is not None:
            self._complete_all_but(0)
            again.path.unlink()
        folder = self._folder / PARTS if self._config.mode == "one" else self._folder
        folder.mkdir(exist_ok=True)
        path = folder / f"episode-{self._episode:06d}.{self._config.format}"
        return Encoder(path, fps=self._camera.fps, format=self._config.format, preset=self._config.preset)

    def _end_part(self) -> None:
        """End the film of an episode; it is completed while the next one is played."""
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            encoder.end()
            self._parts[self._episode] = Part(encoder.path, encoder.n_frames, encoder.fps)
            self._ending.append(encoder)
            self._complete_all_but(MAX_ENDING)

    def _complete_all_but(self, n_films: int) -> None:
        while len(self._ending) > n_films:
            self._ending.popleft().close()

    def _joined(self, parts: Sequence[Part]) -> list[tuple[Path, int, int]]:
        """Make one film of the parts; return for each where it is, its first frame and the one after its last."""
        target = self._folder / f"env-{self._env_index:03d}.{self._config.format}"
        if parts:
            join_films(parts, target)
        for part in parts:
            part.path.unlink()
        _remove_if_empty(self._folder / PARTS)
        stops = list(accumulate(part.n_frames for part in parts))
        return [(target, stop - part.n_frames, stop) for part, stop in zip(parts, stops, strict=True)]


def _refuse_older_films(folder: Path) -> None:
    older = [path for pattern in (INDEX_NAME, "env-*", "episode-*", f"{PARTS}/*") for path in folder.glob(pattern)]
    if older:
        raise TargetExistsError(
            f"{min(older)}: exists already, and a video never overwrites anything; choose another folder"
        )


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # not there, or another environment's parts are still in it
        return
