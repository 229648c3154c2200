"""A wrapper that scales observations."""

from typing import Any

import gymnasium as gym

from acme_mimetic.config import ScaleConfig
from mimetic import WrapperContext


def build(config: ScaleConfig, context: WrapperContext) -> gym.Env[Any, Any]:
    """Multiply each observation by ``factor``; the space is left as it is."""
    env: gym.Env[Any, Any] = context.wrapped
    space = env.observation_space
    return gym.wrappers.TransformObservation(env, lambda obs: (obs * config.factor).astype(space.dtype), space)
