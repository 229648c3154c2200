"""The encoder: frames go through a short queue into ffmpeg, and nothing that goes wrong there is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from films import decoded, grey_levels
from mimetic.errors import EnvError, TargetExistsError
from mimetic_video import encoder as encoders
from mimetic_video.config import Preset
from mimetic_video.encoder import Encoder, EncoderError
from mimetic_video.join import Part, join_films


def frame(level: int, size: tuple[int, int] = (32, 48)) -> np.ndarray:
    return np.full((*size, 3), level, np.uint8)


def film(path: Path, levels: list[int], fps: float = 30) -> Part:
    encoder = Encoder(path, fps=fps, format="gif" if path.suffix == ".gif" else "mp4")
    for level in levels:
        encoder.write(frame(level))
    encoder.close()
    return Part(path, encoder.n_frames, encoder.fps)


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 3), (65, 97), (64, 97), (210, 160), (400, 600)])
@pytest.mark.parametrize("n_frames", [1, 7])
def test_every_frame_arrives_in_its_own_size(tmp_path: Path, size: tuple[int, int], n_frames: int) -> None:
    encoder = Encoder(tmp_path / "film.mp4", fps=30)
    for _ in range(n_frames):
        encoder.write(frame(128, size))
    encoder.close()

    assert decoded(tmp_path / "film.mp4").shape == (n_frames, *size, 3)


def test_colours_are_kept(tmp_path: Path) -> None:
    picture = np.zeros((64, 96, 3), np.uint8)
    for channel in range(3):
        picture[:, 32 * channel : 32 * (channel + 1), channel] = 200
    encoder = Encoder(tmp_path / "film.mp4", fps=30)
    encoder.write(picture)
    encoder.close()

    (seen,) = decoded(tmp_path / "film.mp4")
    for channel in range(3):
        expected = [200 if other == channel else 0 for other in range(3)]
        assert np.abs(seen[32, 32 * channel + 16].astype(int) - expected).max() < 20


def test_an_existing_file_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_text("mine")

    with pytest.raises(TargetExistsError, match=r"film\.mp4: exists already"):
        Encoder(path, fps=30)

    assert path.read_text() == "mine"


def test_a_film_without_frames_leaves_no_file(tmp_path: Path) -> None:
    Encoder(tmp_path / "film.mp4", fps=30).close()

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["-y.mp4", "50%d.mp4", "a:b.mp4", "it's a 'film'.mp4", "фильм.mp4"])
def test_a_name_is_a_name_whatever_ffmpeg_might_read_in_it(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    parts = [film(Path(name), [40, 50]), film(Path(f"2{name}"), [60])]
    join_films(parts, tmp_path / "joined.mp4")

    assert len(grey_levels(tmp_path / "joined.mp4")) == 3


def test_a_frame_of_another_size_is_refused_naming_both(tmp_path: Path) -> None:
    encoder = Encoder(tmp_path / "film.mp4", fps=30)
    encoder.write(frame(1, (32, 48)))

    with pytest.raises(EnvError, match="frame 1 is 50 x 32 pixels, the frames before it are 48 x 32"):
        encoder.write(frame(1, (32, 50)))

    encoder.close()
    assert len(grey_levels(tmp_path / "film.mp4")) == 1


# --- when ffmpeg fails --------------------------------------------------------------------------------------------


def test_an_ffmpeg_that_fails_is_reported_with_its_words_and_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More frames are written than the queue holds: someone has to take them, though nobody wants them any more."""
    monkeypatch.setattr(encoders, "_gif_output", lambda: ["-c:v", "no-such-codec", "-f", "gif"])
    encoder = Encoder(tmp_path / "film.gif", fps=30, format="gif")

    with pytest.raises(EncoderError, match=r"film\.gif: ffmpeg ended with status \d+: .*no-such-codec"):
        for _ in range(1000):
            encoder.write(frame(0))
    with pytest.raises(EncoderError, match="no-such-codec"):
        encoder.close()


def test_a_short_film_reports_a_failed_ffmpeg_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "_gif_output", lambda: ["-c:v", "no-such-codec", "-f", "gif"])
    encoder = Encoder(tmp_path / "film.gif", fps=30, format="gif")
    encoder.write(frame(0))

    with pytest.raises(EncoderError, match="no-such-codec"):
        encoder.close()


def test_an_ffmpeg_that_cannot_be_started_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = tmp_path / "ffmpeg"
    nothing.write_text("#!/no/such/interpreter\n")
    nothing.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(nothing))
    encoder = Encoder(tmp_path / "film.mp4", fps=30)

    with pytest.raises(EncoderError, match=r"film\.mp4: ffmpeg could not be run: .*ffmpeg"):
        for _ in range(1000):
            encoder.write(frame(0))


@pytest.mark.skipif(sys.platform != "linux", reason="finds the encoder's process in /proc")
def test_a_killed_ffmpeg_is_reported_and_leaves_what_it_had_written(tmp_path: Path) -> None:
    encoder = Encoder(tmp_path / "film.mp4", fps=10)  # a fragment is 20 frames long
    with pytest.raises(EncoderError, match="ffmpeg ended with status -9"):
        for number in range(5000):
            encoder.write(frame(number % 200))
            if number == 1000:
                os.kill(_pid_of_ffmpeg(), signal.SIGKILL)
    with pytest.raises(EncoderError):
        encoder.close()

    assert len(_levels_of_a_torn_film(tmp_path / "film.mp4")) > 100


