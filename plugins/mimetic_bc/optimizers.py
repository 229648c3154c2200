"""Which optimiser takes the steps, and how fast does it learn at which point of training?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from mimetic.errors import ConfigError, Fault
from mimetic.policies import without_compiler
from mimetic_bc.config import OptimizerConfig

LearningRateSchedule = Literal["constant", "linear", "cosine"]

_CLASSES: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
    "rmsprop": torch.optim.RMSprop,
}
_FUSED = (torch.optim.Adam, torch.optim.AdamW)  # torch updates all parameters of these in one pass, if asked to
_IMPLEMENTATIONS = {"fused", "foreach", "capturable", "differentiable"}  # a caller who sets one of these has chosen


@dataclass(frozen=True, slots=True, eq=False)
class OptimizerChoice:
    """A torch optimiser and its keyword arguments."""

    cls: type[torch.optim.Optimizer] = torch.optim.Adam
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: OptimizerConfig) -> "OptimizerChoice":
        """Read a run file's ``optimizer``."""
        return cls(_CLASSES[config.name], {"lr": config.lr, **config.settings()})

    def build(self, parameters: Sequence[Tensor]) -> torch.optim.Optimizer:
        """Make the optimiser, in the form that takes the fewest passes over ``parameters``."""
        kwargs = dict(self.kwargs)
        if self.cls in _FUSED and not kwargs.keys() & _IMPLEMENTATIONS and all(map(_can_be_fused, parameters)):
            kwargs["fused"] = True
        with without_compiler():
            return self.cls(parameters, **kwargs)


def refuse_weight_decay(kwargs: Mapping[str, Any]) -> None:
    """Insist on ``l2_weight``, the one place where BC's constructor takes weight decay.

    Raises:
        ConfigError: ``weight_decay`` is given.
    """
    if "weight_decay" in kwargs:
        raise ConfigError(
            Fault(
                f"weight_decay={kwargs['weight_decay']!r} is given; use the parameter l2_weight instead",
                "optimizer_kwargs",
            )
        )


def learning_rate_factor(schedule: LearningRateSchedule, progress: float) -> float:
    """Return what the learning rate is multiplied by: 1 at progress 0, and 0 at progress 1 unless it is constant.

    linear: ``1 - progress``; cosine: ``(1 + cos(pi * progress)) / 2``.
    Source of the latter: Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2017,
    https://arxiv.org/abs/1608.03983 (differs from the paper in having no restarts).
    """
    if schedule == "linear":
        return 1.0 - progress
    return (1.0 + math.cos(math.pi * progress)) / 2.0 if schedule == "cosine" else 1.0


def _can_be_fused(parameter: Tensor) -> bool:
    return parameter.is_floating_point() and parameter.device.type in ("cpu", "cuda")
