"""What we learn goes straight into stable-baselines3 (design, section 7)."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from mimetic_policies import CnnPolicy, FeedForward32Policy
from some_spaces import ACTION_SPACES, made
from worlds import Len


class Acting(Len):
    """Takes the actions of any space, and checks them."""

    def __init__(self, action_space: spaces.Space[Any]) -> None:
        super().__init__(5)
        self.action_space = action_space


class Seeing(gym.Env[np.ndarray, np.int64]):
    """Shows images of the given shape."""

    def __init__(self, *shape: int) -> None:
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return self.observation_space.sample(), 1.0, bool(self.np_random.random() < 0.2), False, {}


def ppo(policy: Any, env: Any, **options: Any) -> PPO:
    return PPO(policy, env, n_steps=64, batch_size=32, n_epochs=2, device="cpu", seed=0, **options)


def moved(policy: Any, before: dict[str, torch.Tensor]) -> bool:
    return any(not torch.equal(value, before[name]) for name, value in policy.state_dict().items())


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_ppo_trains_a_policy_that_is_put_into_it(env_id: str) -> None:
    model = ppo("MlpPolicy", env_id)
    policy = made("mlp", model.observation_space, model.action_space)
    before = {name: value.clone() for name, value in policy.state_dict().items()}

    model.policy = policy
    model.learn(256)

    assert model.policy is policy
    assert moved(policy, before)


def test_ppo_learns_to_balance_from_such_a_policy() -> None:
    """An untrained pole stands for about 20 steps; after these few thousand for more than 40."""
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=256, batch_size=64, learning_rate=3e-3, device="cpu", seed=0)
    model.policy = made("mlp", model.observation_space, model.action_space)

    model.learn(3072)

    assert np.mean([episode["l"] for episode in model.ep_info_buffer or ()][-10:]) > 40


@pytest.mark.parametrize("net_arch", [[32, 32], [64, 64]])
def test_its_weights_load_into_ppo_s_own_policy_of_the_same_layers(net_arch: list[int]) -> None:
    model = ppo("MlpPolicy", "CartPole-v1", policy_kwargs={"net_arch": net_arch})
    policy = made(f"mlp:net_arch={net_arch}", model.observation_space, model.action_space)
    obs = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)

    model.policy.load_state_dict(policy.state_dict())

    assert np.array_equal(model.predict(obs, deterministic=True)[0], policy.predict(obs, deterministic=True)[0])


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_algorithms_take_the_class_too(algorithm: Any, tmp_path: Path) -> None:
    model = algorithm(FeedForward32Policy, "CartPole-v1", n_steps=64, device="cpu")
    model.learn(64)
    model.save(tmp_path / "model.zip")
    obs = np.ones((1, 4), np.float32)

    loaded = algorithm.load(tmp_path / "model.zip", device="cpu")

    assert isinstance(loaded.policy, FeedForward32Policy)
    assert np.array_equal(loaded.predict(obs, deterministic=True)[0], model.predict(obs, deterministic=True)[0])


@pytest.mark.parametrize(
    "name", ["a flat box", "a box of rank 2", "Discrete", "Discrete that starts at 1", "MultiDiscrete", "MultiBinary"]
)
def test_ppo_trains_it_on_more_action_spaces_than_its_own_policies(name: str) -> None:
    """The environment asserts that each action is a member."""
    model = ppo(FeedForward32Policy, DummyVecEnv([lambda: Acting(ACTION_SPACES[name])]))

    model.learn(64)


def test_ppo_trains_a_squashed_policy_within_its_bounds() -> None:
    env = DummyVecEnv([lambda: Acting(spaces.Box(10, 20, (1,)))])
    model = ppo(FeedForward32Policy, env, policy_kwargs={"squash_output": True})

    model.learn(64)


@pytest.mark.parametrize("shape", [(40, 44, 3), (3, 40, 44)], ids=["channels last", "channels first"])
def test_ppo_trains_images_of_either_layout(shape: tuple[int, ...]) -> None:
    features = {"features_extractor_kwargs": {"features_dim": 8}}
    model = ppo(CnnPolicy, DummyVecEnv([lambda: Seeing(*shape)]), policy_kwargs=features)
    by_us = made("cnn:features_dim=8", Seeing(*shape).observation_space, spaces.Discrete(2))

    model.learn(64)
    model.policy = by_us
    model.learn(64)


def test_its_own_optimiser_takes_ordinary_steps() -> None:
    """The reference's has a rate that explodes; ours is SB3's, so that nobody who uses it is surprised."""
    policy = made("mlp")
    before = policy.action_net.bias.detach().clone()

    policy.evaluate_actions(torch.ones(4, 4), torch.zeros(4))[1].mean().backward()
    policy.optimizer.step()

    assert 0 < (policy.action_net.bias - before).abs().max() < 1e-2
