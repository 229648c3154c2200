"""What is an engine told, and what must it do?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from mimetic.algorithms import Batch
from mimetic.losses import WeightedTerm
from mimetic_bc.optimizers import OptimizerChoice


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What is trained, and how. All that an engine may know."""

    policy: ActorCriticPolicy
    terms: tuple[WeightedTerm, ...]
    optimizer: OptimizerChoice
    device: torch.device
    batch_size: int
    minibatch_size: int  # a factor of batch_size
    max_grad_norm: float | None = None
    autocast: torch.dtype | None = None  # what forward passes are calculated in; None: as precisely as the weights are
    replays: bool = True  # passes may be recorded and replayed


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """What was seen at one batch, before its step; everything is of the whole batch and still on the device."""

    neglogp: Tensor  # (), nats
    entropy: Tensor | None  # (), nats; None when the policy's entropy has no closed form
    prob_true_act: Tensor  # ()
    l2_norm: Tensor  # (), half the sum of squares of all parameters
    loss: Tensor  # (), the objective
    terms: Mapping[str, Tensor]  # () each, without weights
    grad_norm: Tensor | None = None  # (), before clipping; None when nothing is clipped


class Engine(Protocol):
    """Takes optimiser steps on one policy.

    Between ``begin`` and ``end`` the engine may keep the weights where it likes; outside, the policy has them.
    """

    name: ClassVar[str]

    @classmethod
    def declines(cls, job: Job) -> str | None:
        """Say why this engine cannot serve a job; None when it can."""

    def __init__(self, job: Job) -> None:
        """Get ready for a job that was not declined."""

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimiser whose settings and state count."""

    @property
    def facts(self) -> Mapping[str, str]:
        """What is worth knowing about how it serves this job; may be empty."""

    def prepare(self, obs: Any, acts: Tensor) -> Batch:
        """Map rows, each for itself, to the form that ``step`` takes. Called once for the rows of many batches."""

    def begin(self) -> None:
        """Take the weights from the policy: someone else may have changed them.

        Raises:
            ConfigError: the policy itself was changed, so that this engine cannot train it any more.
        """

    def end(self) -> None:
        """Give the weights back to the policy: someone else may look at them."""

    def step(self, batch: Batch, *, progress: float, lr: float | None, measure: bool) -> Measurement | None:
        """Take one optimiser step on ``batch``, prepared, short or not, and measure it if asked to.

        ``progress`` goes from 0 at the first step to 1 at the last; ``lr`` is None to leave the learning rate alone.
        Nothing waits for the device, and measuring changes nothing that is learned.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return what the engine needs to go on, weights excepted."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put such a state back."""
