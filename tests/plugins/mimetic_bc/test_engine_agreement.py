"""The engines take the same steps: by hand or by autograd, whatever the net, the actions and the objective."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import HealthCheck, given, settings, strategies as st
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import nn

from mimetic.algorithms import Batches, Form, make_batches
from mimetic.losses import CosineSchedule, LinearSchedule, WeightedTerm
from mimetic.policies import FlatFeatures, MimeticPolicy
from mimetic.types import TransitionsMinimal, as_demonstrations
from mimetic_bc.engines import AutogradEngine, Engine, Job, Measurement, MlpEngine
from mimetic_bc.engines.mlp import network
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
SB3_OBSERVATIONS = (OBSERVATIONS[0], spaces.Discrete(4), OBSERVATIONS[3], spaces.Box(0, 255, (36, 36, 3), np.uint8))
SB3_ACTIONS = (ACTIONS[0], ACTIONS[3], ACTIONS[6])


@dataclass(frozen=True)
class Case:
    """Everything that the steps depend on."""

    seed: int
    obs_space: gym.Space[Any]
    action_space: gym.Space[Any]
    terms: tuple[WeightedTerm, ...]
    net_arch: tuple[int, ...] = (5, 4)
    activation: type[nn.Module] = nn.Tanh
    normalize: bool = False
    n_rows: int = 20
    batch_size: int = 6
    minibatch_size: int = 6
    max_grad_norm: float | None = None
    lrs: tuple[float, ...] = ()  # of the first steps; after that the rate is left alone
    has_ones: bool = True  # the data end with a column of ones
    is_sb3: bool = False
    optimizer: type[torch.optim.Optimizer] = torch.optim.Adam


# --- cases by chance --------------------------------------------------------------------------------------------

WEIGHTS = st.one_of(
    st.sampled_from([0.0, 1.0, 1e-3]),
    st.floats(1e-4, 3.0),
    st.builds(LinearSchedule, st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 1.0])),
    st.builds(CosineSchedule, st.just(1.0), st.just(0.1)),
)


@st.composite
def objectives(draw: st.DrawFn, action_space: gym.Space[Any]) -> tuple[WeightedTerm, ...]:
    terms = [("entropy", negative_entropy), ("l2", half_squared_norm)]
    if isinstance(action_space, spaces.Box):
        terms += [("mse", mean_squared_error), ("huber", HuberLoss(draw(st.sampled_from([0.3, 1.0]))))]
        terms += [("huber2", HuberLoss(2.0))]
    if isinstance(action_space, spaces.Discrete | spaces.MultiDiscrete):
        terms += [("cross-entropy", CrossEntropy(draw(st.sampled_from([0.0, 0.1, 0.6]))))]
    chosen = draw(st.lists(st.sampled_from(terms), unique_by=lambda term: term[0]))
    weighted = [WeightedTerm(name, draw(WEIGHTS), term) for name, term in chosen]
    if draw(st.booleans()) or not any(callable(term.weight) or term.weight for term in weighted):
        weight = draw(st.sampled_from([1.0, 0.7, -0.2]))
        weighted.insert(0, WeightedTerm("nll", weight, negative_log_likelihood))
    return tuple(weighted)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    action_space: gym.Space[Any] = draw(st.sampled_from(ACTIONS))
    minibatch_size = draw(st.integers(1, 6))
    batch_size = minibatch_size * draw(st.integers(1, 3))
    return Case(
        seed=draw(st.integers(0, 1000)),
        obs_space=draw(st.sampled_from(OBSERVATIONS)),
        action_space=action_space,
        terms=draw(objectives(action_space)),
        net_arch=tuple(draw(st.lists(st.integers(1, 9), max_size=3))),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        normalize=draw(st.booleans()),
        n_rows=draw(st.integers(batch_size, 3 * batch_size + 1)),
        batch_size=batch_size,
        minibatch_size=minibatch_size,
        max_grad_norm=draw(st.sampled_from([None, None, 1e-2, 1.0])),
        lrs=tuple(draw(st.lists(st.sampled_from([1e-2, 1e-3, 0.0]), max_size=2))),
        has_ones=draw(st.booleans()),
        optimizer=draw(st.sampled_from([torch.optim.Adam, torch.optim.AdamW])),
    )


@st.composite
def sb3_cases(draw: st.DrawFn) -> Case:
    action_space: gym.Space[Any] = draw(st.sampled_from(SB3_ACTIONS))
    return Case(
        seed=draw(st.integers(0, 1000)),
        obs_space=draw(st.sampled_from(SB3_OBSERVATIONS)),
        action_space=action_space,
        terms=draw(objectives(action_space)),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        is_sb3=True,
    )


often = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


# --- the facts --------------------------------------------------------------------------------------------------


@often
@given(case=cases())
def test_in_float64_a_step_agrees_to_1e_9_and_a_pass_to_1e_6(case: Case) -> None:
    for n_steps, tolerance in ((1, 1e-9), (None, 1e-6)):
        by_hand, mine = train(MlpEngine, case, torch.float64, n_steps)
        by_autograd, theirs = train(AutogradEngine, case, torch.float64, n_steps)

        assert difference(by_hand, by_autograd) < tolerance
        assert_measured_alike(mine, theirs, rel=1e-6)


@often
@given(case=cases())
def test_in_float32_gradients_agree_to_1e_5_of_the_largest(case: Case) -> None:
    by_hand, by_autograd = (gradients(kind, case) for kind in (MlpEngine, AutogradEngine))

    largest = max((g.abs().max().item() for g in by_autograd), default=0.0)
    for mine, theirs in zip(by_hand, by_autograd, strict=True):
        assert (mine - theirs).abs().max().item() <= 1e-5 * largest + 1e-9


@often
@given(case=sb3_cases())
def test_policies_of_sb3_itself_are_trained_alike(case: Case) -> None:
    by_hand, mine = train(MlpEngine, case, torch.float32, None)
    by_autograd, theirs = train(AutogradEngine, case, torch.float32, None)

    assert difference(by_hand, by_autograd) < 1e-4
    assert_measured_alike(mine, theirs, rel=1e-3)


# --- how they are made ------------------------------------------------------------------------------------------


def make_policy(case: Case, dtype: torch.dtype = torch.float32) -> ActorCriticPolicy:
    """Build the policy of a case, with weights of ordinary size everywhere."""
    with torch.random.fork_rng():
        torch.manual_seed(case.seed)
        options: dict[str, Any] = {"net_arch": list(case.net_arch), "activation_fn": case.activation}
        options |= {"ortho_init": False, "log_std_init": -0.3}
        if case.is_sb3:
            return ActorCriticPolicy(case.obs_space, case.action_space, lambda _: 1e-3, **options)
        options |= {"features_extractor_kwargs": {"normalize": case.normalize}}
        options |= {"features_extractor_class": FlatFeatures}
        return MimeticPolicy(case.obs_space, case.action_space, **options).to(dtype)


def make_job(case: Case, policy: ActorCriticPolicy, **adam: Any) -> Job:
    return Job(
        policy=policy,
        terms=case.terms,
        optimizer=OptimizerChoice(case.optimizer, {"lr": 1e-3, **adam}),
        device=CPU,
        batch_size=case.batch_size,
        minibatch_size=case.minibatch_size,
        max_grad_norm=case.max_grad_norm,
    )


def make_engine(kind: type[Engine], case: Case, job: Job) -> Engine:
    assert kind.declines(job) is None
    with ones(case.has_ones):
        return kind(job)


@contextmanager
def ones(wanted: bool) -> Iterator[None]:
    """Let the data of networks that are made here end with a column of ones, or not, whatever their size."""
    before = network._MANY_NUMBERS
    network._MANY_NUMBERS = 2**62 if wanted else 0
    try:
        yield
    finally:
        network._MANY_NUMBERS = before


def make_data(case: Case, form: Form) -> Batches:
    for space in (case.obs_space, case.action_space):
        space.seed(case.seed)
    rows = [case.obs_space.sample() for _ in range(case.n_rows)]
    acts = np.stack([case.action_space.sample() for _ in range(case.n_rows)])
    obs: Any = np.stack(rows) if not isinstance(case.obs_space, spaces.Dict) else None
    if obs is None:
        obs = {key: np.stack([row[key] for row in rows]) for key in case.obs_space.spaces}  # type: ignore[attr-defined]  # it is a Dict
    demonstrations = as_demonstrations(TransitionsMinimal(obs, acts))
    return make_batches(demonstrations, batch_size=case.batch_size, device=CPU, seed=case.seed, form=form)


def train(
    kind: type[Engine], case: Case, dtype: torch.dtype, n_steps: int | None
) -> tuple[ActorCriticPolicy, list[Measurement]]:
    """Take some steps, or those of one pass; return the policy and what was measured at each step."""
    policy = make_policy(case, dtype)
    engine = make_engine(kind, case, make_job(case, policy))
    batches = make_data(case, Form(dtype, engine.prepare))
    assert batches.n_batches is not None
    measured = []
    with TrainingSession(policy, RandomStream(0, CPU), engine):
        for number, batch in enumerate(batches.epoch(0)):
            if number == n_steps:
                break
            lr = case.lrs[number] if number < len(case.lrs) else None
            progress = number / max(batches.n_batches - 1, 1)
            measurement = engine.step(batch, progress=progress, lr=lr, measure=True)
            assert measurement is not None
            measured.append(measurement)
    return policy, measured


def gradients(kind: type[Engine], case: Case) -> list[torch.Tensor]:
    """Return the gradient of the first batch for each parameter.

    An Adam that forgets at once has it as its average.
    """
    case = replace(case, lrs=(), optimizer=torch.optim.Adam)
    policy = make_policy(case)
    engine = make_engine(kind, case, make_job(case, policy, betas=(0.0, 0.999)))
    batches = make_data(case, Form(prepare=engine.prepare))
    with TrainingSession(policy, RandomStream(0, CPU), engine):
        engine.step(next(iter(batches.epoch(0))), progress=0.5, lr=None, measure=False)
    if not isinstance(engine, MlpEngine):
        return [torch.zeros_like(p) if p.grad is None else p.grad for p in policy.parameters()]
    weights = FlatWeights(read_actor(policy))
    weights.vector.zero_()
    for part, parameter in zip(engine._parts.slices, engine.optimizer.param_groups[0]["params"], strict=True):
        if state := engine.optimizer.state[parameter]:
            weights.vector[part] = state["exp_avg"]
    weights.write()
    return [p.detach() for p in policy.parameters()]


def difference(a: nn.Module, b: nn.Module) -> float:
    """Return the largest difference of two numbers in two policies."""
    pairs = zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    return max(float((x.double() - y.double()).abs().max()) for x, y in pairs)


def assert_measured_alike(mine: list[Measurement], theirs: list[Measurement], rel: float) -> None:
    for a, b in zip(mine, theirs, strict=True):
        pairs = [(f.name, getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.name != "terms"]
        pairs += [(name, a.terms[name], b.terms[name]) for name in b.terms]
        assert a.terms.keys() == b.terms.keys()
        for name, x, y in pairs:
            assert (x is None) == (y is None), name
            if x is not None:
                assert x.item() == pytest.approx(y.item(), rel=rel, abs=rel), name
