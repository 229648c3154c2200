"""Which engine runs, why, and that it knows nothing but its job."""

from dataclasses import fields
from typing import Any

import pytest
import torch

from cloning import TWO, policy_for, weights_of
from mimetic.errors import ComponentFailedError, ConfigError
from mimetic.losses import LinearSchedule, WeightedTerm
from mimetic_bc.engines import ENGINES, AutogradEngine, Job, choose_engine, choosing
from mimetic_bc.optimizers import OptimizerChoice
from mimetic_bc.terms import negative_log_likelihood


def make_job(**options: Any) -> Job:
    settings: dict[str, Any] = {
        "policy": policy_for(TWO),
        "terms": (WeightedTerm("nll", 1.0, negative_log_likelihood),),
        "optimizer": OptimizerChoice(),
        "device": torch.device("cpu"),
        "batch_size": 8,
        "minibatch_size": 8,
    }
    return Job(**{**settings, **options})


class Fussy(AutogradEngine):
    """Serves batches of up to eight rows."""

    name = "fussy"

    @classmethod
    def declines(cls, job: Job) -> str | None:
        return f"batches of {job.batch_size} are too large" if job.batch_size > 8 else None


@pytest.fixture
def _two_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "ENGINES", (Fussy, AutogradEngine))


def test_an_engine_is_told_nothing_about_logging_callbacks_or_evaluation() -> None:
    assert [f.name for f in fields(Job)] == [
        *("policy", "terms", "optimizer", "device", "batch_size", "minibatch_size", "max_grad_norm"),
        *("autocast", "replays"),
    ]


def test_the_last_engine_serves_every_job() -> None:
    assert ENGINES[-1] is AutogradEngine
    assert AutogradEngine.declines(make_job()) is None


@pytest.mark.usefixtures("_two_engines")
def test_auto_takes_the_first_that_does_not_decline() -> None:
    assert choose_engine("auto", make_job())[0].name == "fussy"


@pytest.mark.usefixtures("_two_engines")
def test_auto_says_why_a_faster_engine_was_passed_over() -> None:
    engine, reason = choose_engine("auto", make_job(batch_size=9))

    assert engine.name == "autograd"
    assert reason == "fussy cannot: batches of 9 are too large"


@pytest.mark.usefixtures("_two_engines")
def test_an_engine_that_is_asked_for_and_declines_says_why() -> None:
    with pytest.raises(ConfigError, match="engine: 'fussy' cannot serve this training: batches of 9 are too large"):
        choose_engine("fussy", make_job(batch_size=9))


def test_adam_updates_all_parameters_in_one_pass() -> None:
    assert AutogradEngine(make_job()).optimizer.defaults["fused"] is True


def test_a_caller_who_chose_an_implementation_keeps_it() -> None:
    optimizer = OptimizerChoice(torch.optim.Adam, {"foreach": True})

    assert not AutogradEngine(make_job(optimizer=optimizer)).optimizer.defaults["fused"]


def test_the_norm_of_weights_is_not_computed_when_it_has_no_weight_and_nobody_measures() -> None:
    calls: list[int] = []

    def counted(inputs: Any) -> torch.Tensor:
        calls.append(1)
        return torch.zeros(())

    job = make_job(terms=(WeightedTerm("nll", 1.0, negative_log_likelihood), WeightedTerm("mine", 0.0, counted)))
    engine = AutogradEngine(job)
    batch = _batch()

    engine.step(batch, progress=0.0, lr=None, measure=False)
    assert calls == []
    engine.step(batch, progress=0.0, lr=None, measure=True)
    assert calls == [1]


def test_measuring_changes_nothing_that_is_learned() -> None:
    engines = [AutogradEngine(make_job()) for _ in range(2)]

    for engine, measure in zip(engines, (False, True), strict=True):
        for _ in range(3):
            engine.step(_batch(), progress=0.0, lr=None, measure=measure)

    mine, theirs = (engine.optimizer.param_groups[0]["params"] for engine in engines)
    assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_an_objective_that_trains_nothing_is_refused_by_its_terms() -> None:
    detached = WeightedTerm("mine", 1.0, lambda inputs: inputs.log_prob.mean().detach())

    with pytest.raises(ComponentFailedError, match=r"the objective \(mine\) depends on no weight of the policy"):
        AutogradEngine(make_job(terms=(detached,))).step(_batch(), progress=0.0, lr=None, measure=False)


def test_a_policy_whose_every_weight_is_frozen_is_refused() -> None:
    policy = policy_for(TWO).requires_grad_(False)

    with pytest.raises(ComponentFailedError, match="a parameter with requires_grad"):
        AutogradEngine(make_job(policy=policy)).step(_batch(), progress=0.0, lr=None, measure=False)


def test_weights_that_are_all_zero_just_now_are_a_step_without_change() -> None:
    job = make_job(terms=(WeightedTerm("nll", LinearSchedule(1.0, 0.0), negative_log_likelihood),))
    before = weights_of(job.policy)

    AutogradEngine(job).step(_batch(), progress=1.0, lr=None, measure=False)

    assert weights_of(job.policy) == before


def _batch() -> Any:
    from mimetic.algorithms import Batch

    generator = torch.Generator().manual_seed(0)
    return Batch(torch.randn(8, 4, generator=generator), torch.arange(8) % 2)
