"""How well does the policy act while it learns? Rollouts at log points, which leave training alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv

from mimetic.rollout import generate_trajectories, make_min_episodes, rollout_stats


@dataclass
class RolloutStatsComputer:
    """Collects at least ``n_episodes`` episodes and gives their statistics."""

    venv: VecEnv | None  # None: no rollouts
    n_episodes: int  # zero or less: no rollouts

    def __call__(self, policy: ActorCriticPolicy, rng: np.random.Generator) -> Mapping[str, float]:
        """Act stochastically and give ``rollout_stats`` of the episodes; training mode and global streams stay."""
        if self.venv is None or self.n_episodes <= 0:
            return {}
        return rollout_stats(generate_trajectories(policy, self.venv, make_min_episodes(self.n_episodes), rng))
