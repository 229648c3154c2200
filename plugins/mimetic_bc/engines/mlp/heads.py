"""What does each distribution make of a network's outputs? The gradient of the objective, in closed form.

A head gives the function that computes it for one size of batch and one set of coefficients, because numbers that stay
the same are cheapest as tensors that lie ready. ``share`` is one over the rows of the whole batch, so that the
gradients of minibatches add up to that of its mean.

Source of the formulas: differentiate those in ``mimetic.losses.closed_forms``.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from itertools import groupby
from typing import ClassVar

import torch
import torch.nn.functional as F
from stable_baselines3.common import distributions as sb3
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from mimetic.policies import codec_of
from mimetic_bc.engines.mlp.formula import Coefficients
from mimetic_bc.engines.mlp.unserved import UnservedError

_MOST_CHOICES = 256  # each row carries a one-hot vector of all choices: more would outgrow the observations

Gradient = Callable[[Tensor, Tensor], Tensor]
"""``gradient(outputs, targets)``: d objective / d outputs. (K, B), (K, B) -> (K, B). May overwrite the outputs."""


class Head(ABC):
    """One policy's distribution."""

    served: ClassVar[Collection[str]]
    """The loss terms whose gradients it knows."""

    def __init__(self, policy: ActorCriticPolicy) -> None:
        self._encode = codec_of(policy).encode
        self._like = next(policy.action_net.parameters()).new_empty(())

    def prepare(self, acts: Tensor) -> Tensor:
        """Map the environment's actions to rows of targets. (B, *A) -> (B, K)."""
        return self._encode(acts).to(self._like.dtype)

    def encoded(self, targets: Tensor) -> Tensor:
        """Map such rows to what the distribution takes."""
        return targets

    @abstractmethod
    def gradient(self, c: Coefficients, n_rows: int, share: float) -> Gradient:
        """Return the function for ``n_rows`` rows at a time."""

    def _number(self, value: float) -> Tensor:
        return self._like.new_tensor(value)


class ChoiceHead(Head):
    """Logits of one choice, or of several side by side. A row's targets are minus its one-hot vectors.

    With p = softmax(z): d(-log p_a)/dz = p - onehot(a), and d(-H)/dz = p (log p + H).
    """

    served = ("nll", "entropy", "l2", "cross-entropy")

    def __init__(self, policy: ActorCriticPolicy, sizes: list[int]) -> None:
        super().__init__(policy)
        if sum(sizes) > _MOST_CHOICES:
            raise UnservedError(f"an action has {sum(sizes)} choices (up to {_MOST_CHOICES} are served)")
        self._sizes = sizes
        self._is_one = isinstance(policy.action_dist, sb3.CategoricalDistribution)
        self._runs = [(len(list(run)), size) for size, run in groupby(sizes)]  # neighbours of equal size go together

    def prepare(self, acts: Tensor) -> Tensor:
        """Give minus the one-hot vectors of the chosen."""
        chosen = self._encode(acts).reshape(len(acts), -1).unbind(dim=1)
        hot = [F.one_hot(column, size) for column, size in zip(chosen, self._sizes, strict=True)]
        return torch.cat(hot, dim=1).to(self._like.dtype).neg_()

    def encoded(self, targets: Tensor) -> Tensor:
        """Give the chosen: (B,) for one choice, else (B, D)."""
        chosen = torch.stack([part.argmin(dim=1) for part in torch.split(targets, self._sizes, dim=1)], dim=1)
        return chosen[:, 0] if self._is_one else chosen

    def gradient(self, c: Coefficients, n_rows: int, share: float) -> Gradient:
        """See :class:`Head`."""
        if len(self._sizes) == 1:
            return self._one_choice(self._sizes[0], 0, c, share)
        gradients = {size: self._one_choice(size, 1, c, share) for size in self._sizes}

        def gradient(outputs: Tensor, targets: Tensor) -> Tensor:
            parts, first = [], 0
            targets = targets.contiguous()
            for n, size in self._runs:
                rows = slice(first, first := first + n * size)
                logits, hot = outputs[rows].view(n, size, -1), targets[rows].view(n, size, -1)
                parts.append(gradients[size](logits, hot).view(n * size, -1))
            return torch.cat(parts)

        return gradient

    def _one_choice(self, size: int, dim: int, c: Coefficients, share: float) -> Gradient:
        """The choices lie along ``dim``."""
        nll, scale, spread = self._number(c.nll), self._number(share), self._number(c.spread / size)
        is_plain, is_unit = not c.entropy and not c.spread, c.nll == 1.0

        def gradient(logits: Tensor, targets: Tensor) -> Tensor:
            log_p = torch.log_softmax(logits, dim)
            p = torch.exp(log_p)
            if is_plain:
                return p.add_(targets).mul_(nll).mul_(scale)
            wanted = targets if is_unit else targets * nll
            if c.spread:
                wanted = wanted - spread
            slope = torch.addcmul(wanted, p, log_p, value=c.entropy)  # d objective / d log p
            # What torch's own autograd calls: slope - p * sum(slope).
            return torch._log_softmax_backward_data(slope, log_p, dim, slope.dtype).mul_(scale)

        return gradient


