"""What do collection and evaluation call? An actor: observations of all environments in, their actions out.

An actor knows when an episode begins in which environment and draws from a stream of that episode alone, so that
what an episode does depends on its seed, never on how many others run beside it.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from mimetic.seeding import derive_seed, generator
from mimetic.spaces import refuse_unsupported

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic.types.observations import Observations

NOTHING: Mapping[str, np.ndarray] = MappingProxyType({})


class Actor(ABC):
    """Chooses actions for all environments at once. Derive from it, or pass any callable with the same arguments."""

    recurrent: bool = False
    """Whether ``state`` carries something from step to step."""

    seeded: bool = True
    """Whether all that it draws comes from the seeds that ``begin_episode`` was given (or it draws nothing)."""

    live: bool = False
    """Whether what it did cannot be had again, as with a person: its episodes are written as soon as they are over."""

    last_infos: Mapping[str, np.ndarray] = NOTHING
    """What it can tell about the actions of the last call, one row an environment, e.g. ``explored``."""

    @abstractmethod
    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return actions ``(n, *A)`` for observations ``(n, *O)``, and the state for the next call.

        ``state`` is None at first, then what the last call returned; ``episode_start`` (n,) bool marks the
        environments whose observation is the first of an episode.
        """

    def begin_episode(self, env_index: int, seed: int) -> None:  # noqa: B027 - an actor may have nothing to note
        """Take note that a new episode with this seed begins in an environment."""


class EpisodeStreams:
    """One random generator for each environment, started again from a seed with each of its episodes."""

    def __init__(self, seed: int, name: str) -> None:
        self._seed, self._name = seed, name
        self._generators: dict[int, np.random.Generator] = {}

    def begin(self, env_index: int, seed: int) -> None:
        """Start an environment's stream for an episode."""
        self._generators[env_index] = generator(seed, self._name)

    def __getitem__(self, env_index: int) -> np.random.Generator:
        """Return an environment's stream; one that began no episode has a stream of its own."""
        if env_index not in self._generators:
            self._generators[env_index] = generator(self._seed, self._name, env_index)
        return self._generators[env_index]

    def first(self, n: int) -> list[np.random.Generator]:
        """Return the streams of the first n environments."""
        return [self[env_index] for env_index in range(n)]


class UniformActor(Actor):
    """Draws every action from the action space, whatever it sees."""

    def __init__(self, action_space: gym.Space[Any], seed: int = 0) -> None:
        refuse_unsupported(action_space, "action")
        self._action_space, self._seed = action_space, seed
        self._spaces: dict[int, gym.Space[Any]] = {}

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Draw one action for each environment."""
        acts = [self._space(env_index).sample() for env_index in range(len(episode_start))]
        return np.stack(acts).astype(self._action_space.dtype, copy=False), state

    def begin_episode(self, env_index: int, seed: int) -> None:
        """Start the environment's stream again."""
        self._space(env_index).seed(derive_seed(seed, "uniform actions"))

    def _space(self, env_index: int) -> gym.Space[Any]:
        """Return the environment's own copy of the space: the caller's is never drawn from."""
        if env_index not in self._spaces:
            self._spaces[env_index] = copy.deepcopy(self._action_space)
            self._spaces[env_index].seed(derive_seed(self._seed, "uniform actions", env_index))
        return self._spaces[env_index]
