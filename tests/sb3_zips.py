"""Small policies that stable-baselines3 saved, as they are or with members of the zip changed."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from mimetic.storage import open_policy

OBS = spaces.Box(-1, 1, (3,), np.float32)
ACTS = spaces.Box(np.array([-2, -1], np.float32), np.array([3, 1], np.float32))
CHOICES = spaces.Discrete(3)
IMAGE = spaces.Box(0, 255, (36, 44, 3), np.uint8)
PARTS = spaces.Dict({"image": IMAGE, "vector": OBS, "kind": spaces.Discrete(4), "pair": spaces.MultiDiscrete([2, 3])})


class Anywhere(gym.Env[Any, Any]):
    """Shows observations of any space, drawn from its own stream, for episodes of ``n`` steps."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any], n: int = 6) -> None:
        self.observation_space, self.action_space, self.n = observation_space, action_space, n
        self.t = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.t += 1
        return self.observation_space.sample(), float(np.sum(action)), self.t >= self.n, False, {}


def model(algorithm: type[BaseAlgorithm], obs: Any = OBS, acts: Any = ACTS, **options: Any) -> BaseAlgorithm:
    """Make an untrained model whose every weight is drawn, so that none hides behind a zero."""
    policy = {spaces.Dict: "MultiInput"}.get(type(obs), "Cnn" if len(obs.shape or ()) == 3 else "Mlp")
    name = f"{policy}{'Lstm' if algorithm.__name__ == 'RecurrentPPO' else ''}Policy"
    if issubclass(algorithm, OffPolicyAlgorithm):
        options.setdefault("buffer_size", 10)
    with torch.random.fork_rng():
        made = algorithm(name, Anywhere(obs, acts), seed=0, device="cpu", **options)
        with torch.no_grad():
            for weight in made.policy.parameters():
                weight.add_(0.1 * torch.randn(weight.shape))
    return made


def saved(path: Path, algorithm: type[BaseAlgorithm] = PPO, obs: Any = OBS, acts: Any = ACTS, **options: Any) -> Path:
    """Save an untrained model."""
    model(algorithm, obs, acts, **options).save(path)
    return path


def opened(text: str | Path, obs: Any = OBS, acts: Any = ACTS) -> Any:
    """Open a policy as a word on the command line does."""
    return open_policy(text, observation_space=obs, action_space=acts, device="cpu")


def some_obs(space: spaces.Space[Any], n: int = 5, seed: int = 0) -> Any:
    """Return a batch of observations."""
    space.seed(seed)
    rows = [space.sample() for _ in range(n)]
    if isinstance(space, spaces.Dict):
        return {key: np.stack([row[key] for row in rows]) for key in space.spaces}
    return np.stack(rows)


def row_of(obs: Any, index: int) -> Any:
    """Return one observation of a batch."""
    return {key: part[index] for key, part in obs.items()} if isinstance(obs, dict) else obs[index]


# --- other zips -------------------------------------------------------------------------------------------------


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path: Path, content: Mapping[str, bytes], *, packed: bool = False) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    return path


def with_data(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change what the zip says about the algorithm."""
    content = members(path)
    data = json.loads(content["data"])
    change(data)
    return written(path, content | {"data": json.dumps(data).encode()})


def with_weights(path: Path, change: Callable[[dict[str, torch.Tensor]], dict[str, Any]]) -> Path:
    """Change the weights of the zip."""
    content = members(path)
    weights = torch.load(io.BytesIO(content["policy.pth"]), weights_only=True)
    buffer = io.BytesIO()
    torch.save(change(dict(weights)), buffer)
    return written(path, content | {"policy.pth": buffer.getvalue()})