class GaussianHead(Head):
    """Means; the logarithm s of the standard deviation is a parameter.

    With d = m - a: d(-log p)/dm = d exp(-2 s) and d(-log p)/ds = 1 - d^2 exp(-2 s); d(-H)/ds = -1.
    """

    served = ("nll", "entropy", "l2", "mse", "huber")

    def __init__(self, policy: ActorCriticPolicy, log_std: Tensor, log_std_gradient: Tensor) -> None:
        """Read ``log_std`` (K,), write ``log_std_gradient`` (K,)."""
        super().__init__(policy)
        self._log_std = log_std.view(-1, 1)
        self._log_std_gradient = log_std_gradient

    def gradient(self, c: Coefficients, n_rows: int, share: float) -> Gradient:
        """See :class:`Head`."""
        log_std, into = self._log_std, self._log_std_gradient
        n_dims = len(log_std)
        at_mean = into.new_full((n_dims,), (c.nll - c.entropy) * n_rows * share)
        ones = into.new_ones(n_rows)
        log_weight = self._number(math.log(abs(c.nll) * share) if c.nll else 0.0)

        def gradient(outputs: Tensor, targets: Tensor) -> Tensor:
            deviation = outputs.sub_(targets)
            if c.nll:
                scaled = torch.add(log_weight, log_std, alpha=-2.0).exp_() * deviation
                if c.nll < 0.0:
                    scaled.neg_()
                torch.addmv(at_mean, scaled * deviation, ones, alpha=-1.0, out=into)
            else:
                scaled = torch.zeros_like(deviation)
                into.copy_(at_mean)
            if c.mse:
                scaled.add_(deviation, alpha=2.0 * c.mse * share / n_dims)
            for weight, delta in c.huber:
                scaled.add_(deviation.clamp(-delta, delta), alpha=weight * share / n_dims)
            return scaled

        return gradient


class BernoulliHead(Head):
    """Logits of independent switches.

    With p = sigmoid(z): d(-log p(a))/dz = p - a, and d(-H)/dz = z p (1 - p).
    """

    served = ("nll", "entropy", "l2")

    def gradient(self, c: Coefficients, n_rows: int, share: float) -> Gradient:
        """See :class:`Head`."""
        weight = self._number(c.nll * share)

        def gradient(outputs: Tensor, targets: Tensor) -> Tensor:
            p = torch.sigmoid(outputs)
            slope = (p - targets).mul_(weight)
            if c.entropy:
                slope.addcmul_(outputs, torch.addcmul(p, p, p, value=-1.0), value=c.entropy * share)
            return slope

        return gradient


def make_head(policy: ActorCriticPolicy, log_std: Tensor | None, log_std_gradient: Tensor | None) -> Head:
    """Return the head of a policy whose distribution is plain.

    Raises:
        UnservedError: it has too many choices.
    """
    distribution = policy.action_dist
    if isinstance(distribution, sb3.CategoricalDistribution):
        return ChoiceHead(policy, [int(distribution.action_dim)])
    if isinstance(distribution, sb3.MultiCategoricalDistribution):
        return ChoiceHead(policy, [int(size) for size in distribution.action_dims])
    if isinstance(distribution, sb3.BernoulliDistribution):
        return BernoulliHead(policy)
    assert isinstance(distribution, sb3.DiagGaussianDistribution)
    assert log_std is not None
    assert log_std_gradient is not None
    return GaussianHead(policy, log_std, log_std_gradient)
