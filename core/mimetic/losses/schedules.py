"""How does a number change in training? Functions of progress, which runs from 0 at the first step to 1 at the last."""

import math
from collections.abc import Callable
from dataclasses import dataclass

Weight = float | Callable[[float], float]
"""A constant, or a function of progress in [0, 1]."""


@dataclass(frozen=True, slots=True)
class LinearSchedule:
    """``start + progress * (end - start)``."""

    start: float
    end: float = 0.0

    def __call__(self, progress: float) -> float:
        """Give the value at ``progress``."""
        return self.start + progress * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class CosineSchedule:
    """``end + (start - end) * (1 + cos(pi * progress)) / 2``: flat at both ends, steepest in the middle.

    Source: Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2017,
    https://arxiv.org/abs/1608.03983 (differs from the paper in having no restarts).
    """

    start: float
    end: float = 0.0

    def __call__(self, progress: float) -> float:
        """Give the value at ``progress``."""
        return self.end + (self.start - self.end) * (1.0 + math.cos(math.pi * progress)) / 2.0
