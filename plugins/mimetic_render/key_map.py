"""What does a key mean? An action, alone or together with others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mimetic.errors import ConfigError, Fault
from mimetic_render.window import key_called

NONE = "none"
"""Stands for no key at all."""

SPELT_OUT = {"plus": "+", "minus": "-", "comma": ",", "equals": "=", "enter": "return"}
"""Keys whose own name would be read as something else."""

QUITS = "escape"
"""The key that always ends it."""

WITHOUT_A_KEY = ("repeat", "wait")


@dataclass(frozen=True, slots=True, eq=False)
class KeyMap:
    """Actions by the keys that are down."""

    actions: Mapping[frozenset[str], np.ndarray]  # by one key, or by several together
    none: np.ndarray | Literal["repeat", "wait"]  # without a key
    bounds: spaces.Box | None = None  # of actions that add up when several keys are down

    @property
    def names(self) -> frozenset[str]:
        """All keys that mean something."""
        return frozenset().union(*self.actions)

    def action(self, pressed: Sequence[str]) -> np.ndarray | None:
        """Return what ``pressed`` keys mean, the latest last; None: nothing, which ``none`` has no action for.

        Keys together mean what the map says for them. Else continuous actions add up, and of others the largest
        combination counts, with the latest key.
        """
        down = [key for key in pressed if key in self.names]
        if frozenset(down) in self.actions:
            return self.actions[frozenset(down)]
        parts = [keys for keys in self.actions if keys <= set(down)]
        if not parts:
            return None if isinstance(self.none, str) else self.none
        if self.bounds is not None:
            return self._sum([self.actions[keys] for keys in parts if len(keys) == 1] or [self.actions[parts[0]]])
        return self.actions[max(parts, key=lambda keys: (len(keys), max(map(down.index, keys))))]

    def _sum(self, actions: Sequence[np.ndarray]) -> np.ndarray:
        assert self.bounds is not None
        total = np.clip(np.sum(actions, axis=0), self.bounds.low, self.bounds.high)
        return np.asarray(total, self.bounds.dtype)

    def __str__(self) -> str:
        """List the keys."""
        return ", ".join(sorted("+".join(sorted(keys)) for keys in self.actions if len(keys) == 1)) or "a key"


def key_map(keys: Mapping[str, Any], action_space: gym.Space[Any]) -> KeyMap:
    """Read ``{"left": 0, "right": 2, "none": 1}``.

    Without ``none``: zero where that is an action that does nothing (continuous and multi-binary ones), else the last
    action again.

    Raises:
        ConfigError: a key or an action does not exist; every fault is named.
    """
    faults: list[Fault] = []
    actions: dict[frozenset[str], np.ndarray] = {}
    none: Any = None
    for text, value in keys.items():
        action = action_of(value, action_space)
        if text == NONE and isinstance(value, str) and value in WITHOUT_A_KEY:
            none = str(value)
        elif action is None:
            faults.append(
                Fault(f"{text}={value} is no action of {action_space}{_HINT if text == NONE else ''}", "keys")
            )
        elif text == NONE:
            none = action
        else:
            actions[_combination(text, faults)] = action
    if not actions and not faults:
        faults.append(Fault("no key has an action; expected e.g. left=0,right=1", "keys"))
    if faults:
        raise ConfigError(faults)
    is_continuous = isinstance(action_space, spaces.Box) and np.issubdtype(action_space.dtype, np.floating)
    if none is None:
        still = action_of(np.zeros(action_space.shape or ()), action_space)
        none = still if still is not None and isinstance(action_space, spaces.Box | spaces.MultiBinary) else "repeat"
    return KeyMap(actions, none, action_space if is_continuous else None)  # type: ignore[arg-type]  # a Box then


_HINT = ", and neither 'repeat' (the last action again) nor 'wait' (nothing moves)"


def action_of(value: Any, space: gym.Space[Any]) -> np.ndarray | None:
    """Return a value as a member of an action space, None when it is none."""
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        return None
    if array.dtype.kind not in "iufb" or array.size != int(np.prod(space.shape or ())):
        return None
    array = array.reshape(space.shape or ())
    exact = array.astype(space.dtype)
    same = np.allclose(exact, array) if np.issubdtype(exact.dtype, np.floating) else np.array_equal(exact, array)
    return exact if same and space.contains(exact) else None


def _combination(text: str, faults: list[Fault]) -> frozenset[str]:
    """Return the keys in ``left+up``, by their own names."""
    names = set()
    for word in [text] if text == "+" else text.split("+"):
        spelt = SPELT_OUT.get(word.strip().lower(), word.strip())
        name = key_called(spelt)
        if name is None:
            faults.append(Fault(f"no key is called {word!r}; e.g. left, space, a, 1, return, plus", "keys"))
        elif name == QUITS:
            faults.append(Fault("escape always ends the play, so it can mean no action", "keys"))
        else:
            names.add(name)
    return frozenset(names)
