"""What does training minimise? A weighted sum of terms, each a function of :class:`LossInputs`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mimetic.errors import ComponentFailedError, MimeticError
from mimetic.losses.inputs import LossInputs
from mimetic.losses.schedules import Weight

LossTerm = Callable[[LossInputs], Tensor]
"""One summand: gives a scalar on the policy's device."""


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A summand of the objective."""

    name: str  # its id in the run file: unique in one objective
    weight: Weight
    term: LossTerm
    provider: str = ""  # the distribution that it comes from, for errors

    def weight_at(self, progress: float) -> float:
        """Give the weight at ``progress``, which runs from 0 at the first step to 1 at the last."""
        return float(self.weight(progress)) if callable(self.weight) else self.weight

    def __call__(self, inputs: LossInputs) -> Tensor:
        """Give the term without its weight.

        Raises:
            ComponentFailedError: names the term and who provides it.
        """
        try:
            value = self.term(inputs)
        except MimeticError:
            raise
        except Exception as error:
            raise ComponentFailedError(f"{self._title()} raised {type(error).__name__}: {error}") from error
        if not isinstance(value, Tensor) or value.dim() != 0:
            raise ComponentFailedError(
                f"{self._title()} gave {_described(value)}; expected a tensor with one number, shape ()"
            )
        return value

    def _title(self) -> str:
        return f"loss term {self.name!r}" + (f" of {self.provider}" if self.provider else "")


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """The weighted sum and what it is made of."""

    total: Tensor  # ()
    terms: Mapping[str, Tensor]  # () each, without weights


def evaluate_objective(
    terms: Sequence[WeightedTerm], inputs: LossInputs, progress: float = 0.0, *, skip_weightless: bool = False
) -> Objective:
    """Sum ``weight * term`` over the terms. Reads its arguments; changes nothing.

    A term whose weight is zero adds nothing, not even when it is infinite. It is evaluated last and without
    gradients, or with ``skip_weightless`` not at all.
    """
    values: dict[str, Tensor] = {}
    weightless: list[WeightedTerm] = []
    total: Tensor | None = None
    for term in terms:
        weight = term.weight_at(progress)
        if weight == 0.0:
            weightless.append(term)
            continue
        value = values[term.name] = term(inputs)
        weighted = value if weight == 1.0 else value * weight
        total = weighted if total is None else total + weighted
    if weightless and not skip_weightless:
        with torch.no_grad():
            values.update({term.name: term(inputs) for term in weightless})
    return Objective(torch.zeros((), device=inputs.acts.device) if total is None else total, values)


def _described(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"{value!r} of type {type(value).__name__}"
