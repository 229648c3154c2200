"""The engine that trains plain feed-forward policies by hand: what it serves, and that nobody notices it."""

import copy
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticCnnPolicy, ActorCriticPolicy
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from cloning import OBS, TWO, Memory, policy_for, sign_demonstrations, silent, weights_of
from mimetic.algorithms import Batch
from mimetic.config import WeightSchedule, parse_choice
from mimetic.config.slots import LossChoice
from mimetic.errors import ConfigError
from mimetic.hookspecs import AlgorithmContext, LossContext
from mimetic.logs import HierarchicalLogger
from mimetic.losses import LinearSchedule, WeightedTerm, build_terms
from mimetic.plugins import registry
from mimetic.policies import FlatFeatures, MimeticPolicy
from mimetic.run import execute
from mimetic.types import as_demonstrations
from mimetic_bc import BC
from mimetic_bc.engines import AutogradEngine, Job, MlpEngine, adam, choose_engine
from mimetic_bc.optimizers import OptimizerChoice
from mimetic_bc.terms import half_squared_norm, mean_squared_error, negative_log_likelihood
from mimetic_bc.trainer import BCTrainer

CPU = torch.device("cpu")
CONT = spaces.Box(-1.0, 1.0, (3,), np.float32)
NLL = WeightedTerm("nll", 1.0, negative_log_likelihood)


def make_policy(action_space: Any = TWO, **options: Any) -> MimeticPolicy:
    return policy_for(action_space, features_extractor_class=FlatFeatures, **options)


def output_layer(policy: ActorCriticPolicy) -> nn.Linear:
    assert isinstance(policy.action_net, nn.Linear)
    return policy.action_net


def make_job(policy: ActorCriticPolicy | None = None, **options: Any) -> Job:
    settings: dict[str, Any] = {
        "policy": policy or make_policy(),
        "terms": (NLL,),
        "optimizer": OptimizerChoice(),
        "device": CPU,
        "batch_size": 8,
        "minibatch_size": 8,
    }
    return Job(**{**settings, **options})


def make_bc(policy: ActorCriticPolicy | None = None, n: int = 100, **options: Any) -> BC:
    policy = policy or make_policy()
    options.setdefault("custom_logger", silent())
    return BC(
        observation_space=OBS,
        action_space=policy.action_space,
        rng=np.random.default_rng(0),
        policy=policy,
        demonstrations=sign_demonstrations(n),
        **options,
    )


def make_trainer(policy: MimeticPolicy | None = None, **options: Any) -> BCTrainer:
    choices = [parse_choice(name, "loss") for name in ("nll", "entropy", "l2")]
    weights: list[Any] = [1.0, WeightSchedule(schedule="linear", start=0.1, end=0.0), 1e-2]
    losses = [
        LossChoice("loss", chosen.name, chosen.config, weight, chosen.name)
        for chosen, weight in zip(choices, weights, strict=True)
    ]
    context = AlgorithmContext(
        policy=policy or make_policy(),
        losses=build_terms(losses, LossContext(action_space=TWO, device=CPU)),
        demonstrations=as_demonstrations(sign_demonstrations(100)),
        seed=0,
        device=CPU,
        logger=silent(),
    )
    trainer = registry().build("algorithm", "bc", {"n_epochs": 3, "batch_size": 8, **options}, context)
    assert isinstance(trainer, BCTrainer)
    return trainer


# --- what it serves -------------------------------------------------------------------------------------------------


def test_auto_takes_it_for_the_default_policy_and_objective() -> None:
    engine, reason = choose_engine("auto", make_job())

    assert isinstance(engine, MlpEngine)
    assert reason == "the fastest that can serve this policy, objective, optimiser and device"


class Rounding(MimeticPolicy):
    """Evaluates actions in its own way."""

    def evaluate_actions(self, obs: Any, actions: Any) -> Any:
        return super().evaluate_actions(obs, actions)


def with_frozen_critic() -> MimeticPolicy:
    policy = make_policy()
    policy.value_net.requires_grad_(False)
    return policy


def with_dropout() -> MimeticPolicy:
    policy = make_policy()
    policy.mlp_extractor.policy_net.append(nn.Dropout())
    return policy


def with_hook(on: Callable[[MimeticPolicy], nn.Module]) -> MimeticPolicy:
    policy = make_policy()
    on(policy).register_forward_hook(lambda *_: None)
    return policy


def with_watched_gradients() -> MimeticPolicy:
    policy = make_policy()
    output_layer(policy).weight.register_hook(lambda gradient: gradient * 2)  # type: ignore[no-untyped-call]  # torch's
    return policy


def with_shared_layers() -> MimeticPolicy:
    policy = MimeticPolicy(spaces.Box(-1, 1, (8,)), TWO, net_arch=[8, 8])
    policy.mlp_extractor.policy_net[0] = policy.mlp_extractor.policy_net[2]
    return policy


