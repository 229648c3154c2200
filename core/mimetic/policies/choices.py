"""How is an action drawn with an episode's own generator? SB3's distributions draw from a global one.

Works on *encoded* actions, the form that an ``ActionCodec`` decodes.
"""

from __future__ import annotations

import math
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

from mimetic.errors import SpaceError

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Draws noise of a shape. One array of several rows holds what as many calls for a row give."""

Choose = Callable[[np.ndarray, "np.ndarray | None", "np.ndarray | None"], np.ndarray]
"""``(outputs (n, K), deviations (D,) or (n, D) or None, noise (n, K) or None for the mode) -> encoded (n, D)``."""


@dataclass(frozen=True, slots=True)
class Chooser:
    """How to choose from one kind of distribution."""

    choose: Choose
    draw: Draw  # the noise that it takes


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """What a distribution is made of, on numpy."""

    outputs: np.ndarray  # (n, K) means or logits
    deviations: np.ndarray | None  # (n, D) of a Gaussian


def chooser_of(distribution: Distribution) -> Chooser | None:
    """Return how to choose from a kind of distribution, or None when the kind is not one of SB3's."""
    kind = type(distribution)
    if kind is DiagGaussianDistribution:
        return GAUSSIAN
    if kind is SquashedDiagGaussianDistribution:
        return SQUASHED
    if kind is StateDependentNoiseDistribution:
        return GAUSSIAN if distribution.bijector is None else SQUASHED  # type: ignore[attr-defined]  # it is one
    if kind is CategoricalDistribution:
        return CATEGORY
    if kind is BernoulliDistribution:
        return SWITCHES
    if kind is MultiCategoricalDistribution:
        sizes = [int(size) for size in distribution.action_dims]  # type: ignore[attr-defined]  # it is one
        return Chooser(multi_category_choose(sizes), draw_gumbel)
    return None


def parameters_of(distribution: Distribution) -> Parameters:
    """Read the parameters of one of SB3's distributions."""
    inner = distribution.distribution
    if isinstance(inner, list):
        return Parameters(np.concatenate([_numpy(part.logits) for part in inner], axis=1), None)  # type: ignore[attr-defined]  # all are Categorical
    if isinstance(distribution, DiagGaussianDistribution | StateDependentNoiseDistribution):
        return Parameters(_numpy(inner.mean), _numpy(inner.stddev))
    return Parameters(_numpy(inner.logits), None)  # type: ignore[attr-defined]  # Categorical and Bernoulli have them


# --- noise ------------------------------------------------------------------------------------------------------


def draw_normal(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw float32 from the standard normal distribution."""
    return stream.standard_normal(shape, np.float32)


def draw_gumbel(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw float32 from the standard Gumbel distribution."""
    return stream.gumbel(size=shape).astype(np.float32)


def draw_uniform(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw evenly from [0, 1)."""
    return stream.random(shape)


# --- choices ----------------------------------------------------------------------------------------------------


def choose_gaussian(outputs: np.ndarray, deviations: np.ndarray | None, noise: np.ndarray | None) -> np.ndarray:
    """``mean + deviation * noise``."""
    return outputs if noise is None else np.asarray(outputs + deviations * noise)


def choose_squashed(outputs: np.ndarray, deviations: np.ndarray | None, noise: np.ndarray | None) -> np.ndarray:
    """``tanh(mean + deviation * noise)``."""
    return np.tanh(choose_gaussian(outputs, deviations, noise).astype(np.float64)).astype(np.float32)


def choose_category(outputs: np.ndarray, deviations: np.ndarray | None, noise: np.ndarray | None) -> np.ndarray:
    """Draw from logits: the largest of ``logit + Gumbel noise``.

    Source: E. Gumbel, "Statistical Theory of Extreme Values and Some Practical Applications", 1954.
    """
    require_numbers(outputs)
    chosen: np.ndarray = (outputs if noise is None else outputs + noise).argmax(axis=1)
    return chosen


def multi_category_choose(sizes: Sequence[int]) -> Choose:
    """Return how to choose one category from each of several groups of logits."""
    edges = np.cumsum(sizes)[:-1]

    def choose(outputs: np.ndarray, deviations: np.ndarray | None, noise: np.ndarray | None) -> np.ndarray:
        noisy = outputs if noise is None else outputs + noise
        return np.stack([choose_category(group, None, None) for group in np.split(noisy, edges, axis=1)], axis=1)

    return choose


def choose_switches(outputs: np.ndarray, deviations: np.ndarray | None, noise: np.ndarray | None) -> np.ndarray:
    """Each switch is on with probability ``sigmoid(logit)``; the mode is on where that is above a half."""
    require_numbers(outputs)
    if noise is None:
        return (outputs > 0).astype(np.float32)
    with np.errstate(over="ignore"):  # a probability of zero
        return (noise * (1.0 + np.exp(-outputs.astype(np.float64))) < 1.0).astype(np.float32)


def require_numbers(outputs: np.ndarray) -> None:
    """Raise SpaceError when an output is not a number: a comparison would make an action of it all the same."""
    if not math.isfinite(np.vdot(outputs, outputs)) and np.isnan(outputs).any():  # the sum of squares is cheap
        row = int(np.isnan(outputs).any(axis=1).argmax())
        raise SpaceError(f"the policy's output in row {row} is not a number: {outputs[row].tolist()}")


GAUSSIAN = Chooser(choose_gaussian, draw_normal)
SQUASHED = Chooser(choose_squashed, draw_normal)
CATEGORY = Chooser(choose_category, draw_gumbel)
SWITCHES = Chooser(choose_switches, draw_uniform)


def _numpy(tensor: object) -> np.ndarray:
    array: np.ndarray = tensor.detach().cpu().numpy()  # type: ignore[attr-defined]  # a tensor; torch's stubs say property
    return array
