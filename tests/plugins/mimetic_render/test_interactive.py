"""InteractiveRender: one window around all environments, drawn unseen here by SDL's dummy driver."""

import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.errors import EnvError, MissingDependencyError
from mimetic.evaluate import evaluate
from mimetic.hookspecs import WrapperContext
from mimetic.plugins import registry
from mimetic_render import InteractiveRender, WindowClosed
from worlds import Len

pygame = pytest.importorskip("pygame")

LEN = "worlds:mimetic-tests/Len-v0"


class Counts(Len):
    """``Len`` that counts its render calls by mode."""

    calls: dict[str | None, int] = {}  # noqa: RUF012 - emptied by each test

    def render(self) -> Any:
        self.calls[self.render_mode] = self.calls.get(self.render_mode, 0) + 1
        return super().render()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., InteractiveRender]]:
    """Build a window around environments; it is closed after the test."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    Counts.calls = {}
    opened: list[InteractiveRender] = []

    def watch(*envs: gym.Env[Any, Any], fps: float = 0) -> InteractiveRender:
        opened.append(InteractiveRender(vectorised(*envs), fps))
        return opened[-1]

    yield watch
    for window in opened:
        window.close()


def vectorised(*envs: gym.Env[Any, Any]) -> VecEnv:
    return DummyVecEnv([lambda env=env: env for env in envs])  # type: ignore[misc]  # each its own


def on_screen() -> np.ndarray:
    """Read the window's pixels back (H, W, 3)."""
    pixels: np.ndarray = pygame.surfarray.array3d(pygame.display.get_surface())
    return pixels.swapaxes(0, 1)


def press(key: int, typed: str = "") -> None:
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode=typed))


def steps(window: InteractiveRender, n: int) -> None:
    for _ in range(n):
        window.step(np.zeros(window.num_envs, np.int64))


# --- what is seen -------------------------------------------------------------------------------------------------


def test_the_window_shows_the_frame_pixel_by_pixel(watched: Callable[..., InteractiveRender]) -> None:
    class Ramp(Len):
        def render(self) -> Any:
            frame = np.arange(48 * 80 * 3).reshape(48, 80, 3) + self.t
            return (frame % 256).astype(np.uint8)

    env = Ramp(9, render_mode="rgb_array")
    window = watched(env)

    window.reset()
    assert (on_screen() == env.render()).all()
    steps(window, 3)
    assert (on_screen() == env.render()).all()


