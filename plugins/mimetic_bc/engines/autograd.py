"""The engine that serves every policy, term and optimiser: torch's autograd and torch's optimisers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from mimetic.algorithms import Batch
from mimetic.algorithms.tensors import split_rows
from mimetic.errors import ComponentFailedError
from mimetic.losses import LossInputs, evaluate_objective, policy_reader
from mimetic_bc.engines.adam import DirectSteps
from mimetic_bc.engines.interface import Job, Measurement
from mimetic_bc.engines.measuring import add_up, measure as measure_batch


class AutogradEngine:
    """One forward pass a batch, shared by all terms; one backward pass; one optimiser step."""

    name: ClassVar[str] = "autograd"

    @classmethod
    def declines(cls, job: Job) -> str | None:
        """Serve every job."""
        return None

    def __init__(self, job: Job) -> None:
        self._policy = job.policy
        self._terms = job.terms
        self._minibatch_size = job.minibatch_size
        self._max_grad_norm = job.max_grad_norm
        self._reader = policy_reader(job.policy)
        self._parameters = list(job.policy.parameters())
        self.optimizer = job.optimizer.build(self._parameters)
        self._steps = DirectSteps(self.optimizer)

    def prepare(self, obs: Any, acts: Tensor) -> Batch:
        """Take rows as they are: the policy knows what to do with them."""
        return Batch(obs, acts)

    def begin(self) -> None:
        """Train the policy's own weights, where they are."""
        self._steps.look_again()

    def end(self) -> None:
        """Leave them there."""

    def step(self, batch: Batch, *, progress: float, lr: float | None, measure: bool) -> Measurement | None:
        """Take one optimiser step on ``batch``; see :class:`mimetic_bc.engines.Engine`."""
        if lr is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = lr
        for parameter in self._parameters:
            parameter.grad = None
        n_rows = len(batch.acts)
        if n_rows <= self._minibatch_size:
            measured = self._accumulate(batch, 1.0, progress, measure)
        else:
            parts = map(
                Batch, split_rows(batch.obs, self._minibatch_size), split_rows(batch.acts, self._minibatch_size)
            )
            measured = add_up([self._accumulate(part, len(part.acts) / n_rows, progress, measure) for part in parts])
        if self._max_grad_norm is not None:
            norm = torch.nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm)
            measured = measured and replace(measured, grad_norm=norm)
        gradients = {number: p.grad for number, p in enumerate(self._parameters) if p.grad is not None}
        self._steps.step(tuple(gradients), list(gradients.values()))
        return measured

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state."""
        return {"optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put the optimiser's state back."""
        self.optimizer.load_state_dict(state["optimizer"])
        self._steps.look_again()

    def _accumulate(self, part: Batch, share: float, progress: float, measure: bool) -> Measurement | None:
        """Add the gradients of ``share`` times the objective of these rows: shares add up to the mean of the batch."""
        inputs = LossInputs(self._policy, part.obs, part.acts, reader=self._reader, parameters=self._parameters)
        objective = evaluate_objective(self._terms, inputs, progress, skip_weightless=not measure)
        if objective.total.requires_grad:
            (objective.total if share == 1.0 else objective.total * share).backward()  # type: ignore[no-untyped-call]  # torch's
        else:
            self._refuse_detached(progress)
        return measure_batch(inputs, objective, share) if measure else None

    def _refuse_detached(self, progress: float) -> None:
        """An objective without gradients is right where every weight is zero just now, and a mistake elsewhere."""
        weighted = [term.name for term in self._terms if term.weight_at(progress)]
        if weighted:
            raise ComponentFailedError(
                f"the objective ({', '.join(weighted)}) depends on no weight of the policy that can be trained; "
                "expected a term that is computed from the policy, and a parameter with requires_grad"
            )