def with_a_replaced_method() -> MimeticPolicy:
    policy = make_policy()
    policy.extract_features = policy.extract_features  # type: ignore[method-assign]  # somebody did
    return policy


IMAGES = spaces.Box(0, 255, (3, 36, 36), np.uint8)


NATURE = ActorCriticCnnPolicy
TERMS = {
    "foreign": (WeightedTerm("mine", 1.0, lambda inputs: inputs.log_prob.mean()),),
    "of another space": (WeightedTerm("mse", 1.0, mean_squared_error),),
    "weightless": (WeightedTerm("nll", 0.0, negative_log_likelihood),),
}


def adam_with(**settings: Any) -> OptimizerChoice:
    return OptimizerChoice(kwargs=settings)


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (lambda: make_job(policy=with_frozen_critic()), "some of its weights are frozen"),
        (lambda: make_job(policy=with_dropout()), "its layers are not all linear with a bias: Dropout"),
        (lambda: make_job(policy=with_hook(lambda p: p.action_net)), "a hook watches its Linear"),
        (lambda: make_job(policy=with_hook(lambda p: p)), "a hook watches its MimeticPolicy"),
        (lambda: make_job(policy=with_watched_gradients()), "a hook watches the gradients of its weights"),
        (lambda: make_job(policy=with_shared_layers()), "layers of the policy share weights"),
        (lambda: make_job(policy=with_a_replaced_method()), "the policy MimeticPolicy overrides extract_features"),
        (lambda: make_job(policy=Rounding(OBS, TWO)), "the policy Rounding has an evaluation or a distribution of its"),
        (lambda: make_job(policy=make_policy(CONT, squash_output=True)), "has an evaluation or a distribution of its"),
        (lambda: make_job(policy=make_policy(CONT, use_sde=True)), "has an evaluation or a distribution of its own"),
        (lambda: make_job(policy=make_policy(activation_fn=nn.Softplus)), r"its activation is Softplus \(served: ELU,"),
        (lambda: make_job(policy=make_policy().half()), "its weights are torch.float16"),
        (lambda: make_job(policy=make_policy().to("meta")), "its weights are on meta"),
        (lambda: make_job(policy=make_policy(spaces.Discrete(300))), "an action has 300 choices"),
        (lambda: make_job(policy=NATURE(IMAGES, TWO, lambda _: 1e-3)), "observations pass through Nature"),
        (lambda: make_job(device=torch.device("cuda")), "the device is cuda"),
        (lambda: make_job(optimizer=OptimizerChoice(torch.optim.SGD)), "the optimiser is SGD, neither Adam nor AdamW"),
        (lambda: make_job(optimizer=adam_with(amsgrad=True)), "Adam is asked for with amsgrad"),
        (lambda: make_job(optimizer=adam_with(lr=torch.tensor(0.1))), "a setting of Adam is a tensor"),
        (lambda: make_job(terms=TERMS["foreign"]), "loss term 'mine' is none of"),
        (lambda: make_job(terms=TERMS["of another space"]), "loss term 'mse' is none of"),
        (lambda: make_job(terms=TERMS["weightless"]), "every weight is zero"),
    ],
)  # fmt: skip
def test_what_it_cannot_do_it_declines_and_says_why(job: Callable[[], Job], reason: str) -> None:
    declined = MlpEngine.declines(job())

    assert declined is not None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(declined)


def test_what_it_declines_is_trained_by_autograd() -> None:
    engine, reason = choose_engine("auto", make_job(policy=with_frozen_critic()))

    assert isinstance(engine, AutogradEngine)
    assert reason == "mlp cannot: some of its weights are frozen"


def test_a_run_file_that_names_it_is_told_why_it_cannot() -> None:
    config = {
        "demonstrations": {"name": "demo"},
        "policy": {"name": "mlp"},
        "algorithm": {"name": "bc", "n_batches": 1, "engine": "mlp", "optimizer": {"name": "sgd"}},
    }

    with pytest.raises(
        ConfigError, match="engine: 'mlp' cannot serve this training: the optimiser is SGD, neither Adam nor AdamW"
    ):
        execute(config)


# --- nobody notices -------------------------------------------------------------------------------------------------


def test_how_often_one_looks_changes_nothing_that_is_learned() -> None:
    """At every report the weights go back to the policy and out of it again."""
    finals = []
    for log_interval in (1, 7, 10_000):
        trainer = make_trainer(engine="mlp", log_interval=log_interval)
        for _ in trainer.train():
            trainer.policy.predict(np.zeros(4, np.float32))
        finals.append(weights_of(trainer.policy))

    assert finals[0] == finals[1] == finals[2]


