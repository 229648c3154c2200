"""VideoWrapper: one environment, filmed by whoever steps it."""

import builtins
import gc
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio_ffmpeg  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import pytest

from films import decoded, grey_levels
from mimetic.envs import make_vec_env
from mimetic.errors import EnvError, MissingDependencyError
from mimetic_video import VideoWrapper, video_wrapper_factory
from worlds import DictObs, Len

TESTS = Path(__file__).resolve().parents[2]


def level(step: int, episode: int) -> int:
    """What ``worlds.Len`` shows."""
    return (10 * step + 3 * (episode % 3)) % 250


def play(env: gym.Env[Any, Any], n_episodes: int = 1) -> None:
    for _ in range(n_episodes):
        env.reset()
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(0)
            over = terminated or truncated


def films(folder: Path, suffix: str = "mp4") -> list[Path]:
    return sorted(folder.glob(f"*.{suffix}"))


def assert_shows(path: Path, expected: Sequence[int]) -> None:
    seen = grey_levels(path)
    assert len(seen) == len(expected)
    assert np.abs(np.subtract(seen, expected)).max() <= 3, f"{seen} != {list(expected)}"


# --- what is on a film --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(64, 96), (65, 97)])
@pytest.mark.parametrize("n_steps", [1, 3, 21])
def test_an_episode_of_n_steps_has_n_plus_1_frames_and_frame_k_shows_step_k(
    tmp_path: Path, n_steps: int, size: tuple[int, int]
) -> None:
    env = VideoWrapper(Len(n_steps, render_mode="rgb_array", size=size), tmp_path, single_video=False)

    play(env, n_episodes=2)
    env.close()

    first, second = films(tmp_path)
    assert_shows(first, [level(step, 0) for step in range(n_steps + 1)])
    assert_shows(second, [level(step, 1) for step in range(n_steps + 1)])
    assert decoded(first).shape[1:3] == size


@pytest.mark.parametrize("n_steps", [1, 3, 21])
def test_one_video_for_all_holds_the_sum_of_n_plus_1_frames(tmp_path: Path, n_steps: int) -> None:
    env = VideoWrapper(Len(n_steps, render_mode="rgb_array"), tmp_path)

    play(env, n_episodes=3)
    env.close()

    (film,) = films(tmp_path)
    assert_shows(film, [level(step, episode) for episode in range(3) for step in range(n_steps + 1)])


def test_a_gif_keeps_frames_that_equal_the_one_before(tmp_path: Path) -> None:
    env = VideoWrapper(DictObs(1, n=30, render_mode="rgb_array"), tmp_path, format="gif")

    play(env)
    env.close()

    assert len(decoded(tmp_path / "video.000000.gif")) == 31


def test_a_gif_shows_every_step(tmp_path: Path) -> None:
    env = VideoWrapper(Len(21, render_mode="rgb_array", size=(33, 47)), tmp_path, format="gif")

    play(env, n_episodes=2)
    env.close()

    assert_shows(tmp_path / "video.000000.gif", [level(step, episode) for episode in range(2) for step in range(22)])


def test_a_frame_is_copied_before_the_environment_draws_over_it(tmp_path: Path) -> None:
    class OneBuffer(Len):
        buffer = np.zeros((64, 96, 3), np.uint8)

        def render(self) -> Any:
            self.buffer[:] = super().render()
            return self.buffer

    env = VideoWrapper(OneBuffer(21, render_mode="rgb_array"), tmp_path)

    play(env)
    env.close()

    assert_shows(tmp_path / "video.000000.mp4", [level(step, 0) for step in range(22)])


def test_the_rate_is_the_environments_own(tmp_path: Path) -> None:
    class Slow(Len):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - gymnasium's form

    env = VideoWrapper(Slow(7, render_mode="rgb_array"), tmp_path)

    play(env)
    env.close()

    assert imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "video.000000.mp4")) == (8, pytest.approx(2.0))


def test_a_caption_leaves_the_rest_of_the_frame_alone(tmp_path: Path) -> None:
    env = VideoWrapper(Len(3, render_mode="rgb_array", size=(200, 300)), tmp_path, caption=True)

    play(env)
    env.close()

    frames = decoded(tmp_path / "video.000000.mp4")
    assert frames[:, :20].max() > 200  # white letters
    assert np.abs(frames[3, 40:].astype(int) - level(3, 0)).max() <= 3


