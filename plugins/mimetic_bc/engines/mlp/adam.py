"""How does Adam step on parts of a flat vector with the least ceremony?

The state and the settings are those of an ordinary torch optimiser, which anyone may read, change, save and load. A
step calls the function that does the work in it, ``torch._fused_adam_``, directly: a third of the time for a small net.
That function is private to torch, so wherever it is missing or has changed, the optimiser's public ``step`` is called.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mimetic_bc.engines.mlp.unserved import UnservedError
from mimetic_bc.optimizers import OptimizerChoice

_SETTINGS = {"lr", "betas", "eps"}


def check_optimizer(choice: OptimizerChoice) -> None:
    """Accept torch's Adam with plain settings.

    Raises:
        UnservedError: it is another optimiser, or one of its settings is not plain.
    """
    if choice.cls is not torch.optim.Adam:
        raise UnservedError(f"the optimiser is {choice.cls.__name__}, not Adam")
    foreign = sorted(key for key, value in choice.kwargs.items() if key not in _SETTINGS and value)
    if foreign:
        raise UnservedError(f"Adam is asked for with {', '.join(foreign)}")
    numbers = [choice.kwargs.get("lr", 0.0), choice.kwargs.get("eps", 0.0), *choice.kwargs.get("betas", ())]
    if not all(isinstance(number, int | float) for number in numbers):
        raise UnservedError("a setting of Adam is a tensor")


class FlatAdam:
    """Adam on parts of a vector, each with a count of its own steps: a part steps only when it has gradients."""

    def __init__(self, choice: OptimizerChoice, values: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
        """Step on ``values``, views of the vector, by ``gradients``, which lie ready when ``step`` is called."""
        self._values = list(values)
        self._gradients = list(gradients)
        self._parameters = [nn.Parameter(value) for value in values]
        self.optimizer = choice.build(self._parameters)
        """torch's own optimiser on these parts."""
        for parameter, value in zip(self._parameters, values, strict=True):
            self.optimizer.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=value.device),
                "exp_avg": torch.zeros_like(value),
                "exp_avg_sq": torch.zeros_like(value),
            }
        self._can_be_fused = all(map(_has_fused_update, values))
        self._is_fused = False
        self.look_again()

    def look_again(self) -> None:
        """Notice what was done to the optimiser in between: state was loaded, or a hook wants to see its steps."""
        watched = self.optimizer._optimizer_step_pre_hooks or self.optimizer._optimizer_step_post_hooks
        self._is_fused = self._can_be_fused and not watched
        states = [self.optimizer.state[parameter] for parameter in self._parameters]
        self._steps: list[Tensor] = [state["step"] for state in states]
        self._averages: list[Tensor] = [state["exp_avg"] for state in states]
        self._squares: list[Tensor] = [state["exp_avg_sq"] for state in states]
        self._counts = [int(step.item()) for step in self._steps]

    def step(self, active: Sequence[int], weight_decay: float) -> None:
        """Step on the parts with these numbers; ``weight_decay`` times its value is added to each gradient."""
        if not self._is_fused:
            self._step_publicly(active, weight_decay)
            return
        for part in active:
            self._counts[part] += 1
            self._steps[part].fill_(self._counts[part])
        _fused_update(
            [self._values[part] for part in active],
            [self._gradients[part] for part in active],
            [self._averages[part] for part in active],
            [self._squares[part] for part in active],
            [self._steps[part] for part in active],
            self.optimizer.param_groups[0],
            weight_decay,
        )

    def _step_publicly(self, active: Sequence[int], weight_decay: float) -> None:
        for part, parameter in enumerate(self._parameters):
            parameter.grad = self._gradients[part] if part in active else None
        group = self.optimizer.param_groups[0]
        before = group["weight_decay"]
        group["weight_decay"] = weight_decay
        try:
            self.optimizer.step()
        finally:
            group["weight_decay"] = before


def _fused_update(
    values: list[Tensor],
    gradients: list[Tensor],
    averages: list[Tensor],
    squares: list[Tensor],
    steps: list[Tensor],
    group: dict[str, Any],
    weight_decay: float,
) -> None:
    beta1, beta2 = group["betas"]
    torch._fused_adam_(
        values,
        gradients,
        averages,
        squares,
        [],
        steps,
        lr=group["lr"],
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=group["eps"],
        amsgrad=False,
        maximize=False,
    )


def _has_fused_update(like: Tensor) -> bool:
    """Whether the private function does one step of Adam as the book says: 1 - lr from a gradient of one."""
    value, gradient = like.new_ones(1), like.new_ones(1)
    average, square = like.new_zeros(1), like.new_zeros(1)
    settings = {"betas": (0.9, 0.999), "eps": 1e-8, "lr": 0.5}
    try:
        _fused_update([value], [gradient], [average], [square], [torch.ones(())], settings, 0.0)
    except (AttributeError, TypeError, RuntimeError):
        return False
    return abs(value.item() - 0.5) < 1e-6 and abs(average.item() - 0.1) < 1e-6
