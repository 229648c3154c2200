"""How does a user watch environments while they run? In one window around all of them."""

import logging
import time

from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from mimetic.errors import EnvError
from mimetic.hookspecs import WrapperContext
from mimetic_render.config import RenderConfig
from mimetic_render.pace import Pace
from mimetic_render.tiles import tile
from mimetic_render.window import Window, WindowClosed

LOG = logging.getLogger(__name__)
LOOK_FOR_KEYS_S = 0.02
"""How long a wait for the next frame, or a pause, leaves the keyboard alone."""


def build(config: RenderConfig, context: WrapperContext) -> "InteractiveRender":
    """Put a window around the vectorised environment of a ``WrapperContext``."""
    return InteractiveRender(context.wrapped, config.fps)


class InteractiveRender(VecEnvWrapper):
    """Shows the wrapped environments in one window, at the reset and after every step.

    Keys: space pauses and goes on, ``n`` or ``.`` makes a single step, ``+`` and ``-`` double and halve the rate,
    ``q``, Escape or closing the window ends it all with :class:`WindowClosed`, a KeyboardInterrupt.

    Environments in render mode ``rgb_array`` are drawn here. Those in mode ``human`` draw themselves, at a rate of
    their own: they get no window and no render call, and are only kept from being faster than ``fps``.
    """

    def __init__(self, venv: VecEnv, fps: float) -> None:
        """Show ``venv`` at ``fps`` steps a second; zero or less means as fast as they come.

        Raises:
            EnvError: There is no display, or the environments cannot be drawn.
            MissingDependencyError: pygame is not installed.
        """
        super().__init__(venv)
        self.fps = fps
        self._pace = Pace(fps)
        self._paused = False
        self._one_step = False
        self._window: Window | None = None
        if self.render_mode == "rgb_array":
            self._window = Window(self._title())
        elif self.render_mode == "human":
            LOG.warning(
                "The environments were built with render_mode='human' and draw themselves: no window is opened for "
                "them, and their rate is only held down to %g a second",
                fps,
            )
        else:
            raise EnvError(
                f"The environments were built with render_mode={self.render_mode!r} and cannot be shown: "
                "build them with render_mode='rgb_array'"
            )

    def reset(self) -> VecEnvObs:
        """Reset the environments and show them."""
        observations = self.venv.reset()
        self._show()
        return observations

    def step_wait(self) -> VecEnvStepReturn:
        """Finish the step, show the environments, and wait until the next step is due.

        Raises:
            WindowClosed: The user wants no more.
        """
        result = self.venv.step_wait()
        self._show()
        return result

    def close(self) -> None:
        """Close the window and the environments."""
        try:
            if self._window is not None:
                self._window.close()
        finally:
            super().close()

    def _show(self) -> None:
        if self._window is not None:
            self._window.show(tile(self.venv.get_images()))
        self._pace.next_frame()
        self._obey_keys()
        while self._waits():
            time.sleep(min(LOOK_FOR_KEYS_S, self._pace.seconds_left() or LOOK_FOR_KEYS_S))
            self._obey_keys()

    def _waits(self) -> bool:
        """Whether the next step is not due yet."""
        if self._paused and not self._one_step:
            return True
        if self._paused:
            self._one_step = False
            return False
        return self._pace.seconds_left() > 0

    def _obey_keys(self) -> None:
        if self._window is None:
            return
        try:
            pressed = self._window.keys()
            for key in pressed:
                self._obey(key)
        except WindowClosed:
            self._window.close()
            raise
        if pressed:
            self._window.title = self._title()

    def _obey(self, key: str) -> None:
        if key == "space":
            self._paused = not self._paused
            self._pace.restart()
        elif key in ("n", "."):
            self._paused = self._one_step = True
        elif key in ("+", "="):
            self._pace.faster()
        elif key in ("-", "_"):
            self._pace.slower()
        elif key in ("q", "escape"):
            raise WindowClosed(f"the window was closed with the key {key!r}")

    def _title(self) -> str:
        rate = "paused" if self._paused else f"{self._pace.fps:g} steps/s" if self._pace.fps > 0 else "unthrottled"
        return f"mimetic: {self.num_envs} x {rate} (space pause, n step, + faster, - slower, q quit)"