def _pid_of_ffmpeg() -> int:
    children = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    return next(int(line.split()[0]) for line in children.stdout.splitlines() if "ffmpeg" in line)


def _levels_of_a_torn_film(path: Path) -> bytes:
    pictures = ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-s", "1x1", "-"]
    return subprocess.run([encoders.find_ffmpeg(), "-i", str(path), *pictures], capture_output=True).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX's")
def test_ffmpeg_is_out_of_reach_of_the_terminals_ctrl_c(tmp_path: Path) -> None:
    """Ctrl-C goes to the whole foreground group; an encoder that it ends misses the last frames."""
    script = (
        "import os, signal, sys, numpy as np; from pathlib import Path; from mimetic_video.encoder import Encoder\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        "encoder = Encoder(Path(sys.argv[1]), fps=30)\n"
        "for number in range(90):\n"
        "    encoder.write(np.zeros((64, 96, 3), np.uint8))\n"
        "    if number == 40: os.killpg(0, signal.SIGINT)\n"
        "encoder.close()\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "film.mp4")], check=True, start_new_session=True)

    assert len(grey_levels(tmp_path / "film.mp4")) == 90


# --- what a film costs --------------------------------------------------------------------------------------------


def test_memory_stays_flat_however_long_the_film_is(tmp_path: Path) -> None:
    """1,000 frames of 400 x 600 are 720 MB; what waits for the encoder is eight of them."""
    psutil = pytest.importorskip("psutil")
    process = psutil.Process()
    encoder = Encoder(tmp_path / "film.mp4", fps=50, preset="ultrafast")
    picture = frame(0, (400, 600))
    encoder.write(picture)
    before = process.memory_info().rss
    highest = before
    for number in range(1000):
        picture[:, :, 0] = number % 250
        encoder.write(picture)
        if number % 50 == 0:
            highest = max(highest, process.memory_info().rss)
    encoder.close()

    assert highest - before < 30e6


def test_a_preset_reaches_the_encoder(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (20, 64, 96, 3)).astype(np.uint8)
    sizes = []
    for preset in get_args(Preset)[::8]:
        encoder = Encoder(tmp_path / f"{preset}.mp4", fps=30, preset=preset)
        for picture in pictures:
            encoder.write(picture)
        encoder.close()
        sizes.append((tmp_path / f"{preset}.mp4").stat().st_size)

    assert sizes[0] != sizes[1]


# --- joining ------------------------------------------------------------------------------------------------------

PARTS = ([10, 20], [30, 40, 50, 60], [70], [80], list(range(90, 150)), [5, 6])


@pytest.mark.parametrize("suffix", ["mp4", "gif"])
def test_joined_films_show_every_frame_of_every_part_in_order(tmp_path: Path, suffix: str) -> None:
    parts = [film(tmp_path / f"{number}.{suffix}", list(levels)) for number, levels in enumerate(PARTS)]

    join_films(parts, tmp_path / f"joined.{suffix}")

    expected = [level for levels in PARTS for level in levels]
    seen = grey_levels(tmp_path / f"joined.{suffix}")
    assert len(seen) == len(expected)
    assert np.abs(np.subtract(seen, expected)).max() <= 3


@pytest.mark.parametrize(("suffix", "fps"), [("mp4", 30), ("mp4", 60), ("mp4", 125), ("mp4", 29.97), ("gif", 25)])
def test_a_joined_film_is_as_long_as_its_frames(tmp_path: Path, suffix: str, fps: float) -> None:
    parts = [film(tmp_path / f"{number}.{suffix}", list(levels), fps) for number, levels in enumerate(PARTS)]

    join_films(parts, tmp_path / f"joined.{suffix}")

    times = presentation_times(tmp_path / f"joined.{suffix}")
    assert np.diff(times) == pytest.approx(np.full(len(times) - 1, 1 / fps), rel=0.02)


def presentation_times(path: Path) -> np.ndarray:
    """When each frame is shown, in seconds."""
    table = ["-fps_mode", "passthrough", "-enc_time_base", "1:60000", "-f", "framecrc", "-"]
    words = subprocess.run(
        [encoders.find_ffmpeg(), "-loglevel", "error", "-i", str(path), *table], capture_output=True, text=True
    ).stdout
    rows = [row.split(",") for row in words.splitlines() if not row.startswith("#")]
    return np.array([int(row[2]) for row in rows]) / 60000


def test_joining_never_overwrites(tmp_path: Path) -> None:
    part = film(tmp_path / "part.mp4", [1, 2])
    target = tmp_path / "joined.mp4"
    target.write_text("mine")

    with pytest.raises(TargetExistsError, match=r"joined\.mp4: exists already"):
        join_films([part], target)

    assert target.read_text() == "mine"


@pytest.mark.parametrize("suffix", ["mp4", "gif"])
def test_parts_that_cannot_be_read_leave_no_half_film(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"part.{suffix}").write_bytes(b"no film")

    with pytest.raises(EncoderError, match=r"part|unfinished"):
        join_films([Part(tmp_path / f"part.{suffix}", 3, 30)], tmp_path / f"joined.{suffix}")

    assert [path.name for path in tmp_path.iterdir()] == [f"part.{suffix}"]


def test_a_gif_has_at_most_50_frames_a_second_and_keeps_all_of_them(tmp_path: Path) -> None:
    part = film(tmp_path / "film.gif", list(range(0, 240, 2)), fps=125)

    assert part.fps == 50
    assert len(grey_levels(tmp_path / "film.gif")) == 120
