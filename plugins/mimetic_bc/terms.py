"""What are the shipped loss terms? One function a formula; B rows, D numbers an action has, K choices.

Each takes :class:`mimetic.losses.LossInputs` and gives a scalar on the policy's device. The builders below check
that a term fits the action space before the first batch.
"""

from dataclasses import dataclass
from types import FunctionType
from typing import Any

import gymnasium as gym
import torch
import torch.nn.functional as F
from gymnasium import spaces
from torch import Tensor

from mimetic.errors import SpaceError
from mimetic.hookspecs import LossContext
from mimetic.losses import LossInputs, LossTerm
from mimetic_bc.config import (
    CrossEntropyConfig,
    EntropyConfig,
    HuberConfig,
    L2Config,
    MeanSquaredErrorConfig,
    NegativeLogLikelihoodConfig,
)


def negative_log_likelihood(inputs: LossInputs) -> Tensor:
    """``-1/B sum_b log p(a_b | o_b)``, in nats.

    Source: Pomerleau, Efficient Training of Artificial Neural Networks for Autonomous Navigation, 1991,
    https://doi.org/10.1162/neco.1991.3.1.88 (differs from the paper in that the policy is a distribution).
    """
    return -inputs.log_prob.mean()


def negative_entropy(inputs: LossInputs) -> Tensor:
    """``-1/B sum_b H(p(. | o_b))``, in nats; zero for a policy whose entropy has no closed form.

    With a small positive weight it keeps a policy from becoming certain.
    Source: Williams and Peng, Function Optimization Using Connectionist Reinforcement Learning Algorithms, 1991,
    https://doi.org/10.1080/09540099108946587.
    """
    if inputs.entropy is None:
        return inputs.log_prob.new_zeros(())
    return -inputs.entropy.mean()


def half_squared_norm(inputs: LossInputs) -> Tensor:
    """``1/2 sum_i w_i^2`` over every parameter of the policy, value network included.

    Source: Krogh and Hertz, A Simple Weight Decay Can Improve Generalization, 1991,
    https://papers.nips.cc/paper/1991/hash/8eefcfdf5990e441f0fb6f3fad709e21-Abstract.html.
    """
    weights = torch.cat([parameter.reshape(-1) for parameter in inputs.parameters])
    return 0.5 * weights.dot(weights)


def mean_squared_error(inputs: LossInputs) -> Tensor:
    """``1/(B D) sum_b sum_d (m_d(o_b) - a_bd)^2``, m being the mean of the policy's distribution.

    Both are in the distribution's own coordinates: the environment's for a plain Gaussian, [-1, 1] for a squashed one.
    The standard deviation gets no gradient from it.
    """
    mean = inputs.distribution.mode()
    return F.mse_loss(mean, inputs.targets.to(mean.dtype))


@dataclass(frozen=True, slots=True)
class HuberLoss:
    """``1/(B D) sum_b sum_d h(m_d(o_b) - a_bd)``, h(x) = x^2/2 for abs(x) <= delta, else delta (abs(x) - delta/2).

    Coordinates as in :func:`mean_squared_error`.
    Source: Huber, Robust Estimation of a Location Parameter, 1964, https://doi.org/10.1214/aoms/1177703732.
    """

    delta: float = 1.0

    def __call__(self, inputs: LossInputs) -> Tensor:
        """Give the loss of a batch."""
        mean = inputs.distribution.mode()
        return F.huber_loss(mean, inputs.targets.to(mean.dtype), delta=self.delta)


@dataclass(frozen=True, slots=True)
class CrossEntropy:
    """``-1/B sum_b ((1 - s) log p(a_b | o_b) + s/K sum_k log p(k | o_b))``, s being the label smoothing.

    Several choices a row (MultiDiscrete) add up.
    Source: Szegedy et al., Rethinking the Inception Architecture for Computer Vision, 2016, section 7,
    https://arxiv.org/abs/1512.00567.
    """

    label_smoothing: float = 0.0

    def __call__(self, inputs: LossInputs) -> Tensor:
        """Give the loss of a batch."""
        choices = inputs.distribution.distribution
        if not isinstance(choices, list):
            return self._one_choice(choices, inputs.targets)
        columns = inputs.targets.unbind(dim=1)
        return torch.stack([self._one_choice(c, column) for c, column in zip(choices, columns, strict=True)]).sum()

    def _one_choice(self, choice: Any, classes: Tensor) -> Tensor:
        return F.cross_entropy(choice.logits, classes, label_smoothing=self.label_smoothing)


_NAMES: dict[object, str] = {
    negative_log_likelihood: "nll",
    negative_entropy: "entropy",
    half_squared_norm: "l2",
    mean_squared_error: "mse",
    HuberLoss: "huber",
    CrossEntropy: "cross-entropy",
}


def kind_of(term: LossTerm) -> str | None:
    """Return the name of a shipped term; None for any other."""
    is_function = isinstance(term, FunctionType)
    return _NAMES.get(term if is_function else type(term))


# --- builders ---------------------------------------------------------------------------------------------------


def build_nll(config: NegativeLogLikelihoodConfig, context: LossContext) -> LossTerm:
    """Build ``nll``."""
    return negative_log_likelihood


def build_entropy(config: EntropyConfig, context: LossContext) -> LossTerm:
    """Build ``entropy``."""
    return negative_entropy


def build_l2(config: L2Config, context: LossContext) -> LossTerm:
    """Build ``l2``."""
    return half_squared_norm


def build_mse(config: MeanSquaredErrorConfig, context: LossContext) -> LossTerm:
    """Build ``mse``. Raises: SpaceError when actions are no Box."""
    _require("mse", context.action_space, spaces.Box)
    return mean_squared_error


def build_huber(config: HuberConfig, context: LossContext) -> LossTerm:
    """Build ``huber``. Raises: SpaceError when actions are no Box."""
    _require("huber", context.action_space, spaces.Box)
    return HuberLoss(config.delta)


def build_cross_entropy(config: CrossEntropyConfig, context: LossContext) -> LossTerm:
    """Build ``cross-entropy``. Raises: SpaceError when actions are no choices."""
    _require("cross-entropy", context.action_space, spaces.Discrete, spaces.MultiDiscrete)
    return CrossEntropy(config.label_smoothing)


def _require(term: str, action_space: gym.Space[Any], *kinds: type[gym.Space[Any]]) -> None:
    if not isinstance(action_space, kinds):
        names = " and ".join(kind.__name__ for kind in kinds)
        raise SpaceError(
            f"loss term {term!r} is for {names} actions, the action space is {action_space}; nll takes every space"
        )
