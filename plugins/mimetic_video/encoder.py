"""How do frames become a file without piling up in memory? Through a short queue into ffmpeg's standard input."""

import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from mimetic.errors import EnvError, MimeticError, MissingDependencyError, TargetExistsError
from mimetic_video.config import Preset, VideoFormat

QUEUE_LENGTH = 8
"""Frames that may wait for the encoder; a full queue slows the environment down instead of filling the memory."""

GIF_MAX_FPS = 50
"""Viewers play faster GIFs slowly, and a frame's time is counted in hundredths of a second."""

QUIET = ("-loglevel", "error", "-nostdin")


class EncoderError(MimeticError):
    """ffmpeg could not write a video: make room on the disk, or look at what it said."""


def find_ffmpeg() -> str:
    """Return the ffmpeg that imageio-ffmpeg brings (or that ``IMAGEIO_FFMPEG_EXE`` names).

    Raises:
        MissingDependencyError: There is none; the message holds the pip command.
    """
    try:
        import imageio_ffmpeg  # type: ignore[import-untyped]  # it ships no types
    except ImportError as error:
        raise MissingDependencyError(
            f"Filming needs imageio-ffmpeg, which cannot be imported ({error}): pip install imageio-ffmpeg"
        ) from error
    try:
        program = str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError:
        program = ""
    if not shutil.which(program):
        raise MissingDependencyError(
            f"Filming needs the program ffmpeg, and imageio-ffmpeg names {program or 'none'!r}, which cannot be run: "
            "pip install --force-reinstall imageio-ffmpeg, or set IMAGEIO_FFMPEG_EXE to an ffmpeg with libx264"
        )
    return program


class Encoder:
    """Writes frames of one size to one new file; a thread of its own feeds ffmpeg.

    The file is created at once, exclusively. Without a frame, :meth:`close` removes it again. Whatever ends the
    process, ffmpeg then sees the end of its input and completes the file; should ffmpeg itself be killed, an mp4
    is readable up to the last two seconds.
    """

    def __init__(self, path: Path, *, fps: float, format: VideoFormat = "mp4", preset: Preset = "veryfast") -> None:
        """Claim ``path``.

        Raises:
            TargetExistsError: Something is there already.
            MissingDependencyError: There is no ffmpeg.
        """
        self.path = path
        self.fps = min(fps, GIF_MAX_FPS) if format == "gif" else fps
        self.n_frames = 0
        self._format = format
        self._preset = preset
        self._program = find_ffmpeg()
        self._shape: tuple[int, ...] = ()  # (H, W, 3) once there is a frame
        self._writer: _Writer | None = None
        self._closed = False
        try:
            path.touch(exist_ok=False)
        except FileExistsError as error:
            raise TargetExistsError(f"{path}: exists already, and a video never overwrites anything") from error

    def write(self, frame: np.ndarray) -> None:
        """Copy a frame (H, W, 3) of uint8 and hand it to the encoder; waits while eight frames are waiting.

        Raises:
            EnvError: The frame has another size than the first.
            EncoderError: ffmpeg failed on an earlier frame.
        """
        if self._writer is None:
            self._shape = frame.shape
            self._writer = _Writer(self._command(), self.path)
            self._finalizer = weakref.finalize(self, self._writer.finish_quietly)
        elif frame.shape != self._shape:
            raise EnvError(
                f"{self.path}: frame {self.n_frames} is {_size(frame.shape)} pixels, the frames before it are "
                f"{_size(self._shape)}, and a video has one size: give each episode a file of its own"
            )
        self._writer.put(frame.tobytes())
        self.n_frames += 1

    def end(self) -> None:
        """Say that no frame follows. The file is completed meanwhile; :meth:`close` waits for that."""
        if self._writer is not None:
            self._writer.end()

    def close(self) -> None:
        """Wait until every frame is in the file. Harmless when called again.

        Raises:
            EncoderError: The file is not what it should be; what ffmpeg said is in the message.
        """
        if self._closed:
            return
        self._closed = True
        if self._writer is None:
            self.path.unlink(missing_ok=True)
            return
        self._finalizer.detach()
        self._writer.finish()

    def _command(self) -> list[str]:
        height, width, _ = self._shape
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{self.fps:g}", "-i", "-"]
        output = _gif_output() if self._format == "gif" else _mp4_output(self._preset, self.fps, height, width)
        # "-y" is for the empty file that was claimed above.
        return [self._program, *QUIET, "-y", *source, "-an", "-threads", "1", *output, file_url(self.path)]


