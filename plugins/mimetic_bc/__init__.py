"""Behavioural cloning, a plugin of mimetic. Each name below is imported from its module when it is first used."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic_bc.bc import BC as BC
    from mimetic_bc.bc_logger import BCLogger as BCLogger
    from mimetic_bc.files import reconstruct_policy as reconstruct_policy, save_policy as save_policy
    from mimetic_bc.iteration import (
        BatchIteratorWithEpochEndCallback as BatchIteratorWithEpochEndCallback,
        enumerate_batches as enumerate_batches,
    )
    from mimetic_bc.metrics import (
        BCTrainingMetrics as BCTrainingMetrics,
        BehaviorCloningLossCalculator as BehaviorCloningLossCalculator,
    )
    from mimetic_bc.rollouts import RolloutStatsComputer as RolloutStatsComputer

_MODULE_OF = {
    "BC": "bc",
    "BCLogger": "bc_logger",
    "BCTrainingMetrics": "metrics",
    "BatchIteratorWithEpochEndCallback": "iteration",
    "BehaviorCloningLossCalculator": "metrics",
    "RolloutStatsComputer": "rollouts",
    "enumerate_batches": "iteration",
    "reconstruct_policy": "files",
    "save_policy": "files",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic_bc' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic_bc.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too, loaded or not."""
    return sorted({*globals(), *_MODULE_OF})
