"""How does a user watch environments while they run? In one window around all of them."""

import logging
import time
from collections.abc import Callable

from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from mimetic.errors import EnvError
from mimetic.evaluate.playing import Interruption
from mimetic.hookspecs import WrapperContext
from mimetic_render.config import RenderConfig
from mimetic_render.pace import Pace
from mimetic_render.tiles import tile
from mimetic_render.window import KeyEvent, Window, WindowClosed

LOG = logging.getLogger(__name__)
LOOK_FOR_KEYS_S = 0.02
"""How long a wait for the next frame, or a pause, leaves the keyboard alone."""

COMMANDS = {
    "pause": ("space", "p"),
    "step": ("n", "."),
    "faster": ("+", "="),
    "slower": ("-", "_"),
    "quit": ("q", "escape"),
}
"""What keys do."""


def build(config: RenderConfig, context: WrapperContext) -> "InteractiveRender":
    """Put a window around the vectorised environment of a ``WrapperContext``."""
    return InteractiveRender(context.wrapped, config.fps)


class InteractiveRender(VecEnvWrapper):
    """Shows the wrapped environments in one window, at the reset and after every step.

    Keys: space or ``p`` pauses and goes on, ``n`` or ``.`` makes a single step, ``+`` and ``-`` double and halve the
    rate, ``q``, Escape or closing the window ends it all with :class:`WindowClosed`, a KeyboardInterrupt.

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
        self._hear: Callable[[KeyEvent], None] = lambda event: None
        self._lent: frozenset[str] = frozenset()
        self._note = ""
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

    # --- for whoever plays in this window ---

    @property
    def has_window(self) -> bool:
        """Whether there is a window of its own; environments in render mode ``human`` draw themselves."""
        return self._window is not None

    def lend_keyboard(self, hear: Callable[[KeyEvent], None], keys: frozenset[str]) -> None:
        """Tell ``hear`` of every key from now on; ``keys`` do nothing else any more."""
        self._hear, self._lent = hear, keys

    def set_rate(self, fps: float) -> None:
        """Make ``fps`` steps a second."""
        self.fps = fps
        self._pace = Pace(fps)
        self.note(self._note)

    def note(self, text: str) -> None:
        """Put ``text`` into the title."""
        self._note = text
        if self._window is not None:
            self._window.title = self._title()

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait with the window open; what was missed of the rate meanwhile is not made up.

        Raises:
            KeyboardInterrupt: Ctrl-C, or WindowClosed: the user wants no more.
        """
        self._obey_keys()
        while not ready():
            Interruption.grant()
            time.sleep(LOOK_FOR_KEYS_S)
            self._obey_keys()
        self._pace.restart()

    # --- the window ---

    def _show(self) -> None:
        if self._window is not None:
            self._window.show(tile(self.venv.get_images()))
        self._pace.next_frame()
        self._obey_keys()
        while self._waits():
            Interruption.grant()
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
            events = self._window.events()
            for event in events:
                self._hear(event)
                if event.down and not self._lent & {event.name, event.text}:
                    self._obey(event.text)
        except WindowClosed:
            self._window.close()
            raise
        if events:
            self._window.title = self._title()

    def _obey(self, key: str) -> None:
        if key in COMMANDS["pause"]:
            self._paused = not self._paused
            self._pace.restart()
        elif key in COMMANDS["step"]:
            self._paused = self._one_step = True
        elif key in COMMANDS["faster"]:
            self._pace.faster()
        elif key in COMMANDS["slower"]:
            self._pace.slower()
        elif key in COMMANDS["quit"]:
            raise WindowClosed(f"the window was closed with the key {key!r}")

    def _title(self) -> str:
        rate = "paused" if self._paused else f"{self._pace.fps:g} steps/s" if self._pace.fps > 0 else "unthrottled"
        words = ("pause", "slower", "quit") if self._note else tuple(COMMANDS)
        free = {word: next((key for key in COMMANDS[word] if key not in self._lent), None) for word in words}
        head = f"{self._note};" if self._note else f"mimetic: {self.num_envs} x"
        return f"{head} {rate} ({', '.join(f'{key} {word}' for word, key in free.items() if key)})"
