"""How does a policy explore with continuous actions? With noise on top of its own."""

from typing import Any

import gymnasium as gym
import numpy as np

from mimetic.errors import ConfigError, SpaceError
from mimetic.hookspecs import WrapperContext
from mimetic.policies import Actor
from mimetic.policies.actors import EpisodeStreams
from mimetic.seeding import derive_seed
from mimetic.types import Observations
from mimetic_explore.config import GaussianConfig

STREAM = "explore: gaussian"


def build(config: GaussianConfig, context: WrapperContext) -> "GaussianActor":
    """Put noise on the actor of a ``WrapperContext``."""
    return GaussianActor(context.wrapped, context.action_space, sigma=config.sigma, seed=context.seed)


class GaussianActor(Actor):
    """Adds ``sigma * N(0, 1)`` to every entry of every action and clips it to the action space.

    The noise of an episode comes from the episode's own stream. ``last_infos["explored"]`` is true for each action
    that is not the policy's own.
    """

    def __init__(self, actor: Actor, action_space: gym.Space[Any], *, sigma: float, seed: int = 0) -> None:
        """Explore around ``actor``: an episode's noise comes from its seed and ``seed``, else from ``seed`` alone.

        Raises:
            SpaceError: The actions are no Box of floats.
            ConfigError: ``sigma`` is no positive number.
        """
        if not (isinstance(action_space, gym.spaces.Box) and np.issubdtype(action_space.dtype, np.floating)):
            raise SpaceError(
                f"gaussian: noise needs continuous actions, a Box of floats, and the action space is {action_space}; "
                "epsilon-greedy and switching explore in any space"
            )
        if not 0 < sigma < np.inf:
            raise ConfigError(f"gaussian: sigma is {sigma}, expected a number above 0")
        self.recurrent = actor.recurrent
        self.seeded = actor.seeded
        self.sigma = sigma
        self._actor = actor
        self._space = action_space
        self._seed = seed
        self._streams = EpisodeStreams(seed, STREAM)

    def begin_episode(self, env_index: int, seed: int) -> None:
        """Start the environment's streams again."""
        self._actor.begin_episode(env_index, seed)
        self._streams.begin(env_index, derive_seed(seed, STREAM, self._seed))

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the actor's actions with noise on them."""
        own, state = self._actor(obs, state, episode_start)
        noise = np.stack([self._streams[i].standard_normal(self._space.shape) for i in range(len(own))])
        noisy = np.clip(own + self.sigma * noise, self._space.low, self._space.high).astype(self._space.dtype)
        differs = (noisy != own).reshape(len(own), -1).any(axis=1)
        self.last_infos = {**self._actor.last_infos, "explored": differs}
        return noisy, state
