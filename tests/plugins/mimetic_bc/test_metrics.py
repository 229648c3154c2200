"""The reference's loss calculator: the sum, its parts and their devices."""

import math
from dataclasses import fields
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy

from cloning import OBS, policy_for
from mimetic_bc import BCTrainingMetrics, BehaviorCloningLossCalculator


@pytest.mark.parametrize(
    "space", [spaces.Box(-1, 1, (2,), np.float32), spaces.Discrete(3), spaces.MultiDiscrete([2, 3])], ids=str
)
def test_the_loss_is_likelihood_entropy_and_norm(space: gym.Space[Any]) -> None:
    policy = policy_for(space)
    space.seed(0)
    obs = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    acts = np.stack([np.asarray(space.sample()) for _ in range(8)])

    metrics = BehaviorCloningLossCalculator(ent_weight=0.3, l2_weight=0.2)(policy, obs, acts)

    _, log_prob, entropy = policy.evaluate_actions(torch.from_numpy(obs), torch.from_numpy(acts))
    assert entropy is not None
    squares = sum(float(p.detach().square().sum()) for p in policy.parameters())
    assert metrics.neglogp.item() == pytest.approx(-log_prob.mean().item())
    assert metrics.ent_loss.item() == pytest.approx(-0.3 * entropy.mean().item())
    assert metrics.l2_loss.item() == pytest.approx(0.2 * 0.5 * squares, rel=1e-5)
    assert metrics.prob_true_act.item() == pytest.approx(log_prob.exp().mean().item())
    assert metrics.loss.item() == pytest.approx(
        -log_prob.mean().item() - 0.3 * entropy.mean().item() + 0.1 * squares, rel=1e-5
    )


def test_the_parts_come_in_the_references_order() -> None:
    names = [f.name for f in fields(BCTrainingMetrics)]

    assert names == ["neglogp", "entropy", "ent_loss", "prob_true_act", "l2_norm", "l2_loss", "loss"]


def test_a_policy_without_entropy_has_none_and_a_scalar_loss() -> None:
    policy = ActorCriticPolicy(
        OBS, spaces.Box(-3, 3, (2,), np.float32), lambda _: 1e-3, use_sde=True, squash_output=True
    )

    metrics = BehaviorCloningLossCalculator(0.5, 0.0)(
        policy, np.zeros((4, 4), np.float32), np.zeros((4, 2), np.float32)
    )

    assert metrics.entropy is None
    assert metrics.ent_loss.item() == 0.0
    assert metrics.loss.shape == ()
    assert math.isfinite(metrics.loss.item())


def test_nothing_leaves_the_device_of_the_policy() -> None:
    policy = policy_for(spaces.Box(-1, 1, (2,), np.float32)).to("meta")

    metrics = BehaviorCloningLossCalculator(0.5, 0.1)(policy, torch.zeros(4, 4), torch.zeros(4, 2))

    assert {getattr(metrics, f.name).device.type for f in fields(metrics)} == {"meta"}
