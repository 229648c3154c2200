"""Which keys mean what, when nobody says so? What the environment itself says, or what is usual for it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from mimetic.errors import ConfigError, Fault
from mimetic_render.key_map import NONE, KeyMap, action_of, key_map
from mimetic_render.window import key_of_code

_DISCRETE_LANDER = {"left": 1, "up": 2, "right": 3, NONE: 0}
_CONTINUOUS_LANDER = {"left": [0.0, -1.0], "up": [1.0, 0.0], "right": [0.0, 1.0]}
_GRID = {"left": 0, "down": 1, "right": 2, "up": 3, NONE: "wait"}

USUAL: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "CartPole": ({"left": 0, "right": 1, NONE: "repeat"},),  # it always pushes one way or the other
    "MountainCar": ({"left": 0, "right": 2, NONE: 1},),
    "MountainCarContinuous": ({"left": [-1.0], "right": [1.0]},),
    "Acrobot": ({"left": 0, "right": 2, NONE: 1},),  # whereto the lower link swings
    "Pendulum": ({"left": [2.0], "right": [-2.0]},),  # torque is counted counter-clockwise
    "LunarLander": (_DISCRETE_LANDER, _CONTINUOUS_LANDER),
    "LunarLanderContinuous": (_CONTINUOUS_LANDER,),
    "CarRacing": (
        {"left": [-1.0, 0.0, 0.0], "right": [1.0, 0.0, 0.0], "up": [0.0, 1.0, 0.0], "down": [0.0, 0.0, 0.8]},
        {"right": 1, "left": 2, "up": 3, "down": 4, NONE: 0},
    ),
    "FrozenLake": (_GRID,),
    "FrozenLake8x8": (_GRID,),
    "CliffWalking": ({"up": 0, "right": 1, "down": 2, "left": 3, NONE: "wait"},),
    "Taxi": ({"down": 0, "up": 1, "right": 2, "left": 3, "p": 4, "d": 5, NONE: "wait"},),
    "Blackjack": ({"s": 0, "h": 1, NONE: "wait"},),
}
"""By the name of an environment, without its version; the first whose actions are the environment's."""


def find_key_map(given: Mapping[str, Any] | None, venv: VecEnv, action_space: gym.Space[Any]) -> KeyMap:
    """Return the map that was given, the environment's own (``get_keys_to_action``), or the usual one.

    Raises:
        ConfigError: there is none, or it does not fit the actions.
    """
    if given is not None:
        return key_map(given, action_space)
    if venv.has_attr("get_keys_to_action"):
        (own,) = venv.env_method("get_keys_to_action", indices=[0])
        return key_map(as_words(own, action_space), action_space)
    env_id = _id_of(venv)
    for usual in USUAL.get(_name_in(env_id), ()):
        if all(isinstance(value, str) or action_of(value, action_space) is not None for value in usual.values()):
            return key_map(usual, action_space)
    example = "left=[-1.0],right=[1.0]" if isinstance(action_space, gym.spaces.Box) else "left=0,right=1,none=repeat"
    raise ConfigError(
        Fault(
            f"nobody knows which key means what in {env_id}, whose actions are {action_space}: say it, "
            f"e.g. --keys '{example}' (an action for each key, and for none)",
            "keys",
        )
    )


def as_words(own: Mapping[Any, Any], action_space: gym.Space[Any]) -> dict[str, Any]:
    """Return what ``get_keys_to_action`` gave as a key map's words.

    Its keys are gymnasium's: codes or characters, alone or in tuples. Without a key its play makes the action 0.

    Raises:
        ConfigError: it names a key that does not exist.
    """
    words: dict[str, Any] = {}
    for keys, action in own.items():
        alone = isinstance(keys, int | np.integer) or keys is None
        names = [_key_name(each) for each in ((keys,) if alone else keys) if each is not None]
        words["+".join(names) or NONE] = action
    if NONE not in words and isinstance(action_space, gym.spaces.Discrete) and action_space.contains(np.int64(0)):
        words[NONE] = 0
    return words


def _key_name(key: Any) -> str:
    code = ord(key) if isinstance(key, str) and len(key) == 1 else key
    name = str(code) if isinstance(code, str) else key_of_code(int(code))
    if not name:
        raise ConfigError(
            Fault(
                f"the environment's get_keys_to_action names the key {key!r}, which does not exist: give --keys", "keys"
            )
        )
    return {"+": "plus", ",": "comma", "=": "equals"}.get(name, name)


def _id_of(venv: VecEnv) -> str:
    specs: Iterable[Any] = venv.get_attr("spec", [0])
    (spec,) = specs
    return getattr(spec, "id", None) or "this environment"


def _name_in(env_id: str) -> str:
    """Return ``CartPole`` of ``CartPole-v1``."""
    found = re.fullmatch(r"(?:.*/)?(\w+)-v\d+", env_id)
    return found[1] if found else env_id
