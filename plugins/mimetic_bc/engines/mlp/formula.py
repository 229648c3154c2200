"""Which of the shipped terms make up an objective, and how much does each count at a step?"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mimetic.losses import WeightedTerm
from mimetic_bc.engines.mlp.unserved import UnservedError
from mimetic_bc.terms import (
    CrossEntropy,
    HuberLoss,
    half_squared_norm,
    kind_of,
    mean_squared_error,
    negative_entropy,
    negative_log_likelihood,
)


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The objective at one step: how often each of these counts."""

    nll: float = 0.0  # -log p(a | o)
    spread: float = 0.0  # -1/k sum over the k choices of log p
    entropy: float = 0.0  # minus the entropy
    mse: float = 0.0  # the mean squared deviation of the mean
    huber: tuple[tuple[float, float], ...] = ()  # (weight, delta) of each Huber loss of the mean
    l2: float = 0.0  # half the sum of squares of every parameter

    @property
    def trains_mean(self) -> bool:
        """Whether a Gaussian's mean has gradients."""
        return bool(self.nll or self.mse or self.huber)

    @property
    def trains_spread(self) -> bool:
        """Whether a Gaussian's standard deviation has gradients."""
        return bool(self.nll or self.entropy)

    @property
    def trains_logits(self) -> bool:
        """Whether the outputs of anything but a Gaussian have gradients."""
        return bool(self.nll or self.spread or self.entropy)


class Formula:
    """The objective as a function of progress."""

    def __init__(self, terms: Sequence[WeightedTerm], served: Collection[str]) -> None:
        """Read the terms; ``served`` are the kinds of term that the distribution knows.

        Raises:
            UnservedError: one is of another kind, or none counts.
        """
        for term in terms:
            if kind_of(term.term) not in served:
                raise UnservedError(f"loss term {term.name!r} is none of {', '.join(sorted(served))}")
        if not any(callable(term.weight) or term.weight for term in terms):
            raise UnservedError("every weight is zero")
        self._terms = tuple(terms)
        self.is_constant = not any(callable(term.weight) for term in terms)

    def at(self, progress: float) -> Coefficients:
        """Give the coefficients at ``progress``, from 0 at the first step to 1 at the last."""
        nll = spread = entropy = mse = l2 = 0.0
        huber = []
        for weighted in self._terms:
            term, weight = weighted.term, weighted.weight_at(progress)
            if term is negative_log_likelihood:
                nll += weight
            elif term is negative_entropy:
                entropy += weight
            elif term is half_squared_norm:
                l2 += weight
            elif term is mean_squared_error:
                mse += weight
            elif isinstance(term, CrossEntropy):
                nll += weight * (1.0 - term.label_smoothing)
                spread += weight * term.label_smoothing
            elif isinstance(term, HuberLoss) and weight:
                huber.append((weight, term.delta))
        return Coefficients(nll, spread, entropy, mse, tuple(huber), l2)
