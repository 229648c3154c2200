"""Small policies, data and loggers for tests of losses and of behavioural cloning."""

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces

from mimetic.logs import HierarchicalLogger, Record
from mimetic.policies import MimeticPolicy

OBS = spaces.Box(-np.inf, np.inf, (4,), np.float32)
TWO = spaces.Discrete(2)


def policy_for(
    action_space: gym.Space[Any], obs_space: gym.Space[Any] = OBS, *, seed: int = 0, **options: Any
) -> MimeticPolicy:
    """A small policy with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MimeticPolicy(obs_space, action_space, net_arch=[8], **options)


def ignorant_policy(action_space: gym.Space[Any]) -> MimeticPolicy:
    """A policy whose every weight is zero: it finds all choices equally likely, or is a standard normal."""
    policy = policy_for(action_space)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()
    return policy


class Memory:
    """A logger that keeps its records."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def write(self, record: Record) -> None:
        self.records.append(record)

    def close(self) -> None:
        pass

    def steps(self) -> list[int]:
        return [record.step for record in self.records]

    def column(self, key: str) -> list[Any]:
        return [record.values[key] for record in self.records]


def silent() -> HierarchicalLogger:
    """A logger that writes nowhere."""
    return HierarchicalLogger([])


def sign_demonstrations(n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Observations in R^4, and whether the first number is positive: a rule that a network learns at once."""
    obs = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    return obs, (obs[:, 0] > 0).astype(np.int64)


def weights_of(policy: torch.nn.Module) -> dict[str, bytes]:
    """Every weight's bytes, to compare bit for bit."""
    return {name: tensor.detach().numpy().tobytes() for name, tensor in policy.state_dict().items()}