# --- which files there are ----------------------------------------------------------------------------------------


def test_a_directory_may_be_a_string_and_is_created(tmp_path: Path) -> None:
    env = VideoWrapper(Len(2, render_mode="rgb_array"), str(tmp_path / "a" / "b"))

    play(env)
    env.close()

    assert env.directory == tmp_path / "a" / "b"
    assert sorted(path.name for path in env.directory.iterdir()) == ["video.000000.meta.json", "video.000000.mp4"]


@pytest.mark.parametrize("single_video", [True, False])
def test_a_reset_that_no_step_follows_opens_no_file(tmp_path: Path, single_video: bool) -> None:
    """Vectorised environments reset themselves after the last episode, some wrappers at the start."""
    env = VideoWrapper(Len(2, render_mode="rgb_array"), tmp_path, single_video)
    env.reset()

    play(env)
    env.reset()
    env.close()

    assert [path.name for path in films(tmp_path)] == ["video.000000.mp4"]
    assert len(list(tmp_path.iterdir())) == 2


def test_an_environment_that_is_never_stepped_leaves_no_file(tmp_path: Path) -> None:
    env = VideoWrapper(Len(2, render_mode="rgb_array"), tmp_path)

    env.reset()
    env.close()

    assert list(tmp_path.iterdir()) == []


def test_earlier_videos_are_kept_and_numbering_goes_on(tmp_path: Path) -> None:
    for _ in range(2):
        env = VideoWrapper(Len(2, render_mode="rgb_array"), tmp_path, single_video=False)
        play(env, n_episodes=2)
        env.close()

    assert [path.name for path in films(tmp_path)] == [f"video.{number:06d}.mp4" for number in range(4)]
    assert all(len(grey_levels(path)) == 3 for path in films(tmp_path))


def test_two_environments_in_one_folder_do_not_share_a_name(tmp_path: Path) -> None:
    envs = [VideoWrapper(Len(n, render_mode="rgb_array"), tmp_path, single_video=False) for n in (2, 4)]

    for _ in range(2):
        for env in envs:
            play(env)
    for env in envs:
        env.close()

    assert [len(grey_levels(path)) for path in films(tmp_path)] == [3, 5, 3, 5]


def test_the_factory_gives_every_environment_a_folder(tmp_path: Path) -> None:
    wrap = video_wrapper_factory(tmp_path, single_video=False)

    for i in range(2):
        env = wrap(Len(2, render_mode="rgb_array"), i)
        play(env)
        env.close()

    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*.mp4"))] == [
        "videos/0/video.000000.mp4",
        "videos/1/video.000000.mp4",
    ]


@pytest.mark.parametrize("parallel", [False, True])
def test_the_factory_films_vectorised_environments(tmp_path: Path, parallel: bool) -> None:
    """After the last episode they reset themselves, which leaves no film of its own."""
    venv = make_vec_env(
        "worlds:mimetic-tests/Len-v0",
        rng=np.random.default_rng(0),
        n_envs=2,
        parallel=parallel,
        post_wrappers=[video_wrapper_factory(tmp_path, single_video=False)],
        env_make_kwargs={"n": 3, "render_mode": "rgb_array"},
    )
    venv.reset()
    for _ in range(6):
        venv.step(np.zeros(2, np.int64))
    venv.close()

    assert [len(grey_levels(path)) for path in sorted(tmp_path.rglob("*.mp4"))] == [4, 4, 4, 4]
    assert len(list(tmp_path.rglob("*.json"))) == 4


def test_the_note_says_which_episodes_a_file_shows(tmp_path: Path) -> None:
    env = VideoWrapper(Len(2, r=0.5, render_mode="rgb_array"), tmp_path)
    env.reset(seed=7)
    env.step(0)
    env.step(1)
    play(env)
    env.close()

    note = json.loads((tmp_path / "video.000000.meta.json").read_text())

    assert note["episode_id"] == 0
    assert note["content_type"] == "video/mp4"
    assert note["complete"] is True
    assert [episode["frames"] for episode in note["episodes"]] == [[0, 3], [3, 6]]
    assert [episode["seed"] for episode in note["episodes"]] == [7, None]
    assert note["episodes"][0]["return"] == 1.0
    assert note["episodes"][0]["terminated"] is True