def test_the_policy_has_its_weights_after_every_step() -> None:
    seen = []
    bc = make_bc(engine="mlp")

    bc.train(n_batches=5, on_batch_end=lambda: seen.append(weights_of(bc.policy)["action_net.weight"]))

    assert len(set(seen)) == 5


def test_weights_that_a_callback_changes_are_trained_on() -> None:
    bc = make_bc(engine="mlp", optimizer_kwargs={"lr": 1e-9})

    def raise_bias() -> None:
        with torch.no_grad():
            output_layer(bc.policy).bias.fill_(3.0)

    bc.train(n_batches=2, on_batch_end=raise_bias)

    assert output_layer(bc.policy).bias.tolist() == pytest.approx([3.0, 3.0])


def test_parameters_that_were_replaced_are_trained_on() -> None:
    """Loading with ``assign`` puts other tensors in their place."""
    bc = make_bc(engine="mlp")
    bc.train(n_batches=2)
    state = {name: torch.zeros_like(tensor) for name, tensor in bc.policy.state_dict().items()}
    bc.policy.load_state_dict(state, assign=True)
    replaced = output_layer(bc.policy).bias

    bc.train(n_batches=2)

    assert output_layer(bc.policy).bias is replaced
    assert replaced.abs().max() > 0


def test_the_policy_shares_no_memory_with_the_engine() -> None:
    bc = make_bc(engine="mlp")
    bc.train(n_batches=3)

    before = weights_of(bc.policy)
    twin = copy.deepcopy(bc.policy)
    bc.train(n_batches=3)

    assert weights_of(twin) == before
    assert all(p.is_contiguous() and p.untyped_storage().nbytes() == p.nbytes for p in bc.policy.parameters())


def test_an_interrupted_training_leaves_the_weights_with_the_policy() -> None:
    bc = make_bc(engine="mlp")
    before = weights_of(bc.policy)
    calls: list[int] = []

    def interrupt() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bc.train(n_batches=10, on_batch_end=interrupt)
    other = make_bc(engine="mlp")
    other.train(n_batches=3)

    assert weights_of(bc.policy) == weights_of(other.policy) != before


def test_metrics_are_those_of_autograd() -> None:
    columns = []
    for engine in ("mlp", "autograd"):
        memory = Memory()
        bc = make_bc(engine=engine, l2_weight=1e-3, custom_logger=HierarchicalLogger([memory]))
        bc.train(n_epochs=2, log_interval=5)
        columns.append([dict(record.values) for record in memory.records])

    for mine, theirs in zip(*columns, strict=True):
        assert mine.keys() == theirs.keys()
        assert [mine[key] for key in mine] == pytest.approx([theirs[key] for key in mine], rel=1e-4)


def test_batches_of_any_source_are_trained_on_alike() -> None:
    """A list of batches is cut and prepared batch by batch, rows at hand many batches at a time."""
    obs, acts = sign_demonstrations(64)
    pieces = [{"obs": obs[i : i + 24], "acts": acts[i : i + 24]} for i in range(0, 64, 24)]
    finals = []
    for engine in ("mlp", "autograd"):
        bc = make_bc(engine=engine, batch_size=10)
        bc.set_demonstrations(pieces)
        bc.train(n_epochs=3)
        finals.append(torch.cat([p.detach().reshape(-1) for p in bc.policy.parameters()]))

    assert torch.allclose(finals[0], finals[1], atol=1e-5)


# --- stop and go on -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n_reports", [1, 9, 26])
def test_stop_load_and_continue_equals_an_uninterrupted_run(n_reports: int, normalize: bool) -> None:
    def fresh() -> BCTrainer:
        policy = make_policy(features_extractor_kwargs={"normalize": normalize})
        return make_trainer(policy, engine="mlp", log_interval=1, lr_schedule="cosine", max_grad_norm=0.5)

    whole, first, second = fresh(), fresh(), fresh()
    list(whole.train())
    reports = first.train()
    for _ in range(n_reports):
        next(reports)
    state = first.state_dict()
    reports.close()

    second.load_state_dict(state)
    list(second.train())

    assert weights_of(second.policy) == weights_of(whole.policy)


def test_a_pickled_bc_goes_on_where_it_was() -> None:
    bc, other = (make_bc(engine="mlp", l2_weight=1e-3) for _ in range(2))
    for each in (bc, other):
        each.train(n_batches=5)

    revived = pickle.loads(pickle.dumps(bc))
    revived.logger = silent()
    revived.train(n_batches=5)
    other.train(n_batches=5)

    assert weights_of(revived.policy) == weights_of(other.policy)


# --- a policy that becomes another ----------------------------------------------------------------------------------


