"""The facts of every component that mimetic_explore offers."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from gymnasium import spaces

from mimetic.testing import PolicyWrapperContract

SPACES = (
    spaces.Discrete(3, start=1),
    spaces.MultiDiscrete([2, 3]),
    spaces.Box(-1.0, 1.0, (2,)),
    spaces.Box(0, 255, (2,), np.uint8),
)


class TestSwitching(PolicyWrapperContract):
    name = "switching"
    options: ClassVar[Mapping[str, object]] = {"random_prob": 0.5, "switch_prob": 0.3}
    action_spaces = SPACES


class TestSharedSwitching(PolicyWrapperContract):
    name = "switching"
    options: ClassVar[Mapping[str, object]] = {"random_prob": 0.5, "switch_prob": 0.3, "shared_switch": True}
    action_spaces = SPACES


class TestEpsilonGreedy(PolicyWrapperContract):
    name = "epsilon-greedy"
    options: ClassVar[Mapping[str, object]] = {"epsilon": 0.5}
    action_spaces = SPACES


class TestGaussian(PolicyWrapperContract):
    name = "gaussian"
    options: ClassVar[Mapping[str, object]] = {"sigma": 0.3}
    action_spaces = (spaces.Box(-1.0, 1.0, (2,)), spaces.Box(-2.0, 3.0, (2, 2), np.float64))