def test_the_attributes_are_the_reference_librarys(tmp_path: Path) -> None:
    env = VideoWrapper(Len(2, render_mode="rgb_array"), tmp_path)
    assert (env.directory, env.single_video, env.episode_id, env.video_recorder) == (tmp_path, True, 0, None)

    play(env, n_episodes=2)

    assert env.episode_id == 2
    assert env.video_recorder is not None
    assert env.video_recorder.path == tmp_path / "video.000000.mp4"
    env.close()
    assert env.video_recorder is None


# --- what ends early ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interruption", [RuntimeError, KeyboardInterrupt])
def test_finished_episodes_are_complete_and_the_current_one_readable_when_the_policy_raises(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    env = VideoWrapper(Len(20, render_mode="rgb_array"), tmp_path, single_video=False)
    play(env)
    with pytest.raises(interruption):
        try:
            env.reset()
            for step in range(20):
                if step == 10:
                    raise interruption
                env.step(0)
        finally:
            env.close()

    first, second = films(tmp_path)
    assert_shows(first, [level(step, 0) for step in range(21)])
    assert_shows(second, [level(step, 1) for step in range(11)])


def test_a_wrapper_that_nobody_closes_completes_its_video_when_it_is_collected(tmp_path: Path) -> None:
    env = VideoWrapper(Len(5, render_mode="rgb_array"), tmp_path)
    play(env)

    del env
    gc.collect()

    assert_shows(tmp_path / "video.000000.mp4", [level(step, 0) for step in range(6)])
    assert json.loads((tmp_path / "video.000000.meta.json").read_text())["complete"] is True


ABANDONED = """
    import os, signal, sys
    from worlds import Len
    from mimetic_video import VideoWrapper

    env = VideoWrapper(Len(30, render_mode="rgb_array"), sys.argv[1], single_video=False)
    for episode in range(2):
        env.reset()
        for step in range(30 if episode == 0 else 10):
            env.step(0)
    {ending}
"""


def run_abandoned(folder: Path, ending: str) -> "subprocess.CompletedProcess[str]":
    script = textwrap.dedent(ABANDONED).format(ending=ending)
    paths = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.run([sys.executable, "-c", script, str(folder)], env=paths, capture_output=True, text=True)


def test_a_program_that_ends_without_close_leaves_complete_videos_and_says_nothing(tmp_path: Path) -> None:
    done = run_abandoned(tmp_path, "")

    assert (done.returncode, done.stderr) == (0, "")
    assert [len(grey_levels(path)) for path in films(tmp_path)] == [31, 11]


def test_a_killed_program_leaves_readable_videos(tmp_path: Path) -> None:
    done = run_abandoned(tmp_path, "import time; time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)")

    assert done.returncode == -9
    first, second = films(tmp_path)
    for _ in range(50):  # ffmpeg needs a moment to see that nobody writes any more
        if second.stat().st_size and len(_frames_or_none(second)) == 11:
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert len(grey_levels(first)) == 31
    assert len(grey_levels(second)) == 11


def _frames_or_none(path: Path) -> list[int]:
    try:
        return grey_levels(path)
    except OSError:
        return []


def test_a_crash_of_the_environment_itself_keeps_what_was_filmed(tmp_path: Path) -> None:
    class Breaks(Len):
        def step(self, action: Any) -> Any:
            if self.t == 3:
                raise ZeroDivisionError
            return super().step(action)

    env = VideoWrapper(Breaks(9, render_mode="rgb_array"), tmp_path)

    with pytest.raises(ZeroDivisionError):
        try:
            play(env)
        finally:
            env.close()

    assert len(grey_levels(tmp_path / "video.000000.mp4")) == 4


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "human"])
def test_a_render_mode_without_frames_is_refused_at_construction(tmp_path: Path, mode: str | None) -> None:
    with pytest.raises(EnvError, match=rf"Len: filming needs render mode 'rgb_array', the environment's is {mode!r}"):
        VideoWrapper(Len(2, render_mode=mode), tmp_path / "videos")

    assert not (tmp_path / "videos").exists()


def test_an_environment_without_frames_is_refused_naming_it_and_its_render_modes(tmp_path: Path) -> None:
    class TextOnly(Len):
        metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - gymnasium's form

    with pytest.raises(EnvError, match=r"TextOnly: .* it offers \['ansi'\]: it cannot be filmed"):
        VideoWrapper(TextOnly(2, render_mode="ansi"), tmp_path)


