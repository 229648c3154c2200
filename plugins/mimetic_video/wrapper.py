"""How does a user film one environment, whatever steps it? With a wrapper that writes as it goes."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium as gym

from mimetic.errors import TargetExistsError
from mimetic_video.camera import Camera, env_name
from mimetic_video.config import Preset, VideoFormat
from mimetic_video.encoder import Encoder, find_ffmpeg
from mimetic_video.video_file import CONTENT_TYPES, FilmedEpisode, Note, VideoRecorder

FILE_NAME = re.compile(r"video\.(\d{6,})\.")


class VideoWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """Films an environment into ``directory``: N + 1 frames for an episode of N steps, that of the reset first.

    An episode's frames appear with its first step, so a reset that nothing follows leaves no file. Existing files
    are never touched: numbering goes on after them. Frames go straight to the encoder; when the program ends
    early, finished episodes are complete and the one in progress is readable up to where it came.

    Attributes:
        directory: Where the videos are.
        episode_id: How many episodes were begun; a reset straight after a reset begins none.
        single_video: Whether all episodes go into one file.
        video_recorder: The file that is being written, None while there is none.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        directory: Path | str,
        single_video: bool = True,
        *,
        format: VideoFormat = "mp4",
        preset: Preset = "veryfast",
        caption: bool = False,
    ) -> None:
        """Film ``env``, built with ``render_mode="rgb_array"``, into ``directory``, which is created.

        Args:
            env: The environment.
            directory: Where to write.
            single_video: One file with every episode, or one for each.
            format: ``mp4`` or ``gif``.
            preset: The mp4 encoder's, from ``ultrafast`` (large files) to ``veryslow``.
            caption: Write step, action and return so far onto the frames.

        Raises:
            EnvError: The environment gives no frames.
            MissingDependencyError: There is no ffmpeg.
        """
        super().__init__(env)
        find_ffmpeg()
        self._camera = Camera(env, caption=caption)
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.single_video = single_video
        self.episode_id = 0
        self.video_recorder: VideoRecorder | None = None
        self._format: VideoFormat = format
        self._preset: Preset = preset
        self._seed: int | None = None
        self._at_reset = False  # nothing was stepped since the last reset
        self._number = 1 + max(_numbers_in(self.directory), default=-1)  # of the next file

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment. With a file for each episode, the last one's is complete then."""
        if not self.single_video:
            self._close_recorder()
        observation, info = super().reset(seed=seed, options=options)
        self._camera.reset()
        self._seed = seed
        if not self._at_reset:
            self.episode_id += 1
            self._at_reset = True
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and film what it shows then."""
        observation, reward, terminated, truncated, info = super().step(action)
        recorder = self._recorder()
        for frame in self._camera.step(action, float(reward)):
            recorder.write(frame)
        recorder.count_step(float(reward), terminated, truncated)
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Complete the video, then close the environment."""
        try:
            self._close_recorder()
        finally:
            super().close()

    def _recorder(self) -> VideoRecorder:
        """Return the open file, opened for the first step of an episode where there is none."""
        if self.episode_id == 0:
            raise gym.error.ResetNeeded(f"{env_name(self.env)}: step() came before reset()")
        if self._at_reset:
            self._at_reset = False
            n_frames = 0 if self.video_recorder is None else self.video_recorder.n_frames
            episode = FilmedEpisode(self.episode_id - 1, self._seed, start=n_frames)
            if self.video_recorder is None:
                self.video_recorder = self._new_recorder(episode)
            else:
                self.video_recorder.begin_episode(episode)
        assert self.video_recorder is not None
        return self.video_recorder

    def _new_recorder(self, episode: FilmedEpisode) -> VideoRecorder:
        """Claim the next number that nobody has, other wrappers on this directory included."""
        while True:
            path = self.directory / f"video.{self._number:06d}.{self._format}"
            meta_path = path.with_suffix(".meta.json")
            self._number += 1
            if meta_path.exists():
                continue
            try:
                encoder = Encoder(path, fps=self._camera.fps, format=self._format, preset=self._preset)
            except TargetExistsError:
                continue
            return VideoRecorder(encoder, Note(meta_path, CONTENT_TYPES[self._format], encoder.fps), episode)

    def _close_recorder(self) -> None:
        recorder, self.video_recorder = self.video_recorder, None
        if recorder is not None:
            recorder.close()


def video_wrapper_factory(log_dir: Path | str, **kwargs: Any) -> Callable[[gym.Env[Any, Any], int], VideoWrapper]:
    """Return ``wrap(env, i)``, which films environment ``i`` into ``log_dir/videos/i``. It pickles, for processes.

    Args:
        log_dir: The folder for the videos of all environments.
        **kwargs: Passed to :class:`VideoWrapper`.
    """
    return partial(_wrap, log_dir=Path(log_dir), kwargs=kwargs)


def _wrap(env: gym.Env[Any, Any], i: int, *, log_dir: Path, kwargs: Mapping[str, Any]) -> VideoWrapper:
    return VideoWrapper(env, log_dir / "videos" / str(i), **kwargs)


def _numbers_in(directory: Path) -> list[int]:
    return [int(match[1]) for path in directory.iterdir() if (match := FILE_NAME.match(path.name))]
