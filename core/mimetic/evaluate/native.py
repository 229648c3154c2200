"""How do gymnasium's own vectorised environments come to be?"""

import math
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import MultiDiscrete

from mimetic.errors import ConfigError, EnvError

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from mimetic.config import EnvConfig, EvaluationConfig

FEW = 1024
"""So many members of a space are remembered, where there are no more."""


def make_native(env: "EnvConfig", settings: "EvaluationConfig", n_envs: int) -> "VectorEnv[Any, Any, Any]":
    """Build ``gymnasium.make_vec``'s vectorised environment: the environment's own one where it has one.

    Raises:
        ConfigError: Something is asked that goes around single environments, which nobody can reach in it.
        EnvError: It cannot be built.
    """
    asked = {
        "env.wrappers": env.wrappers,
        "evaluation.wrappers": settings.wrappers,
        "videos": settings.videos,
        "render": settings.render,
        "reward": settings.reward,
    }
    refused = [name for name, value in asked.items() if value]
    if refused:
        raise ConfigError(
            "vectorization: native environments are stepped as gymnasium builds them, so there is no "
            f"{', no '.join(refused)} around them; leave out either"
        )
    options: dict[str, Any] = dict(env.kwargs)
    if env.max_episode_steps is not None:
        options["max_episode_steps"] = env.max_episode_steps
    mode = "async" if settings.processes else None
    try:
        native = gym.make_vec(env.id, num_envs=n_envs, vectorization_mode=mode, **options)
    except Exception as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise EnvError(f"environment {env.id!r} cannot be vectorised with {dict(env.kwargs)}: {text}") from error
    if type(native.action_space) is MultiDiscrete:
        native.action_space = QuickMultiDiscrete(native.action_space)
    return native


class QuickMultiDiscrete(MultiDiscrete):
    """The same space, which says in a fifth of the time what is in it: gymnasium's CartPole asks at each step."""

    def __init__(self, space: MultiDiscrete) -> None:
        """Be like ``space``."""
        super().__init__(space.nvec, dtype=space.dtype.type, start=space.start)
        self._form = (self.dtype, self.nvec.shape)
        self._unsigned = np.dtype(f"u{self.dtype.itemsize}")
        self._last = (self.nvec - 1).view(self._unsigned)
        self._begins_at_zero = not self.start.any()
        self._seen: set[bytes] | None = set() if math.prod(self.nvec.ravel().tolist()) <= FEW else None

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is in the space."""
        if not isinstance(x, np.ndarray) or (x.dtype, x.shape) != self._form:
            return super().contains(x)
        if self._seen is not None and x.tobytes() in self._seen:
            return True
        from_zero = x if self._begins_at_zero else x - self.start
        is_member = not np.count_nonzero(from_zero.view(self._unsigned) > self._last)  # below zero it is large, too
        if is_member and self._seen is not None:
            self._seen.add(x.tobytes())
        return is_member
