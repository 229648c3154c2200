"""The trainer of a run file: what it reports, how its schedules run, and that it can stop and go on bit for bit."""

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from cloning import TWO, policy_for, sign_demonstrations, silent, weights_of
from mimetic.algorithms import Report
from mimetic.config import WeightSchedule, parse_choice
from mimetic.config.slots import LossChoice
from mimetic.errors import ConfigError, DataError
from mimetic.hookspecs import AlgorithmContext, LossContext
from mimetic.losses import LossInputs, WeightedTerm, build_terms
from mimetic.plugins import registry
from mimetic.policies import MimeticPolicy
from mimetic.types import Demonstrations, as_demonstrations
from mimetic_bc.config import BCConfig
from mimetic_bc.trainer import BCTrainer

CPU = torch.device("cpu")


def terms(*losses: tuple[str, Any], action_space: Any = TWO) -> tuple[WeightedTerm, ...]:
    choices = []
    for name, weight in losses:
        chosen = parse_choice(name, "loss")
        choices.append(LossChoice("loss", chosen.name, chosen.config, weight, chosen.name))
    return build_terms(choices, LossContext(action_space=action_space, device=CPU))


DEFAULT = (("nll", 1.0), ("entropy", 1e-3), ("l2", 0.0))


def make_trainer(
    data: Any = None,
    *,
    losses: tuple[WeightedTerm, ...] | None = None,
    policy: MimeticPolicy | None = None,
    seed: int = 0,
    **options: Any,
) -> BCTrainer:
    context = AlgorithmContext(
        policy=policy or policy_for(TWO),
        losses=terms(*DEFAULT) if losses is None else losses,
        demonstrations=as_demonstrations(sign_demonstrations(100) if data is None else data),
        seed=seed,
        device=CPU,
        logger=silent(),
    )
    trainer = registry().build("algorithm", "bc", options, context)
    assert isinstance(trainer, BCTrainer)
    return trainer


def run(trainer: BCTrainer) -> list[Report]:
    return list(trainer.train())


# --- reports --------------------------------------------------------------------------------------------------------


def test_there_is_a_report_at_log_points_and_at_the_end_of_each_pass() -> None:
    reports = run(make_trainer(batch_size=10, n_epochs=2, log_interval=6))

    assert [(r.step, r.epoch, r.samples, r.epoch_ended) for r in reports] == [
        (0, 0, 10, False),
        (6, 0, 70, False),
        (9, 1, 100, True),
        (12, 1, 130, False),
        (18, 1, 190, False),
        (19, 2, 200, True),
    ]
    assert all(report.values for report in reports)


def test_a_training_that_stops_inside_a_pass_reports_its_last_batch() -> None:
    reports = run(make_trainer(batch_size=10, n_batches=14, log_interval=500))

    assert [(r.step, r.epoch_ended) for r in reports] == [(0, False), (9, True), (13, False)]


def test_a_report_names_every_term_and_follows_the_references_names() -> None:
    trainer = make_trainer(losses=terms(("nll", 1.0), ("cross-entropy", 0.5), ("l2", 0.1)), n_batches=1)

    (report,) = run(trainer)

    values: dict[str, Any] = dict(report.values)
    assert set(values) == {
        *("batch_size", "bc/epoch", "bc/batch", "bc/samples_so_far", "bc/lr"),
        *("bc/neglogp", "bc/entropy", "bc/ent_loss", "bc/prob_true_act", "bc/l2_norm", "bc/l2_loss", "bc/loss"),
        *("bc/terms/nll", "bc/terms/cross-entropy", "bc/terms/l2"),
    }
    assert values["bc/loss"] == pytest.approx(1.5 * values["bc/neglogp"] + 0.1 * values["bc/l2_norm"], rel=1e-5)
    assert values["bc/l2_loss"] == pytest.approx(0.1 * values["bc/l2_norm"])
    assert values["bc/ent_loss"] == 0.0


def test_the_manifest_learns_which_engine_ran() -> None:
    assert make_trainer(n_epochs=1, engine="autograd").facts == {"engine": "autograd", "engine_reason": "asked for"}


