"""What is a frame, and when is one taken? One at every reset, one after every step."""

import os
from typing import Any

import gymnasium as gym
import numpy as np

from mimetic.errors import EnvError, MissingDependencyError
from mimetic_video.caption import draw_caption

DEFAULT_FPS = 30.0
"""For an environment whose metadata name no ``render_fps``."""


class Camera:
    """Takes the frames of one environment; holds that of a reset back until the first step.

    A vectorised environment resets itself after its last episode, too. Held back, that frame opens no file.
    """

    def __init__(self, env: gym.Env[Any, Any], *, caption: bool = False) -> None:
        """Look at the render mode, and at a frame where the environment can draw one already.

        Raises:
            EnvError: The environment gives no frames.
            MissingDependencyError: The library that it draws with is not installed.
        """
        check_render_mode(env)
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # its greeting would stand in a command's JSON
        self._env = env
        self._caption = caption
        self._held: np.ndarray | None = None  # (H, W, 3) uint8
        self._step = 0
        self._return = 0.0
        self.fps = frames_per_second(env)
        self.frame: np.ndarray | None = None  # the last one, without caption: (H, W, 3) uint8
        _try_a_frame(env)

    def reset(self) -> None:
        """Take the frame of a reset that has just been made."""
        self._step, self._return = 0, 0.0
        self.frame = self._take()
        self._held = self._captioned("step 0").copy()

    def step(self, action: Any, reward: float) -> list[np.ndarray]:
        """Take the frame of a step that has just been made; the first brings the frame of its reset along."""
        self._step += 1
        self._return += float(reward)
        self.frame = self._take()
        frames = [] if self._held is None else [self._held]
        self._held = None
        frames.append(self._captioned(f"step {self._step}", action))
        return frames

    def _take(self) -> np.ndarray:
        frame = self._env.render()
        check_frame(frame, self._env)
        assert isinstance(frame, np.ndarray)
        return frame

    def _captioned(self, step: str, action: Any = None) -> np.ndarray:
        assert self.frame is not None
        if not self._caption:
            return self.frame
        parts = [step, *([] if action is None else [f"action {action_text(action)}"]), f"return {self._return:.2f}"]
        return draw_caption(self.frame, parts)


def check_render_mode(env: gym.Env[Any, Any]) -> None:
    """Refuse an environment that will not give frames.

    Raises:
        EnvError: Its render mode is not ``rgb_array``; names the environment and the modes that it offers.
    """
    if env.render_mode == "rgb_array":
        return
    modes = env.metadata.get("render_modes", [])
    advice = (
        f"build it with render_mode='rgb_array', as in gymnasium.make({env_name(env)!r}, render_mode='rgb_array')"
        if "rgb_array" in modes
        else "it cannot be filmed"
    )
    raise EnvError(
        f"{env_name(env)}: filming needs render mode 'rgb_array', the environment's is {env.render_mode!r}, "
        f"and it offers {modes}: {advice}"
    )


def check_frame(frame: object, env: gym.Env[Any, Any]) -> None:
    """Refuse what is no picture, rather than guess what it means.

    Raises:
        EnvError: ``render()`` gave something else than an array (height, width, 3) of uint8.
    """
    if isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.ndim == 3:
        height, width, n_colours = frame.shape
        if height and width and n_colours == 3:
            return
    seen = f"an array {frame.shape} of {frame.dtype}" if isinstance(frame, np.ndarray) else type(frame).__name__
    raise EnvError(f"{env_name(env)}: render() gave {seen}; a frame is an array (height, width, 3) of uint8")


def _try_a_frame(env: gym.Env[Any, Any]) -> None:
    """Find out early that drawing cannot work, without a reset: that could change the episodes that follow.

    Many environments have nothing to draw before their first reset; their first frame is checked there.
    """
    try:
        frame = env.render()
    except gym.error.DependencyNotInstalled as error:
        raise MissingDependencyError(f"{env_name(env)}: {error}") from error
    except Exception:
        return
    if frame is not None:
        check_frame(frame, env)


def frames_per_second(env: gym.Env[Any, Any]) -> float:
    """Return the environment's own rate, 30 when it names none.

    Raises:
        EnvError: What it names is no rate.
    """
    fps = env.metadata.get("render_fps")
    if fps is None:
        return DEFAULT_FPS
    try:
        rate = float(fps)
    except (TypeError, ValueError):
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise EnvError(f"{env_name(env)}: metadata['render_fps'] is {fps!r}, expected frames per second above 0")
    return rate


def env_name(env: gym.Env[Any, Any]) -> str:
    """Name an environment as its user does: by its id, else by its class."""
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def action_text(action: Any) -> str:
    """Write an action briefly: whole numbers as they are, others with two decimals, six entries at most."""
    values = np.asarray(action).ravel()
    texts = [f"{value:.2f}" if np.issubdtype(values.dtype, np.floating) else str(value) for value in values[:6]]
    return " ".join([*texts, *(["..."] if values.size > 6 else [])])
