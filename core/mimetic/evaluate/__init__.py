"""How well does a policy do, exactly? Statistics over a number of episodes that is known beforehand.

``evaluation`` is the way from policy and environment to the result, ``call`` the same in one call, ``playing`` the
loop, ``lanes`` and ``native`` what it steps, ``ledger`` which episodes count, ``rollouts`` how they are kept,
``result`` what is said about them.
"""

from mimetic.evaluate.call import eval_policy
from mimetic.evaluate.evaluation import evaluate, evaluate_venv
from mimetic.evaluate.result import EvaluationResult, mean_interval

__all__ = ["EvaluationResult", "eval_policy", "evaluate", "evaluate_venv", "mean_interval"]
