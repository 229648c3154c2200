"""The engine that serves every policy, term and optimiser: torch's autograd and torch's optimisers."""

import warnings
from collections.abc import Mapping, Sequence
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
from mimetic_bc.engines.precision import reading_in
from mimetic_bc.engines.recording import CudaRecorder, RecordedGradients, Recorder, RecordingError
from mimetic_bc.engines.replaying import what_forbids_replaying


class AutogradEngine:
    """One forward pass a batch, shared by all terms; one backward pass; one optimiser step.

    On a CUDA device both passes are recorded at the first full batch, where all that takes part allows it, and
    replayed from then on. What a short batch needs, and what is measured, is launched step by step.
    """

    name: ClassVar[str] = "autograd"

    @classmethod
    def declines(cls, job: Job) -> str | None:
        """Serve every job."""
        return None

    def __init__(self, job: Job, recorder: Recorder | None = None) -> None:
        """Get ready. ``recorder`` records passes; None: a CUDA graph does, where the device is one."""
        self._job = job
        self._policy = job.policy
        self._terms = job.terms
        self._minibatch_size = job.minibatch_size
        self._max_grad_norm = job.max_grad_norm
        self._reader = reading_in(job.autocast, policy_reader(job.policy), job.device)
        self._parameters = list(job.policy.parameters())
        self.optimizer = job.optimizer.build(self._parameters)
        self._steps = DirectSteps(self.optimizer)
        is_cuda = job.device.type == "cuda"
        self._recorder = recorder or (CudaRecorder(job.device) if is_cuda and job.replays else None)
        self._forbidden = what_forbids_replaying(job)
        self._recorded: RecordedGradients | None = None

    @property
    def facts(self) -> Mapping[str, str]:
        """Whether steps are replayed, where they could be."""
        if not self._job.replays:
            return {"cuda_graph": "no: switched off"}
        if self._recorder is None:
            return {}
        return {"cuda_graph": "yes" if self._forbidden is None else f"no: {self._forbidden}"}

    def prepare(self, obs: Any, acts: Tensor) -> Batch:
        """Take rows as they are: the policy knows what to do with them."""
        return Batch(obs, acts)

    def begin(self) -> None:
        """Train the policy's own weights, where they are."""
        self._steps.look_again()
        if self._recorder is not None:
            self._forbidden = what_forbids_replaying(self._job)
            if self._recorded is not None and not self._recorded.is_current():
                self._recorded = None

    def end(self) -> None:
        """Leave them there."""

    def step(self, batch: Batch, *, progress: float, lr: float | None, measure: bool) -> Measurement | None:
        """Take one optimiser step on ``batch``; see :class:`mimetic_bc.engines.Engine`."""
        if lr is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = lr
        parts = self._cut(batch)
        recorded = self._recording_for(parts) if len(batch.acts) == self._job.batch_size else None
        if recorded is None:
            measured = self._differentiate(parts, progress, measure)
        else:
            measured = self._replay(recorded, parts, progress, measure)
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

    def __getstate__(self) -> dict[str, Any]:
        """Leave recordings behind: they are of this process."""
        return {**vars(self), "_recorded": None}

    # --- gradients ------------------------------------------------------------------------------------------------

    def _cut(self, batch: Batch) -> list[Batch]:
        """Cut a batch into minibatches."""
        size = self._minibatch_size
        if len(batch.acts) <= size:
            return [batch]
        return list(map(Batch, split_rows(batch.obs, size), split_rows(batch.acts, size)))

    def _differentiate(self, parts: Sequence[Batch], progress: float, measure: bool) -> Measurement | None:
        """Compute the gradient of the mean over the rows of all parts."""
        for parameter in self._parameters:
            parameter.grad = None
        if len(parts) == 1:
            return self._accumulate(parts[0], 1.0, progress, measure)
        n_rows = sum(len(part.acts) for part in parts)
        return add_up([self._accumulate(part, len(part.acts) / n_rows, progress, measure) for part in parts])

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

    # --- replays --------------------------------------------------------------------------------------------------

    def _recording_for(self, parts: Sequence[Batch]) -> RecordedGradients | None:
        """Return the recording for a batch that is full, made at the first one; None when there is none to be."""
        if self._recorder is None or self._forbidden is not None:
            return None
        if self._recorded is None:
            share = 1.0 if len(parts) == 1 else len(parts[0].acts) / self._job.batch_size
            try:
                self._recorded = RecordedGradients(
                    self._recorder, lambda rows: self._accumulate(rows, share, 0.0, False), parts[0], self._policy
                )
            except RecordingError as error:
                warnings.warn(f"steps are not recorded, but launched one by one: {error}", stacklevel=2)
                self._recorder = None
        return self._recorded

    def _replay(
        self, recorded: RecordedGradients, parts: Sequence[Batch], progress: float, measure: bool
    ) -> Measurement | None:
        """Compute the same by replays. What is measured is seen in a pass of its own, of which nothing is kept."""
        measured = None
        if measure:
            with recorded.unchanged():
                measured = self._differentiate(parts, progress, measure)
        total = recorded.at(parts[0])
        if len(parts) > 1:
            total = [gradient if gradient is None else gradient.clone() for gradient in total]
            for part in parts[1:]:
                for mine, more in zip(total, recorded.at(part), strict=True):
                    if mine is not None and more is not None:
                        mine.add_(more)
        for parameter, gradient in zip(self._parameters, total, strict=True):
            parameter.grad = gradient
        return measured
