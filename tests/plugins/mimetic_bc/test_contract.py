"""The facts of every component that mimetic_bc offers."""

from collections.abc import Mapping
from typing import ClassVar

from gymnasium import spaces

from mimetic.testing import AlgorithmContract, LossContract

CHOICES = (spaces.Discrete(3), spaces.Discrete(3, start=1), spaces.MultiDiscrete([2, 3]))
NUMBERS = (spaces.Box(-1.0, 1.0, (2,)), spaces.Box(-2.0, 3.0, (2, 2)))


class TestBc(AlgorithmContract):
    name = "bc"
    options: ClassVar[Mapping[str, object]] = {
        "n_epochs": 3,
        "batch_size": 20,
        "optimizer": {"lr": 1e-2},
        "lr_schedule": "linear",
        "log_interval": 2,
    }


class TestBcByBatches(AlgorithmContract):
    name = "bc"
    options: ClassVar[Mapping[str, object]] = {
        "n_batches": 7,
        "batch_size": 32,
        "minibatch_size": 8,
        "optimizer": {"name": "adam", "lr": 1e-2},
        "max_grad_norm": 1.0,
        "log_interval": 3,
        "engine": "autograd",
    }


class TestNll(LossContract):
    name = "nll"
    action_spaces = CHOICES + NUMBERS + (spaces.MultiBinary(3),)


class TestEntropy(LossContract):
    name = "entropy"
    action_spaces = CHOICES + NUMBERS


class TestL2(LossContract):
    name = "l2"
    action_spaces = CHOICES + NUMBERS


class TestMse(LossContract):
    name = "mse"
    action_spaces = NUMBERS


class TestHuber(LossContract):
    name = "huber"
    options: ClassVar[Mapping[str, object]] = {"delta": 0.5}
    action_spaces = NUMBERS


class TestCrossEntropy(LossContract):
    name = "cross-entropy"
    options: ClassVar[Mapping[str, object]] = {"label_smoothing": 0.1}
    action_spaces = CHOICES
