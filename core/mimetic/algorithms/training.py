"""What does training tell its caller? A trainer is a generator of reports; the caller logs, evaluates and stops."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from stable_baselines3.common.policies import ActorCriticPolicy


@dataclass(frozen=True, slots=True)
class Report:
    """What happened at one batch. The policy has taken that batch's step when the report arrives."""

    step: int  # optimiser steps done when the values were measured: 0 for the first batch
    epoch: int  # full passes over the demonstrations that are done
    samples: int  # rows seen, this batch included
    values: Mapping[str, float | None] = field(default_factory=dict)  # by the key they are logged under; may be empty
    epoch_ended: bool = False  # this batch was the last of its pass


class Trainer(Protocol):
    """What an algorithm's factory gives.

    The caller iterates ``train()`` and may do anything between two reports, use the policy included: no training
    stream, mode or setting is touched by it. Leaving early is allowed; ``state_dict()`` between two reports holds
    all that is needed to go on from there.
    """

    @property
    def policy(self) -> ActorCriticPolicy:
        """The policy that is trained, the same object from beginning to end."""

    @property
    def facts(self) -> Mapping[str, str]:
        """What a run's manifest should say about how training ran, e.g. ``{"engine": "autograd"}``."""

    def train(self) -> Iterator[Report]:
        """Train from where the state stands to the end."""

    def state_dict(self) -> dict[str, Any]:
        """Copy the whole state: weights, optimiser, schedules, random streams, position in the data."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put a state back that ``state_dict`` gave."""
