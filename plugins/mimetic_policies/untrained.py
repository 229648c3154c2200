"""The policies ``random`` and ``zero``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mimetic.errors import SpaceError
from mimetic.policies import Actor, UniformActor
from mimetic.spaces import refuse_unsupported

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic import PolicyContext
    from mimetic_policies.config import RandomConfig, ZeroConfig


class ZeroActor(Actor):
    """Always the action zero."""

    def __init__(self, action_space: gym.Space[Any]) -> None:
        refuse_unsupported(action_space, "action")
        self._zero = np.zeros(action_space.shape or (), action_space.dtype)
        if not action_space.contains(self._zero):
            raise SpaceError(f"zero is no action of {action_space}, so the policy `zero` cannot act there")

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return one zero for each environment."""
        return np.stack([self._zero] * len(episode_start)), state


def build_random(config: RandomConfig, context: PolicyContext) -> UniformActor:
    """Build the policy ``random``."""
    return UniformActor(context.action_space, context.seed)


def build_zero(config: ZeroConfig, context: PolicyContext) -> ZeroActor:
    """Build the policy ``zero``."""
    return ZeroActor(context.action_space)