def file_url(path: Path) -> str:
    """Name a file so that ffmpeg takes no part of the name for an option or a protocol."""
    return f"file:{path}"


def run_ffmpeg(arguments: Sequence[str], target: Path) -> None:
    """Run ffmpeg to its end; ``target`` is the file that it writes, named when it fails.

    Raises:
        EncoderError: It failed.
    """
    done = subprocess.run([find_ffmpeg(), *QUIET, *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        raise _failed(target, done.returncode, done.stderr)


def _mp4_output(preset: Preset, fps: float, height: int, width: int) -> list[str]:
    """H.264 in fragments, each readable once it is written; no frame refers to a later one, so that parts join."""
    pixels = "yuv444p" if height % 2 or width % 2 else "yuv420p"  # half-size colour planes need even sides
    keyframes = str(max(1, round(2 * fps)))
    fragments = ["-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-flush_packets", "1", "-f", "mp4"]
    return ["-c:v", "libx264", "-preset", preset, "-pix_fmt", pixels, "-bf", "0", "-g", keyframes, *fragments]


def _gif_output() -> list[str]:
    """Every frame with a palette of its own, so that the film is never held as a whole."""
    palettes = "[0:v]split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"
    return ["-filter_complex", palettes, "-loop", "0", "-f", "gif"]


class _Writer:
    """The thread that owns the ffmpeg process. It knows no Encoder, so that a forgotten Encoder can be collected."""

    def __init__(self, command: Sequence[str], target: Path) -> None:
        self._command = command
        self._target = target
        self._frames: queue.Queue[bytes | None] = queue.Queue(QUEUE_LENGTH)
        self._ended = False
        self._all_taken = False
        self._error: EncoderError | None = None
        self._thread = threading.Thread(target=self._run, name=f"film {target.name}", daemon=True)
        self._thread.start()

    def put(self, frame: bytes) -> None:
        """Queue a frame, or raise what went wrong with an earlier one."""
        if self._error is not None:
            raise self._error
        self._frames.put(frame)

    def end(self) -> None:
        """End the input; the file is complete when the thread is done."""
        if not self._ended and self._thread.is_alive():  # in a forked child there is no such thread
            self._frames.put(None)
        self._ended = True

    def finish(self) -> None:
        """End the input, wait for ffmpeg, raise what went wrong."""
        self.finish_quietly()
        if self._error is not None:
            raise self._error

    def finish_quietly(self) -> None:
        """Complete the file; what is left to do for an Encoder that nobody closed, at the interpreter's end too."""
        self.end()
        self._thread.join()

    def _run(self) -> None:
        try:
            with tempfile.TemporaryFile() as messages:
                process = _start(self._command, messages)
                taken = self._feed(process.stdin)
                status = process.wait()
                if status != 0 or not taken:
                    messages.seek(0)
                    self._error = _failed(self._target, status, messages.read())
        except Exception as error:
            self._error = EncoderError(f"{self._target}: ffmpeg could not be run: {error}")
            self._error.__cause__ = error
        while not self._all_taken:  # nobody may be left waiting for room in the queue
            self._next()

    def _feed(self, pipe: IO[bytes] | None) -> bool:
        """Write every frame; False when ffmpeg stopped listening."""
        assert pipe is not None
        try:
            with pipe:
                while (frame := self._next()) is not None:
                    pipe.write(frame)
                    pipe.flush()  # what lies in a buffer is lost when this process is killed
        except OSError:
            return False
        return True

    def _next(self) -> bytes | None:
        frame = self._frames.get()
        self._all_taken = frame is None
        return frame


def _start(command: Sequence[str], messages: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start ffmpeg out of reach of the terminal's Ctrl-C, which would end it before the last frames came."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=messages,
        start_new_session=sys.platform != "win32",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _failed(target: Path, status: int, messages: bytes) -> EncoderError:
    said = messages.decode(errors="replace").strip().splitlines()[:3]  # the cause comes first
    return EncoderError(f"{target}: ffmpeg ended with status {status}: {' / '.join(said) or 'it said nothing'}")


def _size(shape: Sequence[int]) -> str:
    return " x ".join(str(side) for side in shape[1::-1])
