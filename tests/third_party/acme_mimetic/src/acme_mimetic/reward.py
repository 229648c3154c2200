"""A reward for standing near the middle."""

from collections.abc import Callable

import numpy as np

from acme_mimetic.config import CentredConfig
from mimetic import RewardContext


def build(config: CentredConfig, context: RewardContext) -> Callable[..., np.ndarray]:
    """Give ``1 - |obs[0]| / width``."""

    def centred(obs: np.ndarray, acts: np.ndarray, next_obs: np.ndarray, dones: np.ndarray) -> np.ndarray:
        reward: np.ndarray = 1.0 - np.abs(obs[:, 0]) / config.width
        return reward

    return centred
