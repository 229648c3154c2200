"""How well does a policy do, exactly? Statistics over a number of episodes that is known beforehand.

``evaluation`` is the way from policy and environment to the result, ``call`` the same in one call, ``collection`` the
way to demonstrations on the disk. ``playing`` is the loop, ``lanes`` what it steps: ``planned_lanes``, ``venv_lanes``
or ``vector_lanes``, which ``native`` may have built. ``ledger`` says which episodes count, ``rollouts`` how they are
kept (``step_log`` and ``marks`` meanwhile), ``result`` what is said about them.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.evaluate.call import (
        eval_policy as eval_policy,
    )
    from mimetic.evaluate.collection import (
        Collection as Collection,
        collect as collect,
    )
    from mimetic.evaluate.evaluation import (
        evaluate as evaluate,
        evaluate_venv as evaluate_venv,
    )
    from mimetic.evaluate.result import (
        EvaluationResult as EvaluationResult,
        mean_interval as mean_interval,
    )

_MODULE_OF = {
    "Collection": "collection",
    "EvaluationResult": "result",
    "collect": "collection",
    "eval_policy": "call",
    "evaluate": "evaluation",
    "evaluate_venv": "evaluation",
    "mean_interval": "result",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic.evaluate' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.evaluate.{_MODULE_OF[name]}"), name)