def test_how_often_one_reports_changes_nothing_that_is_learned() -> None:
    often, seldom = (make_trainer(n_epochs=3, batch_size=8, log_interval=n, policy=noisy()) for n in (1, 1000))

    run(often)
    run(seldom)

    assert weights_of(often.policy) == weights_of(seldom.policy)


def test_dropping_the_last_batch_is_an_option() -> None:
    reports = run(make_trainer(batch_size=64, n_epochs=2, drop_last=True))

    assert reports[-1].samples == 2 * 64


def test_an_objective_that_is_no_number_stops_the_training_and_names_its_parts() -> None:
    def unbounded(inputs: LossInputs) -> torch.Tensor:
        return inputs.log_prob.mean() * math.inf

    losses = (*terms(("nll", 1.0)), WeightedTerm("mine", 1.0, unbounded))

    with pytest.raises(
        ConfigError, match=r"the objective is -inf at step 0 \(nll 0\.\d+, mine -inf\); a smaller learning"
    ):
        run(make_trainer(losses=losses, n_epochs=1))


# --- schedules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [("constant", [1.0] * 5), ("linear", [1.0, 0.75, 0.5, 0.25, 0.0]), ("cosine", [1.0, 0.853553, 0.5, 0.146447, 0.0])],
)
def test_the_learning_rate_comes_down_to_zero_at_the_last_step(schedule: str, factors: list[float]) -> None:
    trainer = make_trainer(n_batches=5, log_interval=1, lr_schedule=schedule, optimizer={"lr": 0.02})

    rates = [report.values["bc/lr"] for report in run(trainer)]

    assert rates == pytest.approx([0.02 * factor for factor in factors], abs=1e-7)


def test_the_weight_of_a_term_goes_from_start_to_end() -> None:
    weight = WeightSchedule(schedule="linear", start=1.0, end=0.0)
    trainer = make_trainer(losses=terms(("nll", 1.0), ("entropy", weight)), n_batches=5, log_interval=1)

    reports = run(trainer)

    assert [report.values["bc/weights/entropy"] for report in reports] == [1.0, 0.75, 0.5, 0.25, 0.0]
    for report in reports:
        values: dict[str, Any] = dict(report.values)
        assert values["bc/ent_loss"] == pytest.approx(-values["bc/weights/entropy"] * values["bc/entropy"])


class Stream:
    """Batches of unknown number."""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        obs, acts = sign_demonstrations(64)
        return iter([{"obs": obs, "acts": acts}])


def test_a_schedule_over_epochs_of_unknown_length_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^lr_schedule: a schedule needs the number of steps.*give n_batches"):
        make_trainer(Stream(), n_epochs=2, lr_schedule="linear")


def test_a_schedule_over_batches_needs_no_length() -> None:
    reports = run(make_trainer(Stream(), n_batches=3, lr_schedule="linear", log_interval=1))

    assert [report.values["bc/lr"] for report in reports] == pytest.approx([1e-3, 5e-4, 0.0])


# --- options reach the training -------------------------------------------------------------------------------------


def after_a_few_steps(**options: Any) -> dict[str, bytes]:
    settings = {"batch_size": 16, **options}
    if "n_batches" not in settings:
        settings.setdefault("n_epochs", 2)
    trainer = make_trainer(**settings)
    run(trainer)
    return weights_of(trainer.policy)


@pytest.mark.parametrize(
    "option",
    [
        {"n_epochs": 3},
        {"n_batches": 5},
        {"batch_size": 8},
        {"lr_schedule": "linear"},
        {"lr_schedule": "cosine"},
        {"max_grad_norm": 1e-2},
        {"drop_last": True},
        {"optimizer": {"lr": 1e-2}},
        {"optimizer": {"betas": [0.5, 0.9]}},
        {"optimizer": {"eps": 0.1}},
        {"optimizer": {"name": "sgd"}},
        {"optimizer": {"name": "rmsprop"}},
        {"optimizer": {"name": "adamw"}},
    ],
    ids=str,
)
def test_every_setting_reaches_what_is_learned(option: dict[str, Any]) -> None:
    assert after_a_few_steps(**option) != after_a_few_steps()


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("sgd", {"momentum": 0.9}),
        ("rmsprop", {"alpha": 0.5}),
        ("rmsprop", {"momentum": 0.9}),
        ("rmsprop", {"eps": 0.1}),
        ("adamw", {"weight_decay": 0.5}),
        ("adamw", {"betas": [0.5, 0.9]}),
        ("adamw", {"eps": 0.1}),
    ],
    ids=str,
)
def test_every_setting_of_an_optimiser_reaches_it(name: str, option: dict[str, Any]) -> None:
    assert after_a_few_steps(optimizer={"name": name, **option}) != after_a_few_steps(optimizer={"name": name})


