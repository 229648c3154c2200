"""What is seen at a batch? Every engine measures by the same formulas."""

from collections.abc import Sequence
from functools import reduce

import torch

from mimetic.losses import LossInputs, Objective
from mimetic_bc.engines.interface import Measurement
from mimetic_bc.terms import half_squared_norm, negative_log_likelihood


@torch.no_grad()
def measure(inputs: LossInputs, objective: Objective, share: float) -> Measurement:
    """Measure the rows of a minibatch, weighted by their share of the batch."""
    entropy = inputs.entropy
    return Measurement(
        neglogp=share * negative_log_likelihood(inputs),
        entropy=None if entropy is None else share * entropy.mean(),
        prob_true_act=share * inputs.log_prob.exp().mean(),
        l2_norm=share * half_squared_norm(inputs),
        loss=share * objective.total.detach(),
        terms={name: share * value.detach() for name, value in objective.terms.items()},
    )


def add_up(shares: Sequence[Measurement | None]) -> Measurement | None:
    """Join the measurements of minibatches to that of their batch; None when nothing was measured."""
    measured = [share for share in shares if share is not None]
    return reduce(_plus, measured) if measured else None


def _plus(a: Measurement, b: Measurement) -> Measurement:
    return Measurement(
        neglogp=a.neglogp + b.neglogp,
        entropy=None if a.entropy is None or b.entropy is None else a.entropy + b.entropy,
        prob_true_act=a.prob_true_act + b.prob_true_act,
        l2_norm=a.l2_norm + b.l2_norm,
        loss=a.loss + b.loss,
        terms={name: value + b.terms[name] for name, value in a.terms.items()},
    )
