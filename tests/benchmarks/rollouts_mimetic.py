"""mimetic: what ``mimetic collect`` and ``mimetic eval`` call, and ``rollout`` in environments of somebody's own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from rollout_cases import ENV, policy_of
from stable_baselines3.common.vec_env import DummyVecEnv

from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.evaluate import collect as collect_into, evaluate
from mimetic.rollout import RolloutInfoWrapper, make_sample_until, rollout
from mimetic_policies import FeedForward32Policy

torch.set_num_threads(1)


def _mlp(observation_space: Any, action_space: Any, schedule: Any, **options: Any) -> FeedForward32Policy:
    return FeedForward32Policy(observation_space, action_space, schedule, **options)


def collecting(vectorization: Any) -> Callable[[dict[str, Any]], Callable[[int], int]]:
    """Collect onto the disk, actions drawn."""

    def collect(case: dict[str, Any]) -> Callable[[int], int]:
        policy = policy_of(case, _mlp)
        folder = Path(tempfile.mkdtemp())

        def run(n: int) -> int:
            done = collect_into(
                policy,
                ENV,
                folder / "data.safetensors",
                n_timesteps=n,
                seed=0,
                n_envs=case["n_envs"],
                vectorization=vectorization,
            )
            shutil.rmtree(folder)
            folder.mkdir()
            return done.n_transitions

        return run

    return collect


def evaluating(vectorization: Any) -> Callable[[dict[str, Any]], Callable[[int], int]]:
    """Evaluate, with the likeliest actions."""

    def assess(case: dict[str, Any]) -> Callable[[int], int]:
        policy = policy_of(case, _mlp)

        def run(n: int) -> int:
            settings = EvaluationConfig(
                n_episodes=None, n_timesteps=n, n_envs=case["n_envs"], vectorization=vectorization
            )
            return sum(each.length for each in evaluate(policy, EnvConfig(id=ENV), settings, seed=0).episodes)

        return run

    return assess


def in_a_venv(case: dict[str, Any]) -> Callable[[int], int]:
    """Collect as with the reference library, in the same kind of vectorised environment."""
    policy = policy_of(case, _mlp)
    venv = DummyVecEnv([lambda: RolloutInfoWrapper(gym.make(ENV)) for _ in range(case["n_envs"])])
    rng = np.random.default_rng(0)

    def run(n: int) -> int:
        return sum(len(each) for each in rollout(policy, venv, make_sample_until(min_timesteps=n), rng))

    return run


CONTESTANTS = {
    "rollout": in_a_venv,
    "collect": collecting("sb3"),
    "eval": evaluating("sb3"),
    "collect, native": collecting("native"),
    "eval, native": evaluating("native"),
}
