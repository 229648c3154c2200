"""Which rollouts are measured, and by which policy? Shared by all contestants, in every environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from foreign import ForeignPolicy
from stable_baselines3.common.policies import ActorCriticPolicy

ENV = "CartPole-v1"
LONG = 500
"""Steps of an episode in which nothing falls."""


def rollout_case(n_envs: int, policy: str = "mlp", *, balances: bool = False) -> dict[str, Any]:
    """Describe a case: how many environments, who acts, and whether its episodes are as long as they may be."""
    return {"n_envs": n_envs, "policy": policy, "balances": balances}


def title_of(case: dict[str, Any]) -> str:
    """Name a case."""
    n = case["n_envs"]
    who = {"mlp": "2x32", "foreign": "2x32 behind layers of its own"}[case["policy"]]
    episodes = f"episodes of {LONG} steps" if case["balances"] else "episodes of about 22 steps"
    return f"{n} environment{'s' if n > 1 else ''}, {who}, {episodes}"


FALLS = {"mlp": np.array([0.72, 0.0, 1.0, 0.0]), "foreign": np.array([0.16, -0.1, 1.0, 0.0])}
"""How much an action heeds position, velocity, angle and spin in order to fall after about 22 steps, as chance does."""

BALANCES = np.array([1.0, 5.0, 30.0, 20.0])
"""And how much in order that nothing falls."""


def weights(gains: np.ndarray) -> list[np.ndarray]:
    """Return the weights of a 2x32 network that carries four numbers through and adds them up."""
    rng = np.random.default_rng(0)
    first, second, last = (1e-4 * rng.standard_normal(shape) for shape in ((32, 4), (32, 32), (2, 32)))
    first[:4] += 0.1 * np.eye(4)
    second[:4, :4] += np.eye(4)
    last[:, :4] += np.stack([-gains, gains])
    biases = [np.zeros(len(layer)) for layer in (first, second, last)]
    return [array for pair in zip((first, second, last), biases, strict=True) for array in pair]


def policy_of(case: dict[str, Any], make: Any = ActorCriticPolicy) -> Any:
    """Build the policy of a case; ``make`` builds the plain one."""
    env = gym.make(ENV)
    torch.manual_seed(0)
    build = ForeignPolicy if case["policy"] == "foreign" else make
    policy = build(env.observation_space, env.action_space, lambda _: 1e-3, net_arch=[32, 32])
    gains = BALANCES if case["balances"] else 0.01 * FALLS[case["policy"]]  # so small that what is drawn is chance
    layers = [*policy.mlp_extractor.policy_net.parameters(), *policy.action_net.parameters()]
    with torch.no_grad():
        for parameter, value in zip(layers, weights(gains), strict=True):
            parameter.copy_(torch.as_tensor(value))
    return policy