def test_nesterov_looks_ahead() -> None:
    plain, ahead = ({"name": "sgd", "momentum": 0.9, "nesterov": nesterov} for nesterov in (False, True))

    assert after_a_few_steps(optimizer=plain) != after_a_few_steps(optimizer=ahead)


def test_minibatches_are_what_the_gradient_is_computed_from() -> None:
    policy = policy_for(TWO)
    sizes: list[int] = []
    policy.action_net.register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0])))

    run(make_trainer(policy=policy, batch_size=16, minibatch_size=6 - 2, n_batches=1, losses=terms(("nll", 1.0))))

    assert sizes == [4, 4, 4, 4]


def test_minibatches_never_reach_across_a_batch() -> None:
    policy = policy_for(TWO)
    sizes: list[int] = []
    policy.action_net.register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0])))

    run(make_trainer(policy=policy, batch_size=30, minibatch_size=15, n_epochs=1))

    assert sizes == [15, 15] * 3 + [10]


def test_gradients_are_clipped_together_to_the_norm() -> None:
    """Plain gradient descent with rate 1 moves exactly as far as the clipped gradient is long."""
    policy = policy_for(TWO)
    before = torch.nn.utils.parameters_to_vector(policy.parameters()).detach().clone()
    trainer = make_trainer(policy=policy, n_batches=1, max_grad_norm=1e-3, optimizer={"name": "sgd", "lr": 1.0})

    (report,) = run(trainer)

    moved = torch.nn.utils.parameters_to_vector(policy.parameters()).detach() - before
    assert moved.norm().item() == pytest.approx(1e-3, rel=1e-3)
    assert report.values["bc/grad_norm"] is not None
    assert report.values["bc/grad_norm"] > 1e-3


def test_a_weight_on_l2_pulls_on_the_value_network_too() -> None:
    policy = policy_for(TWO)
    before = policy.value_net.weight.norm().item()

    run(make_trainer(policy=policy, losses=terms(("nll", 1.0), ("l2", 1.0)), n_epochs=3))

    assert policy.value_net.weight.norm().item() < before


def test_mse_trains_a_policy_on_continuous_actions() -> None:
    space = spaces.Box(-1, 1, (1,), np.float32)
    policy = policy_for(space)
    obs, _ = sign_demonstrations(320)
    acts = np.tanh(obs[:, :1])

    losses = terms(("mse", 1.0), action_space=space)
    run(make_trainer((obs, acts), policy=policy, losses=losses, n_epochs=60, optimizer={"lr": 1e-2}))

    assert float(np.square(policy.predict(obs, deterministic=True)[0] - acts).mean()) < 0.01


# --- stopping and going on ------------------------------------------------------------------------------------------


def noisy() -> MimeticPolicy:
    """A policy with everything that has a state: dropout draws random numbers, a batch norm keeps statistics."""
    policy = policy_for(TWO)
    policy.mlp_extractor.policy_net.extend([torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(8)])
    return policy


SETTINGS: dict[str, Any] = {
    "batch_size": 8,
    "n_epochs": 3,
    "log_interval": 1,
    "lr_schedule": "cosine",
    "optimizer": {"name": "adam", "lr": 1e-2},
    "max_grad_norm": 1.0,
}


@pytest.mark.parametrize("n_reports", [1, 5, 12, 13, 14, 20, 38])
def test_stop_load_and_continue_equals_an_uninterrupted_run(n_reports: int) -> None:
    """13 batches a pass: in the middle of one, at its last batch, at the first of the next."""
    whole = make_trainer(policy=noisy(), **SETTINGS)
    expected = [report.values for report in whole.train()]

    first = make_trainer(policy=noisy(), **SETTINGS)
    reports = first.train()
    seen = [next(reports).values for _ in range(n_reports)]
    state = first.state_dict()
    reports.close()
    second = make_trainer(policy=noisy(), **SETTINGS)
    second.load_state_dict(state)
    seen += [report.values for report in second.train()]

    assert weights_of(second.policy) == weights_of(whole.policy)
    assert seen == expected


