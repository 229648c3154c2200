"""How do observations that nest mappings reach vectorised environments, which know one level only?"""

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
from gymnasium import spaces

from mimetic.types import obs_leaves
from mimetic.types.observations import escape_key


def is_nested(space: gym.Space[Any]) -> bool:
    """Whether a Dict space holds another Dict."""
    return isinstance(space, spaces.Dict) and any(isinstance(sub, spaces.Dict) for sub in space.spaces.values())


def flat_space(space: spaces.Dict) -> spaces.Dict:
    """Return the space with one level: ``{"a": {"b": x}}`` becomes ``{"a.b": x}``, dots inside keys written ``%2E``."""
    return spaces.Dict(dict(_leaf_spaces(space, "")))


class FlatKeys(gym.ObservationWrapper[Any, Any, Any]):
    """Gives nested Dict observations under dotted keys, which are those of the native dataset's columns."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        """Wrap an environment whose observation space is a nested Dict."""
        super().__init__(env)
        assert isinstance(env.observation_space, spaces.Dict)
        self.observation_space = flat_space(env.observation_space)

    def observation(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """Return the leaves by dotted key; arrays are not copied."""
        return {key.removeprefix("obs."): leaf for key, leaf in obs_leaves(observation).items()}


def _leaf_spaces(space: spaces.Dict, prefix: str) -> Iterator[tuple[str, gym.Space[Any]]]:
    for key, sub in space.spaces.items():
        name = f"{prefix}{escape_key(key)}"
        if isinstance(sub, spaces.Dict):
            yield from _leaf_spaces(sub, f"{name}.")
        else:
            yield name, sub
