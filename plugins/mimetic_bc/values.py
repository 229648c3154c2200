"""Under which keys is a measurement logged? docs/metrics.md explains every number."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mimetic.losses import WeightedTerm
from mimetic_bc.engines import Measurement
from mimetic_bc.terms import half_squared_norm, negative_entropy


def report_values(measured: Measurement, terms: Sequence[WeightedTerm], progress: float) -> dict[str, float | None]:
    """Read a measurement from the device, in one transfer, and name its numbers."""
    named: dict[str, Tensor | None] = {
        "bc/neglogp": measured.neglogp,
        "bc/entropy": measured.entropy,
        "bc/prob_true_act": measured.prob_true_act,
        "bc/l2_norm": measured.l2_norm,
        "bc/loss": measured.loss,
        **{f"bc/terms/{term.name}": measured.terms[term.name] for term in terms},
        **({} if measured.grad_norm is None else {"bc/grad_norm": measured.grad_norm}),
    }
    values = _read(named)
    weights = {term.name: term.weight_at(progress) for term in terms}
    for key, kind in (("bc/ent_loss", negative_entropy), ("bc/l2_loss", half_squared_norm)):
        parts = [
            weights[t.name] * (values[f"bc/terms/{t.name}"] or 0.0) for t in terms if t.term is kind and weights[t.name]
        ]
        values[key] = sum(parts, 0.0)
    return values | {f"bc/weights/{term.name}": weights[term.name] for term in terms if callable(term.weight)}


def _read(named: dict[str, Tensor | None]) -> dict[str, float | None]:
    present = {key: value for key, value in named.items() if value is not None}
    numbers = dict(
        zip(present, torch.stack([value.to(torch.float64) for value in present.values()]).tolist(), strict=True)
    )
    return {key: numbers.get(key) for key in named}
