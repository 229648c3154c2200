"""What does the reference measure at a batch? Seven numbers; docs/metrics.md explains each."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from mimetic.algorithms.tensors import to_tensors
from mimetic.losses import LossInputs
from mimetic_bc.terms import half_squared_norm, negative_log_likelihood


@dataclass(frozen=True, slots=True, eq=False)
class BCTrainingMetrics:
    """The parts of behavioural cloning's loss: scalars."""

    neglogp: Tensor  # -mean log p(act | obs), nats
    entropy: Tensor | None  # mean entropy, nats; None when it has no closed form
    ent_loss: Tensor  # -ent_weight * entropy
    prob_true_act: Tensor  # mean p(act | obs)
    l2_norm: Tensor  # half the sum of squares of every parameter
    l2_loss: Tensor  # l2_weight * l2_norm
    loss: Tensor  # neglogp + ent_loss + l2_loss

    @classmethod
    def from_values(cls, values: Mapping[str, float | None]) -> "BCTrainingMetrics":
        """Read the numbers of a report back."""
        numbers = {f.name: values[f"bc/{f.name}"] for f in fields(cls)}
        return cls(**{name: None if number is None else torch.tensor(number) for name, number in numbers.items()})  # type: ignore[arg-type]  # only entropy may be None


@dataclass(frozen=True)
class BehaviorCloningLossCalculator:
    """Computes ``neglogp + ent_loss + l2_loss`` of a batch, and its parts."""

    ent_weight: float
    l2_weight: float

    def __call__(self, policy: ActorCriticPolicy, obs: Any, acts: Any) -> BCTrainingMetrics:
        """Evaluate ``policy`` on B rows, arrays or tensors; every part is a scalar on the policy's device.

        Args:
            policy: the policy whose loss it is.
            obs: ``(B, *O)``, or a mapping of such arrays.
            acts: ``(B, *A)``, the environment's actions.
        """
        inputs = LossInputs(policy, to_tensors(obs, policy.device), to_tensors(acts, policy.device))
        neglogp = negative_log_likelihood(inputs)
        entropy = None if inputs.entropy is None else inputs.entropy.mean()
        ent_loss = neglogp.new_zeros(()) if entropy is None else -self.ent_weight * entropy
        l2_norm = half_squared_norm(inputs)
        l2_loss = self.l2_weight * l2_norm
        return BCTrainingMetrics(
            neglogp=neglogp,
            entropy=entropy,
            ent_loss=ent_loss,
            prob_true_act=inputs.log_prob.exp().mean(),
            l2_norm=l2_norm,
            l2_loss=l2_loss,
            loss=neglogp + ent_loss + l2_loss,
        )
