"""How is an action drawn with an episode's own generator? SB3's distributions draw from a global one.

Works on *encoded* actions, the form that an ``ActionCodec`` decodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from stable_baselines3.common.distributions import (
    BernoulliDistribution,
    CategoricalDistribution,
    DiagGaussianDistribution,
    Distribution,
    MultiCategoricalDistribution,
    SquashedDiagGaussianDistribution,
    StateDependentNoiseDistribution,
)

Streams = Sequence[np.random.Generator]
Chooser = Callable[[np.ndarray, "np.ndarray | None", "Streams | None"], np.ndarray]
"""``(outputs (n, K), deviations (n, D) or None, one generator a row or None for the mode) -> encoded (n, D)``."""


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """What a distribution is made of, on numpy."""

    outputs: np.ndarray  # (n, K) means or logits
    deviations: np.ndarray | None  # (n, D) of a Gaussian


def chooser_of(distribution: Distribution) -> Chooser | None:
    """Return how to choose from a kind of distribution, or None when the kind is not one of SB3's."""
    kind = type(distribution)
    if kind is DiagGaussianDistribution:
        return choose_gaussian
    if kind is SquashedDiagGaussianDistribution:
        return choose_squashed
    if kind is StateDependentNoiseDistribution:
        return choose_gaussian if distribution.bijector is None else choose_squashed  # type: ignore[attr-defined]  # it is one
    if kind is CategoricalDistribution:
        return choose_category
    if kind is BernoulliDistribution:
        return choose_switches
    if kind is MultiCategoricalDistribution:
        sizes = [int(size) for size in distribution.action_dims]  # type: ignore[attr-defined]  # it is one
        return multi_category_chooser(sizes)
    return None


def parameters_of(distribution: Distribution) -> Parameters:
    """Read the parameters of one of SB3's distributions."""
    inner = distribution.distribution
    if isinstance(inner, list):
        return Parameters(np.concatenate([_numpy(part.logits) for part in inner], axis=1), None)  # type: ignore[attr-defined]  # all are Categorical
    if isinstance(distribution, DiagGaussianDistribution | StateDependentNoiseDistribution):
        return Parameters(_numpy(inner.mean), _numpy(inner.stddev))
    return Parameters(_numpy(inner.logits), None)  # type: ignore[attr-defined]  # Categorical and Bernoulli have them


def choose_gaussian(outputs: np.ndarray, deviations: np.ndarray | None, streams: Streams | None) -> np.ndarray:
    """``mean + deviation * noise``."""
    if streams is None:
        return outputs
    noise = np.stack([stream.standard_normal(outputs.shape[1], np.float32) for stream in streams])
    return np.asarray(outputs + deviations * noise)


def choose_squashed(outputs: np.ndarray, deviations: np.ndarray | None, streams: Streams | None) -> np.ndarray:
    """``tanh(mean + deviation * noise)``."""
    return np.tanh(choose_gaussian(outputs, deviations, streams).astype(np.float64)).astype(np.float32)


def choose_category(outputs: np.ndarray, deviations: np.ndarray | None, streams: Streams | None) -> np.ndarray:
    """Draw from logits: the largest of ``logit + Gumbel noise``.

    Source: E. Gumbel, "Statistical Theory of Extreme Values and Some Practical Applications", 1954.
    """
    if streams is None:
        return np.asarray(outputs.argmax(axis=1))
    noise = np.stack([stream.gumbel(size=outputs.shape[1]) for stream in streams])
    return np.asarray((outputs + noise).argmax(axis=1))


def multi_category_chooser(sizes: Sequence[int]) -> Chooser:
    """Return how to choose one category from each of several groups of logits."""
    edges = np.cumsum(sizes)[:-1]

    def choose(outputs: np.ndarray, deviations: np.ndarray | None, streams: Streams | None) -> np.ndarray:
        groups = np.split(outputs, edges, axis=1)
        return np.stack([choose_category(group, None, streams) for group in groups], axis=1)

    return choose


def choose_switches(outputs: np.ndarray, deviations: np.ndarray | None, streams: Streams | None) -> np.ndarray:
    """Each switch is on with probability ``sigmoid(logit)``; the mode is on where that is above a half."""
    if streams is None:
        return (outputs > 0).astype(np.float32)
    draws = np.stack([stream.random(outputs.shape[1]) for stream in streams])
    with np.errstate(over="ignore"):  # a probability of zero
        return (draws * (1.0 + np.exp(-outputs.astype(np.float64))) < 1.0).astype(np.float32)


def _numpy(tensor: object) -> np.ndarray:
    array: np.ndarray = tensor.detach().cpu().numpy()  # type: ignore[attr-defined]  # a tensor; torch's stubs say property
    return array