@pytest.mark.parametrize(
    ("frame", "seen"),
    [
        (np.zeros((4, 4, 3)), r"an array \(4, 4, 3\) of float64"),
        (np.zeros((4, 4), np.uint8), r"an array \(4, 4\) of uint8"),
        (np.zeros((4, 4, 4), np.uint8), r"an array \(4, 4, 4\) of uint8"),
        (np.zeros((0, 4, 3), np.uint8), r"an array \(0, 4, 3\) of uint8"),
        ([np.zeros((4, 4, 3), np.uint8)], "list"),
    ],
)
def test_what_is_no_frame_is_refused_at_construction(tmp_path: Path, frame: object, seen: str) -> None:
    class Odd(Len):
        def render(self) -> Any:
            return frame

    with pytest.raises(EnvError, match=rf"Odd: render\(\) gave {seen}; a frame is an array \(height, width, 3\)"):
        VideoWrapper(Odd(2, render_mode="rgb_array"), tmp_path)


def test_an_environment_that_can_draw_after_its_reset_alone_is_checked_there(tmp_path: Path) -> None:
    class Late(Len):
        def render(self) -> Any:
            assert self.episode >= 0, "nothing to draw yet"
            return None

    env = VideoWrapper(Late(2, render_mode="rgb_array"), tmp_path)

    with pytest.raises(EnvError, match=r"Late: render\(\) gave NoneType"):
        env.reset()


def test_no_reset_is_made_at_construction(tmp_path: Path) -> None:
    """One more reset could change the episodes that follow."""
    env = gym.make("mimetic-tests/Len-v0", render_mode="rgb_array")

    VideoWrapper(env, tmp_path).reset()

    assert env.unwrapped.episode == 0  # type: ignore[attr-defined]  # Len counts its resets


def test_a_missing_drawing_library_is_found_at_construction(tmp_path: Path) -> None:
    class NeedsPygame(Len):
        def render(self) -> Any:
            raise gym.error.DependencyNotInstalled(
                "pygame is not installed, run `pip install gymnasium[classic-control]`"
            )

    with pytest.raises(MissingDependencyError, match="NeedsPygame: pygame is not installed, run `pip install"):
        VideoWrapper(NeedsPygame(2, render_mode="rgb_array"), tmp_path)


def test_a_missing_imageio_ffmpeg_is_refused_at_construction_with_the_pip_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "imageio_ffmpeg":
            raise ImportError("No module named 'imageio_ffmpeg'")
        return genuine(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(MissingDependencyError, match="pip install imageio-ffmpeg"):
        VideoWrapper(Len(2, render_mode="rgb_array"), tmp_path)


def test_a_missing_ffmpeg_is_refused_at_construction_with_the_pip_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "no-ffmpeg"))

    with pytest.raises(MissingDependencyError, match=r"no-ffmpeg.* pip install --force-reinstall imageio-ffmpeg"):
        VideoWrapper(Len(2, render_mode="rgb_array"), tmp_path)


def test_a_step_before_the_first_reset_is_refused(tmp_path: Path) -> None:
    env = VideoWrapper(Len(2, render_mode="rgb_array"), tmp_path)

    with pytest.raises(gym.error.ResetNeeded, match=r"Len: step\(\) came before reset\(\)"):
        env.step(0)


def test_frames_of_another_size_are_refused_in_one_video_and_welcome_in_a_file_each(tmp_path: Path) -> None:
    class Grows(Len):
        def render(self) -> Any:
            side = 32 + 2 * max(self.episode, 0)
            return np.zeros((side, side, 3), np.uint8)

    apart = VideoWrapper(Grows(2, render_mode="rgb_array"), tmp_path / "apart", single_video=False)
    play(apart, n_episodes=2)
    apart.close()
    assert [decoded(path).shape[1] for path in films(tmp_path / "apart")] == [32, 34]

    together = VideoWrapper(Grows(2, render_mode="rgb_array"), tmp_path / "together")
    with pytest.raises(EnvError, match=r"frame 3 is 34 x 34 pixels, the frames before it are 32 x 32"):
        play(together, n_episodes=2)
    together.close()
    assert len(grey_levels(tmp_path / "together" / "video.000000.mp4")) == 3