def test_a_state_is_a_copy() -> None:
    trainer = make_trainer(**SETTINGS)
    reports = trainer.train()
    next(reports)
    state = trainer.state_dict()
    before = copy.deepcopy(state)

    for _ in reports:
        pass

    assert str(state) == str(before)


def test_loading_a_state_does_not_touch_it() -> None:
    trainer = make_trainer(**SETTINGS)
    reports = trainer.train()
    next(reports)
    state = trainer.state_dict()
    before = copy.deepcopy(state)

    other = make_trainer(**SETTINGS)
    other.load_state_dict(state)
    run(other)

    assert str(state) == str(before)


def test_the_state_of_another_engine_is_refused_by_name() -> None:
    trainer = make_trainer(**SETTINGS)
    state = trainer.state_dict()
    state["engine"] = {"abacus": {}}

    with pytest.raises(DataError, match="the state is of engine abacus; this training runs on mlp"):
        trainer.load_state_dict(state)


def test_leaving_early_leaves_the_process_as_it_was() -> None:
    policy = noisy()
    policy.set_training_mode(False)
    before = torch.get_rng_state()
    reports = make_trainer(policy=policy, **SETTINGS).train()
    next(reports)

    reports.close()

    assert torch.equal(torch.get_rng_state(), before)
    assert not any(module.training for module in policy.modules())


def test_a_finished_training_has_nothing_left_to_do() -> None:
    trainer = make_trainer(**SETTINGS)
    run(trainer)

    assert run(trainer) == []


# --- the config -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of n_epochs and n_batches is expected, neither was given"),
        ({"n_epochs": 1, "n_batches": 2}, "exactly one of n_epochs and n_batches is expected, seen 1 and 2"),
        ({"n_epochs": -1}, "n_epochs"),
        ({"n_epochs": 1, "batch_size": 0}, "batch_size"),
        ({"n_epochs": 1, "batch_size": 10, "minibatch_size": 4}, "minibatch_size 4 is no factor of batch_size 10"),
        ({"n_epochs": 1, "log_interval": 0}, "log_interval"),
        ({"n_epochs": 1, "engine": "mpl"}, "engine"),
        (
            {"n_epochs": 1, "optimizer": {"name": "adam", "momentum": 0.9}},
            "adam has no setting momentum",
        ),
        ({"n_epochs": 1, "optimizer": {"weight_decay": 0.1}}, "the loss term 'l2' decays weights"),
        ({"n_epochs": 1, "optimizer": {"lr": 0}}, "optimizer.lr"),
        ({"n_epochs": 1, "ent_weight": 0.1}, "ent_weight"),
        ({"n_epochs": 1, "max_grad_norm": 0}, "max_grad_norm"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        registry().make_config("algorithm", "bc", options)


def test_the_defaults_are_those_of_the_run_file() -> None:
    config = BCConfig(n_epochs=1)

    assert config.model_dump(exclude={"optimizer"}) == {
        "n_epochs": 1,
        "n_batches": None,
        "batch_size": 32,
        "minibatch_size": None,
        "lr_schedule": "constant",
        "max_grad_norm": None,
        "drop_last": False,
        "log_interval": 500,
        "engine": "auto",
        "precision": "auto",
        "cuda_graphs": True,
    }
    assert (config.optimizer.name, config.optimizer.lr) == ("adam", 1e-3)


def test_no_epochs_are_a_run_without_steps() -> None:
    trainer = make_trainer(n_epochs=0)
    before = weights_of(trainer.policy)

    assert run(trainer) == []
    assert weights_of(trainer.policy) == before


def test_demonstrations_of_an_unknown_form_are_read_as_batches_and_refused() -> None:
    with pytest.raises(DataError, match="batch 0 is int"):
        run(make_trainer(Demonstrations(range(3)), n_batches=1))  # type: ignore[arg-type]  # that is the point
