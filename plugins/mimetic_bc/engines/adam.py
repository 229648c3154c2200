"""How does an ordinary torch Adam take a step with the least ceremony?

State and settings stay those of the optimiser, which anyone may read, change, save and load. A step calls the function
that does the work in it, ``torch._fused_adam_``, directly: ``Adam.step`` after a backward pass takes ten times as long
for a small net. That function is private to torch, so wherever it is missing or has changed, where the caller chose
another implementation, and where a hook wants to see the steps, the optimiser's public ``step`` is called.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

_NAMES = {torch.optim.Adam: "_fused_adam_", torch.optim.AdamW: "_fused_adamw_"}
_UNUSUAL = ("amsgrad", "maximize", "capturable", "differentiable")
_BOOK = {"lr": 0.5, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}

Update = Callable[..., None]


@dataclass(frozen=True, slots=True, eq=False)
class _Ready:
    """What some of the parameters step with, side by side."""

    values: list[Tensor]
    averages: list[Tensor]
    squares: list[Tensor]
    steps: list[Tensor]


class DirectSteps:
    """Steps of one optimiser of any kind, direct ones where it can be.

    A parameter steps only when it has a gradient, and counts its own steps, as in torch.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        """Step for ``optimizer``, whose parameters are numbered in the order of its first group."""
        self._optimizer = optimizer
        self._parameters: list[Tensor] = optimizer.param_groups[0]["params"]
        self._update = _find_update(optimizer)
        self._is_direct = False
        self._ready: dict[tuple[int, ...], _Ready] = {}
        self._counts: dict[int, int] = {}
        self.look_again()

    def look_again(self) -> None:
        """Notice what others did to the optimiser: state was loaded, say, or a hook registered."""
        group = self._optimizer.param_groups[0]
        unusual = len(self._optimizer.param_groups) > 1 or not group.get("fused") or any(map(group.get, _UNUSUAL))
        self._is_direct = self._update is not None and not _is_watched(self._optimizer) and not unusual
        self._ready.clear()
        self._counts.clear()

    def step(self, active: tuple[int, ...], gradients: Sequence[Tensor], decay: float = 0.0) -> None:
        """Step on the parameters with these numbers by these gradients.

        ``decay`` is added to the optimiser's own weight decay.
        """
        if not self._is_direct:
            self._step_publicly(active, gradients, decay)
            return
        if not active:
            return
        ready = self._ready.get(active) or self._make_ready(active)
        self._count(active, ready)
        group = self._optimizer.param_groups[0]
        assert self._update is not None
        _apply(self._update, ready, gradients, group, group["weight_decay"] + decay)

    def _count(self, active: tuple[int, ...], ready: _Ready) -> None:
        """Count a step of each, in the way that is cheapest where the counts lie."""
        if not ready.steps[0].is_cpu:
            torch._foreach_add_(ready.steps, 1)  # one kernel for all
            return
        counts = self._counts
        for number, step in zip(active, ready.steps, strict=True):
            counts[number] += 1
            step.fill_(counts[number])

    def _make_ready(self, active: tuple[int, ...]) -> _Ready:
        parameters = [self._parameters[number] for number in active]
        states = [self._state_of(parameter) for parameter in parameters]
        for number, state in zip(active, states, strict=True):
            self._counts[number] = int(state["step"].item())
        averages, squares, steps = ([state[key] for state in states] for key in ("exp_avg", "exp_avg_sq", "step"))
        self._ready[active] = _Ready(parameters, averages, squares, steps)
        return self._ready[active]

    def _state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return the optimiser's state of a parameter, made as torch makes it at the first step."""
        state: dict[str, Tensor] = self._optimizer.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            state["exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        return state

    def _step_publicly(self, active: tuple[int, ...], gradients: Sequence[Tensor], decay: float) -> None:
        for parameter in self._parameters:
            parameter.grad = None
        for number, gradient in zip(active, gradients, strict=True):
            self._parameters[number].grad = gradient
        group = self._optimizer.param_groups[0]
        if not decay:
            self._optimizer.step()
            return
        own = group["weight_decay"]
        group["weight_decay"] = own + decay
        try:
            self._optimizer.step()
        finally:
            group["weight_decay"] = own


def _apply(
    update: Update, ready: _Ready, gradients: Sequence[Tensor], group: dict[str, Any], weight_decay: float
) -> None:
    if torch.is_grad_enabled():
        with torch.no_grad():
            _apply(update, ready, gradients, group, weight_decay)
        return
    beta1, beta2 = group["betas"]
    update(
        ready.values,
        gradients,
        ready.averages,
        ready.squares,
        [],
        ready.steps,
        lr=group["lr"],
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=group["eps"],
        amsgrad=False,
        maximize=False,
    )


def _is_watched(optimizer: torch.optim.Optimizer) -> bool:
    """Whether a hook on this optimiser, or on all, wants to see its steps."""
    own = (optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks)
    module = sys.modules[torch.optim.Optimizer.__module__]
    everyones = (getattr(module, f"_global_optimizer_{when}_hooks", None) for when in ("pre", "post"))
    return any(own) or any(everyones)


def _find_update(optimizer: torch.optim.Optimizer) -> Update | None:
    """Return the function that does an optimiser's work; None when there is none, or it is not what it was."""
    update: Update | None = getattr(torch, _NAMES.get(type(optimizer), ""), None)
    kinds = {(p.dtype, p.device) for p in optimizer.param_groups[0]["params"]}
    return update if update is not None and all(_works(update, *kind) for kind in kinds) else None


def _works(update: Update, dtype: torch.dtype, device: torch.device) -> bool:
    """Whether ``update`` takes the first step of Adam by the book: down by ``lr`` for a gradient of one."""
    value, average, square, step = (torch.tensor([n], dtype=dtype, device=device) for n in (1.0, 0.0, 0.0, 1.0))
    try:
        _apply(update, _Ready([value], [average], [square], [step[0].float()]), [value.clone()], _BOOK, 0.0)
        return abs(value.item() - 0.5) < 1e-2 and abs(average.item() - 0.1) < 1e-2
    except (TypeError, RuntimeError):
        return False
