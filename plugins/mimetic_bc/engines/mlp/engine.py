"""One step: forward, the gradient of the objective at the outputs, backward, Adam."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from mimetic.algorithms import Batch
from mimetic.algorithms.tensors import split_rows
from mimetic.errors import ConfigError
from mimetic.losses import LossInputs, evaluate_objective
from mimetic_bc.engines.adam import DirectSteps
from mimetic_bc.engines.interface import Job, Measurement
from mimetic_bc.engines.measuring import add_up, measure as measure_batch
from mimetic_bc.engines.mlp.actor import Actor, read_actor
from mimetic_bc.engines.mlp.formula import Coefficients, Formula
from mimetic_bc.engines.mlp.heads import Gradient, Head, make_head
from mimetic_bc.engines.mlp.network import Network, Workspace
from mimetic_bc.engines.mlp.parts import cut
from mimetic_bc.engines.mlp.unserved import UnservedError
from mimetic_bc.engines.mlp.weights import FlatWeights
from mimetic_bc.optimizers import OptimizerChoice

_SETTINGS = {torch.optim.Adam: {"lr", "betas", "eps"}, torch.optim.AdamW: {"lr", "betas", "eps", "weight_decay"}}
_MOST_SIZES = 8  # of batches whose memory is kept


@dataclass(frozen=True, slots=True, eq=False)
class _Room:
    """What lies ready for minibatches of one size in batches of one size."""

    space: Workspace
    gradient: Gradient | None  # at the outputs; None when it is another one at every step


class MlpEngine:
    """Trains plain feed-forward actors on the shipped terms with Adam or AdamW, by hand; see :class:`Engine`."""

    name: ClassVar[str] = "mlp"

    @classmethod
    def declines(cls, job: Job) -> str | None:
        """Serve what the parts of this package know."""
        try:
            _read_job(job)
        except UnservedError as unserved:
            return str(unserved)
        return None

    def __init__(self, job: Job) -> None:
        self._job = job
        self._actor, self._weights, self._head, self._formula = _read_job(job)
        self._form = self._actor.form
        vector, gradient = self._weights.vector, self._weights.gradient
        self._network = Network(
            self._weights.matrices, self._weights.layers_of(gradient), self._actor.activations, job.minibatch_size
        )
        coefficients = self._formula.at(0.0)
        constant = coefficients if self._formula.is_constant else None
        self._parts = cut(self._weights.ends, self._actor.log_std is not None, constant)
        self.optimizer = job.optimizer.build([nn.Parameter(vector[part]) for part in self._parts.slices])
        self._steps = DirectSteps(self.optimizer)
        self._part_gradients = [gradient[part] for part in self._parts.slices]
        self._active: tuple[int, ...] = ()
        self._active_gradients: list[Tensor] = []
        self._aim(coefficients)
        self._rooms: dict[tuple[int, int], _Room] = {}
        self._adds_l2 = job.max_grad_norm is not None or job.optimizer.cls is not torch.optim.Adam
        self._inference = torch.inference_mode()

    @property
    def facts(self) -> Mapping[str, str]:
        """There is one way only."""
        return {}

    def prepare(self, obs: Any, acts: Tensor) -> Batch:
        """Give what the first layer sees and the targets. (B, D) or (B, D + 1), (B, K)."""
        with torch.no_grad():
            rows = self._actor.rows(obs)
            inputs = _with_ones(rows) if self._network.has_ones else rows
            return Batch(inputs, self._head.prepare(acts))

    def begin(self) -> None:
        """Copy the weights out of the policy; see :class:`Engine`."""
        try:
            actor = read_actor(self._job.policy)
            if actor.form != self._form:
                raise UnservedError("its layers are others now")
        except UnservedError as unserved:
            raise ConfigError(
                f"the policy was changed since training began, and engine 'mlp' cannot go on: {unserved}; "
                "engine 'autograd' can"
            ) from None
        self._actor = actor
        self._weights.read(actor)
        self._steps.look_again()

    def end(self) -> None:
        """Copy them back."""
        self._weights.write()

    def step(self, batch: Batch, *, progress: float, lr: float | None, measure: bool) -> Measurement | None:
        """Take one optimiser step on ``batch``; see :class:`Engine`."""
        if lr is not None:
            self.optimizer.param_groups[0]["lr"] = lr
        with self._inference:
            if not self._formula.is_constant:
                self._aim(self._formula.at(progress))
            n_rows, size = batch.acts.shape[0], self._job.minibatch_size
            if n_rows <= size:
                measured = self._differentiate(batch, n_rows, progress, measure)
            else:
                measured = self._accumulate(batch, n_rows, size, progress, measure)
            decay = self._coefficients.l2
            if decay and self._adds_l2:
                self._add_l2(decay)
                decay = 0.0
            if self._job.max_grad_norm is not None:
                norm = self._clip(self._job.max_grad_norm)
                measured = measured and replace(measured, grad_norm=norm)
            self._steps.step(self._active, self._active_gradients, decay)
        return measured

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state."""
        return {"optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put the optimiser's state back."""
        self.optimizer.load_state_dict(state["optimizer"])
        self._steps.look_again()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the memory behind: views of one vector would come back as tensors of their own."""
        return {"job": self._job, "state": self.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["job"])  # type: ignore[misc]  # what is left is made from the job
        self.load_state_dict(state["state"])

    def _aim(self, coefficients: Coefficients) -> None:
        """Minimise the objective with these coefficients from now on."""
        self._coefficients = coefficients
        self._active = self._parts.active(coefficients)
        self._active_gradients = [self._part_gradients[number] for number in self._active]

    # --- gradients ------------------------------------------------------------------------------------------------

    def _differentiate(self, part: Batch, n_total: int, progress: float, measure: bool) -> Measurement | None:
        """Compute the gradient of these rows' share of the mean over ``n_total`` rows, and measure them if asked to."""
        n_rows = part.acts.shape[0]
        room = self._rooms.get((n_rows, n_total)) or self._make_room(n_rows, n_total)
        rows = part.obs if self._actor.norm is None else self._normal(part.obs, self._actor.norm)
        outputs = self._network.forward(rows, room.space)
        measured = self._measure(outputs, part.acts, progress, n_rows / n_total) if measure else None
        gradient = room.gradient or self._head.gradient(self._coefficients, n_rows, 1.0 / n_total)
        self._network.backward(rows, gradient(outputs, part.acts.t()), room.space)
        return measured

    def _normal(self, rows: Tensor, norm: nn.Module) -> Tensor:
        normal: Tensor = norm(rows[:, :-1] if self._network.has_ones else rows)
        return _with_ones(normal) if self._network.has_ones else normal

    def _accumulate(self, batch: Batch, n_rows: int, size: int, progress: float, measure: bool) -> Measurement | None:
        """Add up the gradients of minibatches."""
        gradient = self._weights.gradient
        total = torch.zeros_like(gradient)
        shares = []
        for part in map(Batch, split_rows(batch.obs, size), split_rows(batch.acts, size)):
            shares.append(self._differentiate(part, n_rows, progress, measure))
            total.add_(gradient)
        gradient.copy_(total)
        return add_up(shares)

    def _add_l2(self, weight: float) -> None:
        """Add the gradient of l2, where it must be part of the gradient and not of Adam's own weight decay."""
        values, gradient = self._weights.vector, self._weights.gradient
        actor, rest = slice(None, self._weights.ends[1]), slice(self._weights.ends[1], None)
        gradient[actor].add_(values[actor], alpha=weight)
        torch.mul(values[rest], weight, out=gradient[rest])  # nothing else overwrites it

    def _clip(self, greatest: float) -> Tensor:
        """Scale the gradient down to the greatest norm that is allowed; return the norm that it had."""
        pieces = self._active_gradients
        norm = torch.linalg.vector_norm(torch.cat(pieces)) if pieces else self._weights.vector.new_zeros(())
        scale = (greatest / (norm + 1e-6)).clamp_(max=1.0)
        for piece in pieces:
            piece.mul_(scale)
        return norm

    def _make_room(self, n_rows: int, n_total: int) -> _Room:
        if len(self._rooms) >= _MOST_SIZES:
            self._rooms.clear()
        gradient = self._head.gradient(self._coefficients, n_rows, 1.0 / n_total) if self._formula.is_constant else None
        room = _Room(self._network.workspace(n_rows), gradient)
        self._rooms[n_rows, n_total] = room
        return room

    def _measure(self, outputs: Tensor, targets: Tensor, progress: float, share: float) -> Measurement:
        self._weights.write()  # a Gaussian's deviation is read from the policy
        policy, terms = self._job.policy, self._job.terms
        reading = self._actor.head(policy, outputs.t(), lambda: self._head.encoded(targets))
        inputs = LossInputs(policy, None, targets, reader=lambda *_: reading, parameters=[self._weights.vector])
        return measure_batch(inputs, evaluate_objective(terms, inputs, progress), share)


def _with_ones(rows: Tensor) -> Tensor:
    """Put a column of ones behind the others. (B, D) -> (B, D + 1)."""
    inputs = rows.new_empty(len(rows), rows.shape[1] + 1)
    inputs[:, :-1] = rows
    inputs[:, -1] = 1.0
    return inputs


def _read_job(job: Job) -> tuple[Actor, FlatWeights, Head, Formula]:
    """Take a job apart.

    Raises:
        UnservedError: it is one for another engine.
    """
    if job.device.type != "cpu":
        raise UnservedError(f"the device is {job.device.type}")
    if job.autocast is not None:
        raise UnservedError(f"the precision is {str(job.autocast).removeprefix('torch.')}")
    _check_optimizer(job.optimizer)
    actor = read_actor(job.policy)
    weights = FlatWeights(actor)
    head = make_head(job.policy, weights.log_std_of(weights.vector), weights.log_std_of(weights.gradient))
    return actor, weights, head, Formula(job.terms, head.served)


def _check_optimizer(choice: OptimizerChoice) -> None:
    """Accept torch's Adam and AdamW with plain settings.

    Raises:
        UnservedError: it is another optimiser, or one of its settings is not plain.
    """
    name = choice.cls.__name__
    known = _SETTINGS.get(choice.cls)
    if known is None:
        raise UnservedError(f"the optimiser is {name}, neither Adam nor AdamW")
    foreign = sorted(key for key, value in choice.kwargs.items() if key not in known and value)
    if foreign:
        raise UnservedError(f"{name} is asked for with {', '.join(foreign)}")
    if any(isinstance(value, Tensor) for value in (*choice.kwargs.values(), *choice.kwargs.get("betas", ()))):
        raise UnservedError(f"a setting of {name} is a tensor")
