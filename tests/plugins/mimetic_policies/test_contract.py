"""The facts of every component that mimetic_policies offers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3 import PPO

from mimetic.testing import EnvWrapperContract, PolicyContract, RewardContract
from some_spaces import made

VECTOR = spaces.Box(-np.inf, np.inf, (4,), np.float32)
IMAGE = spaces.Box(0, 255, (36, 40, 3), np.uint8)
PARTS = spaces.Dict({"eye": IMAGE, "hand": VECTOR})


class TestMlp(PolicyContract):
    name = "mlp"
    options: ClassVar[Mapping[str, object]] = {"net_arch": [8], "normalize_obs": True}
    observation_spaces = (VECTOR, spaces.Dict({"a": spaces.Discrete(3), "b": VECTOR}))
    action_spaces = (
        spaces.Discrete(3, start=1),
        spaces.Box(-1.0, 1.0, (2,)),
        spaces.Box(-2.0, 3.0, (2, 2), np.float64),
        spaces.Box(0, 255, (2,), np.uint8),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary(3),
    )


class TestSquashedMlp(PolicyContract):
    name = "mlp"
    options: ClassVar[Mapping[str, object]] = {"squash_output": True}
    action_spaces = (spaces.Box(-2.0, 3.0, (2,)),)


class TestCnn(PolicyContract):
    name = "cnn"
    options: ClassVar[Mapping[str, object]] = {"features_dim": 16}
    observation_spaces = (IMAGE, spaces.Box(0, 255, (3, 36, 40), np.uint8))
    action_spaces = (spaces.Discrete(3),)


class TestMultiInput(PolicyContract):
    name = "multi-input"
    options: ClassVar[Mapping[str, object]] = {"features_dim": 16}
    observation_spaces = (PARTS,)
    action_spaces = (spaces.Discrete(3), spaces.Box(-1.0, 1.0, (2,)))


class TestActorCritic(PolicyContract):
    name = "actor-critic"


class TestFile(PolicyContract):
    name = "file"
    action_spaces = (spaces.Discrete(3),)

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        made("mlp", VECTOR, spaces.Discrete(3), seed=4).save(tmp_path / "saved.safetensors")
        return {"path": "saved.safetensors"}


class TestSb3(PolicyContract):
    name = "sb3"
    action_spaces = (spaces.Discrete(2),)

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        env = gym.make("CartPole-v1")
        PPO("MlpPolicy", env, n_steps=8, batch_size=8, device="cpu", seed=0).save(tmp_path / "agent.zip")
        return {"path": "agent.zip"}

    @property
    def observation_spaces(self) -> tuple[gym.Space[Any], ...]:  # type: ignore[override]  # the environment's own
        return (gym.make("CartPole-v1").observation_space,)


class TestSb3Network(PolicyContract):
    name = "sb3-network"
    options: ClassVar[Mapping[str, object]] = {"kind": "dqn", "net_arch": {"pi": [8]}}
    action_spaces = (spaces.Discrete(3),)


class TestFunction(PolicyContract):
    name = "function"
    action_spaces = (spaces.Discrete(3),)

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        (tmp_path / "rule.py").write_text("def act(obs):\n    return int(obs[0] > 0)\n", encoding="utf-8")
        return {"path": "rule.py:act"}


class TestRandom(PolicyContract):
    name = "random"


class TestZero(PolicyContract):
    name = "zero"


class TestGymnasium(EnvWrapperContract):
    name = "gymnasium"
    options: ClassVar[Mapping[str, object]] = {"class": "ClipReward", "kwargs": {"min_reward": 0.0, "max_reward": 0.5}}


class TestZeroReward(RewardContract):
    name = "zero"


class TestFunctionReward(RewardContract):
    name = "function"

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        text = "def pay(obs, acts, next_obs, dones):\n    return next_obs[:, 0] - obs[:, 0]\n"
        (tmp_path / "reward.py").write_text(text, encoding="utf-8")
        return {"path": "reward.py:pay"}
