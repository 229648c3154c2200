"""A step waits for no device and sends it nothing, which is what it takes to be recorded.

A device without content can tell: whoever reads a number of it is refused, and what is sent there can be seen.
"""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch.distributions import Distribution
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mimetic.algorithms import Batch
from mimetic.losses import LinearSchedule, WeightedTerm
from mimetic.policies import FlatFeatures, MimeticPolicy
from mimetic_bc.engines import AutogradEngine, Job
from mimetic_bc.optimizers import OptimizerChoice
from mimetic_bc.terms import (
    CrossEntropy,
    HuberLoss,
    half_squared_norm,
    mean_squared_error,
    negative_entropy,
    negative_log_likelihood,
)

META = torch.device("meta")
FLAT = spaces.Box(-1.0, 1.0, (4,), np.float32)
BOX = spaces.Box(-1.0, 1.0, (2, 3), np.float32)


@pytest.fixture(autouse=True)
def _no_checks_of_distributions() -> Any:
    """As in a training session: torch's own checks read every number."""
    before = Distribution._validate_args
    Distribution.set_default_validate_args(False)
    yield
    Distribution.set_default_validate_args(before)


@pytest.mark.parametrize(
    ("obs_space", "action_space", "options"),
    [
        (FLAT, spaces.Discrete(3, start=1), {}),
        (FLAT, spaces.MultiDiscrete([3, 2]), {}),
        (FLAT, spaces.MultiBinary(3), {}),
        (FLAT, BOX, {}),
        (FLAT, BOX, {"squash_output": True}),
        (spaces.Discrete(5), BOX, {"features_extractor_kwargs": {"normalize": True}}),
        (spaces.Box(0, 255, (8, 8, 3), np.uint8), spaces.Discrete(2), {}),
    ],
)
@pytest.mark.parametrize("max_grad_norm", [None, 1.0])
def test_a_step_reads_no_number_back_from_the_device(
    obs_space: gym.Space[Any], action_space: gym.Space[Any], options: dict[str, Any], max_grad_norm: float | None
) -> None:
    policy = MimeticPolicy(obs_space, action_space, net_arch=[8], features_extractor_class=FlatFeatures, **options)
    terms = [("nll", negative_log_likelihood), ("entropy", negative_entropy), ("l2", half_squared_norm)]
    if isinstance(action_space, spaces.Box):
        terms += [("mse", mean_squared_error), ("huber", HuberLoss())]
    elif isinstance(action_space, spaces.Discrete | spaces.MultiDiscrete):
        terms += [("cross-entropy", CrossEntropy(0.1))]
    job = Job(
        policy=policy.to(META),
        terms=tuple(WeightedTerm(name, LinearSchedule(1.0, 0.5), term) for name, term in terms),
        optimizer=OptimizerChoice(),
        device=META,
        batch_size=6,
        minibatch_size=3,
        max_grad_norm=max_grad_norm,
    )
    engine = AutogradEngine(job)
    rows = [torch.as_tensor(np.stack([space.sample() for _ in range(6)])) for space in (obs_space, action_space)]

    batch = Batch(*(row.to(META) for row in rows))

    engine.step(batch, progress=0.3, lr=1e-3, measure=True)

    with Customs():  # type: ignore[no-untyped-call]  # torch's
        engine.step(batch, progress=0.3, lr=1e-3, measure=True)  # what stays the same was sent in the first step


_COPIES = ("aten._to_copy.default", "aten.copy_.default")


class Customs(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's
    """Lets nothing pass from the CPU to the device but single numbers that are arguments of an operation."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        sent = [each for each in _tensors(args) if each.is_cpu and (each.dim() > 0 or str(func) in _COPIES)]
        assert not (sent and any(each.is_meta for each in _tensors(result))), f"{func} sends {sent} to the device"
        return result


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


@pytest.mark.parametrize("shape", [(3,), ()])
def test_sending_something_would_be_seen(shape: tuple[int, ...]) -> None:
    with Customs(), pytest.raises(AssertionError, match="to the device"):  # type: ignore[no-untyped-call]  # torch's
        torch.as_tensor(np.ones(shape), device=META)


def test_reading_one_would_be_refused() -> None:
    with pytest.raises(RuntimeError, match="meta"):
        torch.ones(1, device=META).item()
