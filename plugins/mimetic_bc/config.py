"""What can be set about behavioural cloning and its loss terms in a run file?"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mimetic.config import ComponentConfig

Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]

_SETTINGS_OF_OPTIMIZER = {
    "adam": ("betas", "eps"),
    "adamw": ("betas", "eps", "weight_decay"),
    "sgd": ("momentum", "nesterov"),
    "rmsprop": ("alpha", "eps", "momentum"),
}


class OptimizerConfig(ComponentConfig):
    """Which optimiser takes the steps. A setting that is left out has torch's default."""

    name: Literal["adam", "adamw", "sgd", "rmsprop"] = "adam"
    """The optimiser: torch's class of that name."""
    lr: Positive = 1e-3
    """The learning rate at the first step; see ``lr_schedule``."""
    betas: tuple[Fraction, Fraction] | None = None
    """adam, adamw: how slowly the averages of gradients and of their squares forget. torch: [0.9, 0.999]."""
    eps: Positive | None = None
    """adam, adamw, rmsprop: added to the denominator. torch: 1e-8."""
    momentum: Annotated[float, Field(ge=0)] | None = None
    """sgd, rmsprop: how much of the last step is kept. torch: 0."""
    nesterov: bool | None = None
    """sgd: look ahead along the momentum. torch: false."""
    alpha: Fraction | None = None
    """rmsprop: how slowly the average of squared gradients forgets. torch: 0.99."""
    weight_decay: Annotated[float, Field(ge=0)] | None = None
    """adamw: the decoupled decay of weights. torch: 1e-2. For all others the loss term ``l2`` is the one to use."""

    @model_validator(mode="after")
    def _only_its_own_settings(self) -> Self:
        foreign = sorted(self.settings().keys() - set(_SETTINGS_OF_OPTIMIZER[self.name]))
        if foreign:
            hint = "; the loss term 'l2' decays weights" if "weight_decay" in foreign else ""
            known = ", ".join(("lr", *_SETTINGS_OF_OPTIMIZER[self.name]))
            raise ValueError(f"{self.name} has no setting {', '.join(foreign)}{hint} (its settings: {known})")
        return self

    def settings(self) -> dict[str, object]:
        """Return what was set beside name and learning rate, by torch's names."""
        return {
            key: value
            for key in type(self).model_fields
            if key not in ("name", "lr") and (value := getattr(self, key)) is not None
        }


class BCConfig(ComponentConfig):
    """Behavioural cloning."""

    n_epochs: Annotated[int, Field(ge=0)] | None = None
    """Full passes over the demonstrations. Give this or ``n_batches``, not both."""
    n_batches: Annotated[int, Field(ge=0)] | None = None
    """Optimiser steps. Give this or ``n_epochs``, not both."""
    batch_size: Count = 32
    """Transitions an optimiser step learns from. The last batch of a pass may be shorter: it is averaged over its own
    rows."""
    minibatch_size: Count | None = None
    """Transitions the gradient is computed from at once, to save memory: a factor of ``batch_size``, which is its
    default. Gradients add up to those of the whole batch."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """The optimiser and its settings."""
    lr_schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How the learning rate changes: ``linear`` and ``cosine`` come down to zero at the last step."""
    max_grad_norm: Positive | None = None
    """Gradients of a greater norm are scaled down to it, all parameters taken together. Default: not at all."""
    drop_last: bool = False
    """Leave the last batch of a pass out when it is short. Each pass is shuffled, so each leaves other rows out."""
    log_interval: Count = 500
    """Optimiser steps between two records of the metrics; the first step has one."""
    engine: Literal["auto", "autograd", "mlp"] = "auto"
    """What computes the steps. ``auto`` takes the fastest that can serve policy, losses, optimiser and device;
    ``autograd`` serves all; ``mlp`` plain feed-forward policies, the shipped terms, adam and adamw, on the CPU."""
    precision: Literal["auto", "full", "bfloat16"] = "auto"
    """What forward passes are calculated in; weights, losses and optimiser keep their precision. ``auto``: bfloat16
    for policies with convolutions on a GPU that has it, else ``full``, the precision of the weights."""
    cuda_graphs: bool = True
    """On a GPU, record the passes of a step once and replay them, where policy and losses allow it."""

    @model_validator(mode="after")
    def _one_duration(self) -> Self:
        if (self.n_epochs is None) == (self.n_batches is None):
            seen = "neither was given" if self.n_epochs is None else f"seen {self.n_epochs} and {self.n_batches}"
            raise ValueError(f"exactly one of n_epochs and n_batches is expected, {seen}")
        return self

    @model_validator(mode="after")
    def _minibatches_fill_the_batch(self) -> Self:
        if self.minibatch_size is not None and self.batch_size % self.minibatch_size:
            raise ValueError(f"minibatch_size {self.minibatch_size} is no factor of batch_size {self.batch_size}")
        return self


class NegativeLogLikelihoodConfig(ComponentConfig):
    """Minus the mean log-probability of the demonstrated actions, in nats."""


class EntropyConfig(ComponentConfig):
    """Minus the mean entropy of the policy's actions, in nats; zero for a policy whose entropy has no closed form."""


class L2Config(ComponentConfig):
    """Half the sum of squares of every parameter, value network included."""


class MeanSquaredErrorConfig(ComponentConfig):
    """Mean squared difference between the policy's mean action and the demonstrated one; for Box actions."""


class HuberConfig(ComponentConfig):
    """Mean Huber loss between the policy's mean action and the demonstrated one; for Box actions."""

    delta: Positive = 1.0
    """Where it turns from quadratic to linear, in units of the action as the distribution sees it."""


class CrossEntropyConfig(ComponentConfig):
    """Mean cross-entropy of the demonstrated choices; for Discrete and MultiDiscrete actions."""

    label_smoothing: Fraction = 0.0
    """The share of the target that is spread evenly over all choices; 0 gives ``nll``."""
