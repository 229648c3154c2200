"""What is a loss term told, and how do terms add up? They share one forward pass; the objective is a weighted sum."""

from mimetic.losses.building import build_term, build_terms
from mimetic.losses.inputs import LossInputs
from mimetic.losses.objective import LossTerm, Objective, WeightedTerm, evaluate_objective
from mimetic.losses.readings import PlainHead, Reader, Reading, plain_head, policy_reader
from mimetic.losses.schedules import CosineSchedule, LinearSchedule, Weight

__all__ = [
    "CosineSchedule",
    "LinearSchedule",
    "LossInputs",
    "LossTerm",
    "Objective",
    "PlainHead",
    "Reader",
    "Reading",
    "Weight",
    "WeightedTerm",
    "build_term",
    "build_terms",
    "evaluate_objective",
    "plain_head",
    "policy_reader",
]
