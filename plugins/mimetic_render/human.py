"""How does a person act? By the keys that are down when a step is due, in the window that shows the environment."""

from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, unwrap_vec_wrapper

from mimetic.errors import ConfigError
from mimetic.hookspecs import PolicyContext
from mimetic.policies import Actor
from mimetic.types import Observations
from mimetic_render.config import HumanConfig
from mimetic_render.interactive import InteractiveRender
from mimetic_render.key_map import KeyMap
from mimetic_render.known_keys import find_key_map
from mimetic_render.window import KeyEvent

FASTEST_BY_DEFAULT = 30.0


def build(config: HumanConfig, context: PolicyContext) -> "HumanActor":
    """Let somebody play in the window around ``context.venv``.

    Raises:
        ConfigError: There is no window, there are several environments, or nobody knows what the keys mean.
    """
    screen = None if context.venv is None else unwrap_vec_wrapper(context.venv, InteractiveRender)
    if not isinstance(screen, InteractiveRender) or not screen.has_window:
        raise ConfigError(
            "the policy 'human' acts on what it sees, so it needs the window: `mimetic collect human` opens it, "
            "`mimetic eval` with --render, Python with render=True"
        )
    if screen.num_envs != 1:
        raise ConfigError(f"the policy 'human' plays in one environment at a time, and n_envs is {screen.num_envs}")
    keys = find_key_map(config.keys, screen, context.action_space)
    screen.set_rate(config.fps or min(_shown_at(screen), FASTEST_BY_DEFAULT))
    return HumanActor(screen, keys)


class HumanActor(Actor):
    """Does what the keys say.

    An episode begins when a key of the map is pressed. A key counts for the step that is due while it is down, and one
    that was only tapped between two steps for the next of them.
    """

    seeded = False
    live = True

    def __init__(self, screen: InteractiveRender, keys: KeyMap) -> None:
        """Play in ``screen``."""
        self._screen, self._keys = screen, keys
        self._keyboard = Keyboard()
        self._last: np.ndarray | None = None
        self._n_begun = 0
        screen.lend_keyboard(self._keyboard.hear, keys.names)

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the one action."""
        if episode_start[0]:
            self._begin()
        self._last = self._action()
        self._keyboard.forget_taps()
        return self._last[None], state

    def _begin(self) -> None:
        self._n_begun += 1
        self._last = None
        self._keyboard.forget_taps()
        self._screen.note(f"episode {self._n_begun}: press {self._keys}")
        self._screen.wait_until(lambda: not self._keys.names.isdisjoint(self._keyboard.tapped))
        self._screen.note(f"episode {self._n_begun}: {self._keys}")

    def _action(self) -> np.ndarray:
        action = self._chosen()
        if action is None and self._keys.none == "repeat":
            action = self._last
        if action is None:
            self._screen.wait_until(lambda: self._chosen() is not None)
            action = self._chosen()
        assert action is not None
        return action

    def _chosen(self) -> np.ndarray | None:
        return self._keys.action(self._keyboard.pressed())


class Keyboard:
    """Knows which keys are down, and which were pressed lately."""

    def __init__(self) -> None:
        """Begin with no key down."""
        self._down: dict[str, None] = {}  # in the order of pressing
        self.tapped: dict[str, None] = {}  # pressed since the last step, whether or not they are still down

    def hear(self, event: KeyEvent) -> None:
        """Take note of a key."""
        self._down.pop(event.name, None)
        if event.down:
            self.tapped.pop(event.name, None)
            self._down[event.name] = self.tapped[event.name] = None

    def pressed(self) -> list[str]:
        """Return the keys that count for the step that is due, the latest last."""
        return [*(key for key in self._down if key not in self.tapped), *self.tapped]

    def forget_taps(self) -> None:
        """Note that a step was made: what is not down any more counts no longer."""
        self.tapped = {}


def _shown_at(venv: VecEnv) -> float:
    """Return how many steps a second the environment is meant to be shown at."""
    (metadata,) = venv.get_attr("metadata", [0])
    return float((metadata or {}).get("render_fps") or FASTEST_BY_DEFAULT)