def test_a_policy_that_is_frozen_before_the_first_step_is_trained_by_autograd() -> None:
    memory = Memory()
    bc = make_bc(custom_logger=HierarchicalLogger([memory]))
    bc.policy.mlp_extractor.policy_net.requires_grad_(False)
    frozen = weights_of(bc.policy.mlp_extractor.policy_net)

    bc.train(n_batches=3)

    assert weights_of(bc.policy.mlp_extractor.policy_net) == frozen
    assert isinstance(bc.optimizer.param_groups[0]["params"][0], nn.Parameter)


def test_a_policy_that_is_frozen_after_the_first_step_is_refused() -> None:
    """Going on with another engine would lose what the optimiser has learned about its steps."""
    bc = make_bc()
    bc.train(n_batches=3)
    bc.policy.value_net.requires_grad_(False)

    with pytest.raises(ConfigError, match="engine 'mlp' cannot go on: some of its weights are frozen"):
        bc.train(n_batches=3)


def test_a_policy_of_another_precision_is_refused() -> None:
    bc = make_bc()
    bc.train(n_batches=3)
    bc.policy.double()

    with pytest.raises(ConfigError, match="its layers are others now; engine 'autograd' can"):
        bc.train(n_batches=3)


# --- the optimiser --------------------------------------------------------------------------------------------------


def test_a_learning_rate_that_is_changed_by_hand_counts() -> None:
    bc = make_bc(engine="mlp")
    bc.train(n_batches=2)
    before = weights_of(bc.policy)
    bc.optimizer.param_groups[0]["lr"] = 0.0

    bc.train(n_batches=2)

    assert weights_of(bc.policy) == before


def test_a_hook_on_the_optimiser_sees_every_step_and_changes_none() -> None:
    watched, other = (make_bc(engine="mlp", l2_weight=1e-2) for _ in range(2))
    norms: list[float] = []
    watched.optimizer.register_step_pre_hook(
        lambda optimizer, *_: norms.append(optimizer.param_groups[0]["params"][0].grad.norm().item())
    )
    for bc in (watched, other):
        bc.train(n_batches=20)

    assert len(norms) == 20
    assert min(norms) > 0
    assert difference(watched, other) < 1e-6


def test_a_hook_on_all_optimisers_sees_every_step_too() -> None:
    bc, steps = make_bc(engine="mlp"), []
    handle = register_optimizer_step_post_hook(lambda *_: steps.append(1))
    try:
        bc.train(n_batches=4)
    finally:
        handle.remove()
    bc.train(n_batches=4)

    assert len(steps) == 4


def test_without_torchs_private_function_the_public_step_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = make_bc(engine="mlp", l2_weight=1e-2)
    monkeypatch.setattr(adam, "_NAMES", {torch.optim.Adam: "_no_such_function_"})
    public = make_bc(engine="mlp", l2_weight=1e-2)
    for bc in (ordinary, public):
        bc.train(n_batches=20)

    assert difference(ordinary, public) < 1e-6


def changed(*_: Any, **settings: Any) -> None:
    raise TypeError("unexpected keyword argument 'amsgrad'")


def idle(*_: Any, **settings: Any) -> None:
    return None


@pytest.mark.parametrize("replacement", [changed, idle])
def test_a_private_function_that_is_not_what_it_was_is_not_called(
    monkeypatch: pytest.MonkeyPatch, replacement: Callable[..., None]
) -> None:
    monkeypatch.setattr(torch, "_fused_adam_", replacement)
    optimizer = OptimizerChoice().build([nn.Parameter(torch.ones(2))])

    assert adam._find_update(optimizer) is None


def test_parameters_count_the_steps_they_take() -> None:
    """The rest of the policy steps only while l2 has a weight, as with torch's optimisers."""
    terms = (NLL, WeightedTerm("l2", LinearSchedule(0.0, 1.0), half_squared_norm))
    engine = MlpEngine(make_job(terms=terms))
    generator = torch.Generator().manual_seed(0)
    batch = engine.prepare(torch.randn(8, 4, generator=generator), torch.arange(8) % 2)
    for progress in (0.0, 0.5, 1.0):
        engine.step(batch, progress=progress, lr=None, measure=False)

    counts = [state["step"].item() for state in steps_of(engine)]
    assert counts == [3.0, 2.0]


def steps_of(engine: MlpEngine) -> list[Mapping[str, torch.Tensor]]:
    return [engine.optimizer.state[parameter] for parameter in engine.optimizer.param_groups[0]["params"]]


def difference(a: BC, b: BC) -> float:
    pairs = zip(a.policy.parameters(), b.policy.parameters(), strict=True)
    return max((x - y).abs().max().item() for x, y in pairs)


def test_rows_are_prepared_for_many_batches_at_once() -> None:
    engine = MlpEngine(make_job())

    batch = engine.prepare(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([1]))

    assert batch == Batch(batch.obs, batch.acts)
    assert batch.obs.tolist() == [[1.0, 2.0, 3.0, 4.0, 1.0]]
    assert batch.acts.tolist() == [[0.0, -1.0]]