@pytest.mark.parametrize(("n_envs", "grid"), [(1, (1, 1)), (2, (1, 2)), (3, (2, 2)), (4, (2, 2)), (5, (2, 3))])
def test_all_environments_are_tiled_in_order(
    watched: Callable[..., InteractiveRender], n_envs: int, grid: tuple[int, int]
) -> None:
    class Numbered(Len):
        number = 0

        def render(self) -> Any:
            return np.full((40, 60, 3), 50 + 30 * self.number, np.uint8)

    envs = [Numbered(9, render_mode="rgb_array") for _ in range(n_envs)]
    for number, env in enumerate(envs):
        env.number = number
    watched(*envs).reset()

    seen = on_screen()
    n_rows, n_columns = grid
    assert seen.shape == (n_rows * 42 - 2, n_columns * 62 - 2, 3)
    for cell in range(n_rows * n_columns):
        tile = seen[cell // n_columns * 42 :, cell % n_columns * 62 :][:40, :60]
        assert (tile == (50 + 30 * cell if cell < n_envs else 0)).all()


def test_frames_of_different_sizes_are_shown_beside_each_other(watched: Callable[..., InteractiveRender]) -> None:
    watched(*(Len(9, render_mode="rgb_array", size=size) for size in ((40, 60), (20, 70)))).reset()

    assert on_screen().shape == (40, 70 + 2 + 70, 3)


def test_a_picture_that_is_larger_than_the_screen_is_shrunk(watched: Callable[..., InteractiveRender]) -> None:
    width, height = pygame.display.get_desktop_sizes()[0] if pygame.display.get_init() else (1024, 768)

    watched(Len(9, render_mode="rgb_array", size=(2 * height, 3 * width))).reset()

    seen = on_screen()
    assert seen.shape[0] <= height
    assert seen.shape[1] <= width
    assert seen.shape[1] / seen.shape[0] == pytest.approx(3 * width / (2 * height), rel=0.01)


def test_the_window_opens_again_when_an_environment_closed_every_window(
    watched: Callable[..., InteractiveRender],
) -> None:
    """Environments of gymnasium call ``pygame.quit()`` when they are closed."""
    window = watched(Len(9, render_mode="rgb_array"))
    window.reset()

    pygame.quit()
    steps(window, 1)

    assert on_screen()[0, 0, 0] == 10


@pytest.mark.parametrize("event", ["VIDEOEXPOSE", "VIDEORESIZE"])
def test_a_window_that_was_covered_or_resized_is_drawn_again(
    watched: Callable[..., InteractiveRender], event: str
) -> None:
    """While it is paused, nobody else would."""
    window = watched(Len(9, render_mode="rgb_array"))
    window.reset()
    steps(window, 2)
    pygame.display.get_surface().fill((200, 0, 0))

    pygame.event.post(pygame.event.Event(getattr(pygame, event), w=96, h=64, size=(96, 64)))
    window._obey_keys()

    assert (on_screen() == 20).all()


def test_every_reset_and_every_step_costs_one_render_call(watched: Callable[..., InteractiveRender]) -> None:
    window = watched(Counts(50, render_mode="rgb_array"))

    window.reset()
    steps(window, 20)

    assert Counts.calls == {"rgb_array": 1 + 20}


@pytest.mark.parametrize("videos", [None, "one"])
def test_an_evaluation_is_shown_also_while_it_is_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, videos: str | None
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    seen: list[int] = []
    flip = pygame.display.flip

    def flip_and_look() -> None:
        flip()
        seen.append(int(on_screen()[0, 0, 0]))

    monkeypatch.setattr(pygame.display, "flip", flip_and_look)
    settings = EvaluationConfig.model_validate({"n_episodes": 1, "render": True, "render_fps": 0, "videos": videos})

    evaluate(None, EnvConfig(id=LEN, kwargs={"n": 4}), settings, seed=0, out=tmp_path)

    assert seen[:4] == [0, 10, 20, 30]
    assert (tmp_path / "videos" / "env-000.mp4").exists() is (videos is not None)


# --- how fast -----------------------------------------------------------------------------------------------------


def test_the_rate_is_held_within_a_tenth(watched: Callable[..., InteractiveRender]) -> None:
    window = watched(Len(None, render_mode="rgb_array"), fps=50)
    window.reset()

    rates = []
    for _ in range(5):  # another program may have needed the processor meanwhile
        begun = time.monotonic()
        steps(window, 25)
        rates.append(25 / (time.monotonic() - begun))

    assert min(abs(rate - 50) for rate in rates) < 5
    assert max(rates) < 55


class Clock:
    """Time that passes when somebody sleeps, or an environment is busy."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Busy(Len):
    """An environment whose step takes its time."""

    clock: Clock
    step_s = 0.0

    def step(self, action: Any) -> Any:
        self.clock.sleep(self.step_s)
        return super().step(action)


def seconds_for(clock: Clock, window: InteractiveRender, n: int) -> float:
    begun = clock.now
    steps(window, n)
    return clock.now - begun


@pytest.mark.parametrize("step_s", [0.0, 0.005, 0.015])
def test_the_time_of_a_step_is_part_of_its_period(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    env = Busy(None, render_mode="rgb_array")
    env.clock, env.step_s = Clock(monkeypatch), step_s
    window = watched(env, fps=50)
    window.reset()

    assert seconds_for(env.clock, window, 100) == pytest.approx(2.0, rel=0.001)


@pytest.mark.parametrize("fps", [0, -1])
def test_no_rate_means_no_waiting(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch, fps: float
) -> None:
    clock = Clock(monkeypatch)
    window = watched(Len(None, render_mode="rgb_array"), fps=fps)
    window.reset()

    assert seconds_for(clock, window, 100) == 0


def test_a_long_delay_is_not_made_up_in_a_rush(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    window = watched(Len(None, render_mode="rgb_array"), fps=10)
    window.reset()
    steps(window, 3)

    clock.sleep(5.0)

    steps(window, 1)
    assert seconds_for(clock, window, 20) == pytest.approx(2.0, rel=0.001)


# --- keys ---------------------------------------------------------------------------------------------------------


def test_space_pauses_until_it_is_pressed_again(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    window = watched(Len(None, render_mode="rgb_array"), fps=100)
    window.reset()
    press(pygame.K_SPACE, " ")
    ends = clock.now + 3

    def sleep(seconds: float) -> None:
        clock.now += seconds
        if clock.now >= ends:
            press(pygame.K_SPACE, " ")

    monkeypatch.setattr(time, "sleep", sleep)
    assert seconds_for(clock, window, 1) == pytest.approx(3, abs=0.05)
    monkeypatch.setattr(time, "sleep", clock.sleep)
    assert seconds_for(clock, window, 10) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(("key", "typed"), [("K_n", "n"), ("K_n", "N"), ("K_PERIOD", ".")])
def test_the_key_for_a_single_step_makes_one_and_pauses(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch, key: str, typed: str
) -> None:
    clock = Clock(monkeypatch)
    window = watched(Len(None, render_mode="rgb_array"), fps=100)
    window.reset()
    press(getattr(pygame, key), typed)
    steps(window, 1)  # the key is seen here, and lets one more step pass
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        clock.now += seconds
        waited.append(seconds)
        if len(waited) == 30:
            press(getattr(pygame, key), typed)

    monkeypatch.setattr(time, "sleep", sleep)
    steps(window, 1)

    assert len(waited) == 30


@pytest.mark.parametrize(
    ("key", "typed", "n_times", "rate"),
    [
        ("K_PLUS", "+", 1, 120),
        ("K_EQUALS", "=", 2, 240),
        ("K_MINUS", "-", 1, 30),
        ("K_KP_MINUS", "-", 3, 7.5),
        ("K_MINUS", "-", 50, 0.25),
    ],
)
def test_the_rate_is_doubled_and_halved_by_keys(
    watched: Callable[..., InteractiveRender],
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    typed: str,
    n_times: int,
    rate: float,
) -> None:
    clock = Clock(monkeypatch)
    window = watched(Len(None, render_mode="rgb_array"), fps=60)
    window.reset()
    for _ in range(n_times):
        press(getattr(pygame, key), typed)

    steps(window, 2)

    assert seconds_for(clock, window, 10) == pytest.approx(10 / rate, rel=0.01)
    assert f"{rate:g} steps/s" in pygame.display.get_caption()[0]


def test_beyond_the_fastest_rate_there_is_none_and_slower_brings_one_back(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    window = watched(Len(None, render_mode="rgb_array"), fps=60)
    window.reset()
    for _ in range(5):
        press(pygame.K_PLUS, "+")
    steps(window, 1)
    assert seconds_for(clock, window, 10) == 0

    press(pygame.K_MINUS, "-")
    steps(window, 2)
    assert seconds_for(clock, window, 60) == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("way", ["q", "escape", "close"])
def test_quitting_is_a_keyboard_interrupt_and_closes_the_window(
    watched: Callable[..., InteractiveRender], way: str
) -> None:
    window = watched(Len(None, render_mode="rgb_array"))
    window.reset()
    if way == "close":
        pygame.event.post(pygame.event.Event(pygame.QUIT))
    else:
        press({"q": pygame.K_q, "escape": pygame.K_ESCAPE}[way])

    with pytest.raises(WindowClosed, match="the window was closed"):
        steps(window, 1)

    assert issubclass(WindowClosed, KeyboardInterrupt)
    assert not pygame.display.get_init()


def test_an_evaluation_whose_window_is_closed_reports_the_complete_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    left = [23]
    flip = pygame.display.flip

    def flip_and_count() -> None:
        flip()
        left[0] -= 1
        if left[0] == 0:
            pygame.event.post(pygame.event.Event(pygame.QUIT))

    monkeypatch.setattr(pygame.display, "flip", flip_and_count)
    settings = EvaluationConfig.model_validate({"n_episodes": 9, "render": True, "render_fps": 0})

    result = evaluate(None, EnvConfig(id=LEN, kwargs={"n": 10}), settings, seed=0)

    assert len(result.episodes) == 2
    assert result.interrupted


# --- environments that draw themselves ----------------------------------------------------------------------------


def test_environments_in_human_mode_get_no_window_and_no_render_call_and_that_is_said(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.delenv("SDL_VIDEODRIVER")  # no display is needed either
    with caplog.at_level(logging.WARNING):
        window = watched(Counts(None, render_mode="human"), fps=20)
    window.reset()

    assert seconds_for(clock, window, 40) == pytest.approx(2, rel=0.001)
    assert Counts.calls == {}
    assert "draw themselves: no window is opened" in caplog.text


def test_a_slower_environment_in_human_mode_is_not_slowed_down_further(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such environments wait by themselves; waiting once more would halve the rate."""
    env = Busy(None, render_mode="human")
    env.clock, env.step_s = Clock(monkeypatch), 1 / 50
    window = watched(env, fps=60)
    window.reset()

    assert seconds_for(env.clock, window, 50) == pytest.approx(1.0, rel=0.02)


# --- what is refused ----------------------------------------------------------------------------------------------


def test_environments_that_cannot_be_drawn_are_refused(watched: Callable[..., InteractiveRender]) -> None:
    with pytest.raises(EnvError, match="render_mode=None and cannot be shown: build them with render_mode='rgb_array'"):
        watched(Len(2))


def test_what_is_no_frame_is_refused_naming_the_environment(watched: Callable[..., InteractiveRender]) -> None:
    class Odd(Len):
        def render(self) -> Any:
            return None

    window = watched(Len(2, render_mode="rgb_array"), Odd(2, render_mode="rgb_array"))

    with pytest.raises(EnvError, match=r"environment 1: render\(\) gave NoneType; the window shows arrays"):
        window.reset()


def test_pygame_that_is_missing_is_refused_with_the_pip_command(
    watched: Callable[..., InteractiveRender], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)

    with pytest.raises(MissingDependencyError, match=r"pip install 'mimetic\[render\]'"):
        watched(Len(2, render_mode="rgb_array"))


WITHOUT_DISPLAY = """
from stable_baselines3.common.vec_env import DummyVecEnv
from worlds import Len
from mimetic.errors import EnvError
from mimetic_render import InteractiveRender

venv = DummyVecEnv([lambda: Len(2, render_mode="rgb_array")])
try:
    InteractiveRender(venv, 60)
except EnvError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_without_a_display_the_window_is_refused_at_construction() -> None:
    """SDL would silently draw where nobody can see it."""
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")
    variables = {key: value for key, value in os.environ.items() if key not in hidden}
    variables["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DISPLAY], env=variables, capture_output=True, text=True, check=True
    )

    assert "There is no display to open a window on" in done.stdout
    assert "SDL_VIDEODRIVER=dummy" in done.stdout


def test_pygame_says_nothing_on_standard_output() -> None:
    """A command's JSON stands there."""
    script = "from mimetic_render.window import Window; Window('x').close()"
    variables = {key: value for key, value in os.environ.items() if key != "PYGAME_HIDE_SUPPORT_PROMPT"}

    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**variables, "SDL_VIDEODRIVER": "dummy"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == ""


# --- the component ------------------------------------------------------------------------------------------------


def test_the_component_is_built_by_name_with_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    venv = vectorised(Len(2, render_mode="rgb_array"))
    context = WrapperContext(
        wrapped=venv,
        env_index=0,
        seed=0,
        observation_space=venv.observation_space,
        action_space=venv.action_space,
        n_envs=1,
    )

    window = registry().build("wrapper", "render", {"fps": 12}, context)

    assert isinstance(window, InteractiveRender)
    assert window.fps == 12
    window.close()


# --- a real screen ------------------------------------------------------------------------------------------------

ON_A_SCREEN = """
import sys, time
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv
from worlds import Len
from mimetic_render import InteractiveRender

class Coloured(Len):
    def render(self):
        frame = np.zeros((80, 120, 3), np.uint8)
        frame[:, :, self.n % 3] = 200
        return frame

window = InteractiveRender(DummyVecEnv([lambda n=n: Coloured(n, render_mode="rgb_array") for n in (30, 31, 32)]), 60)
window.reset()
for _ in range(10):
    window.step(np.zeros(3, np.int64))
print("shown", flush=True)
sys.stdin.readline()
window.close()
"""


@pytest.mark.skipif(
    not (shutil.which("Xvfb") and shutil.which("import")), reason="takes a screenshot with Xvfb and ImageMagick"
)
def test_a_screenshot_shows_the_environments(tmp_path: Path) -> None:
    from PIL import Image

    reading, writing = os.pipe()
    screen = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x480x24"]
    server = subprocess.Popen(screen, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as display:
            variables = {**os.environ, "DISPLAY": f":{display.readline().strip()}"}
        variables.pop("SDL_VIDEODRIVER", None)
        variables["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
        program = [sys.executable, "-c", ON_A_SCREEN]
        pipe = subprocess.PIPE
        with subprocess.Popen(program, env=variables, stdin=pipe, stdout=pipe, text=True) as shown:
            assert shown.stdin is not None
            assert shown.stdout is not None
            assert shown.stdout.readline() == "shown\n"
            subprocess.run(["import", "-window", "root", str(tmp_path / "screen.png")], env=variables, check=True)
            shown.stdin.write("\n")
    finally:
        server.terminate()
        server.wait()

    pixels = np.asarray(Image.open(tmp_path / "screen.png").convert("RGB"))
    for colour in ((200, 0, 0), (0, 200, 0), (0, 0, 200)):
        assert (pixels == colour).all(axis=2).sum() == 80 * 120
