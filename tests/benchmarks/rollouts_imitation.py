"""The reference library: ``rollout.rollout`` with its defaults, environments one after the other in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from imitation.data import rollout
from imitation.data.wrappers import RolloutInfoWrapper
from rollout_cases import ENV, policy_of
from stable_baselines3.common.vec_env import DummyVecEnv

torch.set_num_threads(1)


def collect(case: dict[str, Any]) -> Callable[[int], int]:
    """Collect whole episodes; return how many steps they have."""
    policy = policy_of(case)
    venv = DummyVecEnv([lambda: RolloutInfoWrapper(gym.make(ENV)) for _ in range(case["n_envs"])])
    rng = np.random.default_rng(0)

    def run(n: int) -> int:
        trajectories = rollout.rollout(policy, venv, rollout.make_sample_until(min_timesteps=n), rng=rng)
        return sum(len(each) for each in trajectories)

    return run


CONTESTANTS = {"rollout": collect}
