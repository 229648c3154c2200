"""The engines take the same steps: by hand or by autograd, whatever the net, the actions and the objective."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import HealthCheck, given, settings, strategies as st
from torch import nn

from mimetic.algorithms import Form, make_batches
from mimetic.losses import CosineSchedule, LinearSchedule, WeightedTerm
from mimetic.policies import FlatFeatures, MimeticPolicy
from mimetic.types import TransitionsMinimal, as_demonstrations
from mimetic_bc.engines import AutogradEngine, Engine, Job, MlpEngine
from mimetic_bc.engines.mlp.actor import read_actor
from mimetic_bc.engines.mlp.weights import FlatWeights
from mimetic_bc.optimizers import OptimizerChoice
from mimetic_bc.session import RandomStream, TrainingSession
from mimetic_bc.terms import (
    CrossEntropy,
    HuberLoss,
    half_squared_norm,
    mean_squared_error,
    negative_entropy,
    negative_log_likelihood,
)

CPU = torch.device("cpu")
ACTIVATIONS = (nn.Tanh, nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Sigmoid)
OBSERVATIONS = (
    spaces.Box(-np.inf, np.inf, (5,), np.float32),
    spaces.Box(-1, 1, (2, 3), np.float64),
    spaces.Discrete(4, start=1),
    spaces.MultiDiscrete([3, 2]),
    spaces.MultiBinary(3),
    spaces.Box(0, 255, (6, 6, 3), np.uint8),
    spaces.Dict({"a": spaces.Box(-1, 1, (2,), np.float32), "b": spaces.Discrete(3)}),
)
ACTIONS = (
    spaces.Box(-1, 1, (3,), np.float32),
    spaces.Box(-2, 2, (2, 2), np.float32),
    spaces.Box(0, 9, (2,), np.int64),
    spaces.Discrete(2),
    spaces.Discrete(5, start=-1),
    spaces.MultiDiscrete([3, 3]),
    spaces.MultiDiscrete([2, 4, 4, 3]),
    spaces.MultiDiscrete([4]),
    spaces.MultiBinary(4),
)


@dataclass(frozen=True)
class Case:
    """Everything that the steps depend on."""

    seed: int
    obs_space: gym.Space[Any]
    action_space: gym.Space[Any]
    net_arch: tuple[int, ...]
    activation: type[nn.Module]
    normalize: bool
    terms: tuple[WeightedTerm, ...]
    n_rows: int
    batch_size: int
    minibatch_size: int
    max_grad_norm: float | None
    lrs: tuple[float, ...]  # of the first steps; after that the rate is left alone


WEIGHTS = st.one_of(
    st.sampled_from([0.0, 1.0, 1e-3]),
    st.floats(1e-4, 3.0),
    st.builds(LinearSchedule, st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 1.0])),
    st.builds(CosineSchedule, st.just(1.0), st.just(0.1)),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    action_space = draw(st.sampled_from(ACTIONS))
    terms = [("entropy", negative_entropy), ("l2", half_squared_norm)]
    if isinstance(action_space, spaces.Box):
        terms += [("mse", mean_squared_error), ("huber", HuberLoss(draw(st.sampled_from([0.3, 1.0]))))]
        terms += [("huber2", HuberLoss(2.0))]
    if isinstance(action_space, spaces.Discrete | spaces.MultiDiscrete):
        terms += [("cross-entropy", CrossEntropy(draw(st.sampled_from([0.0, 0.1, 0.6]))))]
    chosen = draw(st.lists(st.sampled_from(terms), unique_by=lambda term: term[0]))
    weighted = [WeightedTerm(name, draw(WEIGHTS), term) for name, term in chosen]
    if draw(st.booleans()) or not any(callable(term.weight) or term.weight for term in weighted):
        weighted.insert(0, WeightedTerm("nll", draw(st.sampled_from([1.0, 0.7])), negative_log_likelihood))
    minibatch_size = draw(st.integers(1, 6))
    batch_size = minibatch_size * draw(st.integers(1, 3))
    return Case(
        seed=draw(st.integers(0, 1000)),
        obs_space=draw(st.sampled_from(OBSERVATIONS)),
        action_space=action_space,
        net_arch=tuple(draw(st.lists(st.integers(1, 9), max_size=3))),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        normalize=draw(st.booleans()),
        terms=tuple(weighted),
        n_rows=draw(st.integers(batch_size, 3 * batch_size + 1)),
        batch_size=batch_size,
        minibatch_size=minibatch_size,
        max_grad_norm=draw(st.sampled_from([None, None, 1e-2, 1.0])),
        lrs=tuple(draw(st.lists(st.sampled_from([1e-2, 1e-3, 0.0]), max_size=2))),
    )


def make_policy(case: Case, dtype: torch.dtype) -> MimeticPolicy:
    with torch.random.fork_rng():
        torch.manual_seed(case.seed)
        policy = MimeticPolicy(
            case.obs_space,
            case.action_space,
            net_arch=list(case.net_arch),
            activation_fn=case.activation,
            features_extractor_class=FlatFeatures,
            features_extractor_kwargs={"normalize": case.normalize},
            ortho_init=False,
            log_std_init=-0.3,
        )
    return policy.to(dtype)


def make_engine(kind: type[Engine], case: Case, dtype: torch.dtype, **kwargs: Any) -> Engine:
    job = Job(
        policy=make_policy(case, dtype),
        terms=case.terms,
        optimizer=OptimizerChoice(torch.optim.Adam, {"lr": 1e-3, **kwargs}),
        device=CPU,
        batch_size=case.batch_size,
        minibatch_size=case.minibatch_size,
        max_grad_norm=case.max_grad_norm,
    )
    assert kind.declines(job) is None
    return kind(job)


def demonstrations(case: Case) -> Any:
    for role in (case.obs_space, case.action_space):
        role.seed(case.seed)
    obs = [case.obs_space.sample() for _ in range(case.n_rows)]
    acts = np.stack([case.action_space.sample() for _ in range(case.n_rows)])
    if isinstance(case.obs_space, spaces.Dict):
        columns: Any = {key: np.stack([row[key] for row in obs]) for key in case.obs_space.spaces}
    else:
        columns = np.stack(obs)
    return as_demonstrations(TransitionsMinimal(columns, acts))


def trained(engine: Engine, case: Case, dtype: torch.dtype, n_steps: int | None = None) -> Iterator[dict[str, Any]]:
    """Take the steps of one pass, and yield what was measured at each."""
    form = Form(dtype, engine.prepare)
    batches = make_batches(demonstrations(case), batch_size=case.batch_size, device=CPU, seed=case.seed, form=form)
    assert batches.n_batches is not None
    policy = engine._job.policy if isinstance(engine, MlpEngine) else engine._policy  # type: ignore[attr-defined]
    with TrainingSession(policy, RandomStream(0, CPU), engine):
        for number, batch in enumerate(batches.epoch(0)):
            if number == n_steps:
                return
            lr = case.lrs[number] if number < len(case.lrs) else None
            progress = number / max(batches.n_batches - 1, 1)
            measured = engine.step(batch, progress=progress, lr=lr, measure=True)
            assert measured is not None
            numbers = {name: getattr(measured, name) for name in measured.__slots__ if name != "terms"}
            yield {**numbers, **measured.terms}


def difference(a: torch.nn.Module, b: torch.nn.Module) -> float:
    pairs = zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    return max((x.double() - y.double()).abs().max().item() for x, y in pairs)


def after(kind: type[Engine], case: Case, dtype: torch.dtype, n_steps: int | None) -> tuple[torch.nn.Module, list[Any]]:
    engine = make_engine(kind, case, dtype)
    measured = list(trained(engine, case, dtype, n_steps))
    job_policy = engine._job.policy if isinstance(engine, MlpEngine) else engine._policy  # type: ignore[attr-defined]
    return job_policy, measured


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_in_float64_a_step_agrees_to_1e_9_and_a_pass_to_1e_6(case: Case) -> None:
    for n_steps, tolerance in ((1, 1e-9), (None, 1e-6)):
        by_hand, mine = after(MlpEngine, case, torch.float64, n_steps)
        by_autograd, theirs = after(AutogradEngine, case, torch.float64, n_steps)

        assert difference(by_hand, by_autograd) < tolerance
        for a, b in zip(mine, theirs, strict=True):
            assert a.keys() == b.keys()
            for name in a:
                assert (a[name] is None) == (b[name] is None), name
                if a[name] is not None:
                    assert a[name].item() == pytest.approx(b[name].item(), rel=1e-6, abs=1e-9), name
