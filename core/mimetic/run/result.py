"""What is known about a run while it goes on, and what it leaves."""

from dataclasses import dataclass
from pathlib import Path

from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.config import RunConfig
from mimetic.evaluate import EvaluationResult


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Which run this is."""

    name: str
    dir: Path  # where it keeps its files
    seed: int
    config: RunConfig


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """What a finished run leaves."""

    dir: Path  # where its files lie
    policy: ActorCriticPolicy
    policy_path: Path  # the file that `policy` was saved as
    evaluation: EvaluationResult | None  # the final one; None when the run file asks for none
    n_steps: int  # optimiser steps
    n_epochs: int  # full passes over the demonstrations
