"""The rewards ``zero`` and ``function``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mimetic.errors import ComponentFailedError
from mimetic_policies.functions import find_function

if TYPE_CHECKING:
    from mimetic import RewardContext
    from mimetic_policies.config import FunctionRewardConfig, ZeroRewardConfig

Reward = Callable[[Any, np.ndarray, Any, np.ndarray], np.ndarray]
"""``(obs, acts, next_obs, dones) -> (B,)``."""


def build_zero(config: ZeroRewardConfig, context: RewardContext) -> Reward:
    """Build the reward ``zero``."""

    def zero(obs: Any, acts: np.ndarray, next_obs: Any, dones: np.ndarray) -> np.ndarray:
        return np.zeros(len(dones))

    return zero


def build_function(config: FunctionRewardConfig, context: RewardContext) -> Reward:
    """Build the reward ``function``; what it gives is checked at each call."""
    function = find_function(config.path)

    def reward(obs: Any, acts: np.ndarray, next_obs: Any, dones: np.ndarray) -> np.ndarray:
        rews = np.asarray(function(obs, acts, next_obs, dones))
        if rews.shape != (len(dones),) or rews.dtype.kind not in "fiub":
            raise ComponentFailedError(
                f"reward function {config.path} gave {rews.dtype} of shape {rews.shape}; expected numbers of shape "
                f"({len(dones)},), one for each transition"
            )
        return rews

    return reward
