"""BC as a Python object: the reference's arguments and semantics, without its faults."""

import gc
import inspect
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv

from cloning import OBS, TWO, Memory, policy_for, sign_demonstrations, silent, weights_of
from mimetic.algorithms import DemonstrationAlgorithm
from mimetic.errors import ConfigError, DataError, SpaceError, UnknownComponentError
from mimetic.logs import HierarchicalLogger
from mimetic.types import Trajectory, TransitionsMinimal
from mimetic_bc import BC
from worlds import Cont, Len


def make_bc(
    demonstrations: Any = None,
    *,
    seed: int = 0,
    observation_space: gym.Space[Any] = OBS,
    action_space: gym.Space[Any] = TWO,
    **options: Any,
) -> BC:
    options.setdefault("custom_logger", silent())
    if "policy" not in options:
        options["policy"] = policy_for(action_space, observation_space)
    return BC(
        observation_space=observation_space,
        action_space=action_space,
        rng=np.random.default_rng(seed),
        demonstrations=demonstrations,
        **options,
    )


def count_steps(bc: BC) -> list[int]:
    """Count what follows: one entry an optimiser step."""
    steps: list[int] = []
    bc.optimizer.register_step_post_hook(lambda *_: steps.append(1))
    return steps


def arrays(n: int) -> tuple[np.ndarray, np.ndarray]:
    return sign_demonstrations(n)


# --- arguments ------------------------------------------------------------------------------------------------------


def test_the_constructor_takes_the_seeds_arguments() -> None:
    parameters = inspect.signature(BC).parameters

    assert list(parameters) == [
        *("observation_space", "action_space", "rng", "policy", "demonstrations", "batch_size", "minibatch_size"),
        *("optimizer_cls", "optimizer_kwargs", "ent_weight", "l2_weight", "device", "custom_logger"),
        *("engine", "precision", "cuda_graphs", "threads"),
    ]
    assert {p.kind for p in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    defaults = {name: p.default for name, p in parameters.items() if p.default is not inspect.Parameter.empty}
    assert defaults == {
        "policy": None,
        "demonstrations": None,
        "batch_size": 32,
        "minibatch_size": None,
        "optimizer_cls": torch.optim.Adam,
        "optimizer_kwargs": None,
        "ent_weight": 1e-3,
        "l2_weight": 0.0,
        "device": "auto",
        "custom_logger": None,
        "engine": "auto",
        "precision": "auto",
        "cuda_graphs": True,
        "threads": 1,
    }


def test_train_takes_the_seeds_arguments() -> None:
    parameters = list(inspect.signature(BC.train).parameters.values())[1:]

    assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    assert {p.name: p.default for p in parameters} == {
        "n_epochs": None,
        "n_batches": None,
        "on_epoch_end": None,
        "on_batch_end": None,
        "log_interval": 500,
        "log_rollouts_venv": None,
        "log_rollouts_n_episodes": 5,
        "progress_bar": True,
        "reset_tensorboard": False,
    }


def test_bc_is_an_algorithm_that_takes_episodes_of_any_length() -> None:
    bc = make_bc()

    assert isinstance(bc, DemonstrationAlgorithm)
    assert bc.allow_variable_horizon


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size: expected a whole number of at least 1, seen 0"),
        ({"batch_size": -3}, "batch_size: .* seen -3"),
        ({"batch_size": 1.5}, "batch_size: .* seen 1.5"),
        ({"batch_size": "32"}, "batch_size: .* seen '32'"),
        ({"minibatch_size": -1}, "minibatch_size: .* seen -1"),
        ({"batch_size": 32, "minibatch_size": 12}, "minibatch_size: 12 is no factor of batch_size 32"),
        ({"optimizer_kwargs": {"weight_decay": 0.1}}, "optimizer_kwargs: weight_decay=0.1 .* l2_weight instead"),
        ({"engine": "autogard"}, r"engine: no engine is called 'autogard', did you mean 'autograd'\? \(known: auto, "),
        ({"device": "cuda"}, "device: torch finds no GPU here for 'cuda'"),
        ({"policy": 3}, "policy: is a int; BC trains an ActorCriticPolicy or what a SPEC names"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_the_name_of_its_parameter(
    options: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    with pytest.raises(ConfigError, match=message) as caught:
        make_bc(**options)

    assert isinstance(caught.value, ValueError)


def test_a_number_is_no_source_of_randomness() -> None:
    with pytest.raises(ConfigError, match=r"rng: expected a np\.random\.Generator, .*seen 3"):
        BC(observation_space=OBS, action_space=TWO, rng=3)  # type: ignore[arg-type]  # that is the point


def test_a_minibatch_of_none_or_zero_is_a_whole_batch() -> None:
    assert make_bc(batch_size=8, minibatch_size=None).minibatch_size == 8
    assert make_bc(batch_size=8, minibatch_size=0).minibatch_size == 8


def test_a_learning_rate_among_the_optimisers_arguments_is_used() -> None:
    bc = make_bc(optimizer_cls=torch.optim.SGD, optimizer_kwargs={"lr": 0.25, "momentum": 0.5})

    assert isinstance(bc.optimizer, torch.optim.SGD)
    assert (bc.optimizer.defaults["lr"], bc.optimizer.defaults["momentum"]) == (0.25, 0.5)


def test_the_optimiser_has_every_parameter_of_the_policy() -> None:
    bc = make_bc(engine="autograd")

    assert [id(p) for p in bc.optimizer.param_groups[0]["params"]] == [id(p) for p in bc.policy.parameters()]


# --- the policy -----------------------------------------------------------------------------------------------------


def test_no_policy_means_two_hidden_layers_of_32() -> None:
    policy = make_bc(policy=None).policy

    shapes = [tuple(p.shape) for name, p in policy.named_parameters() if name.startswith("mlp_extractor.policy_net")]
    assert shapes == [(32, 4), (32,), (32, 32), (32,)]


def test_a_policy_can_be_named_with_its_settings() -> None:
    policy = make_bc(policy="mlp:net_arch=[5,6]").policy

    assert {tuple(p.shape) for p in policy.parameters()} >= {(5, 4), (6, 5)}


def test_a_name_that_no_plugin_offers_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'mlp'"):
        make_bc(policy="mpl")


def test_a_policy_without_weights_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"policy: .*BC trains an ActorCriticPolicy"):
        make_bc(policy="random")


def test_without_the_plugin_that_offers_it_the_default_policy_is_missed_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mimetic.plugins import discover, using

    monkeypatch.setenv("MIMETIC_DISABLE_PLUGINS", "policies")

    with using(discover()), pytest.raises(UnknownComponentError, match=r"mlp.*disabled"):
        make_bc(policy=None)


@pytest.mark.parametrize("role", ["observation_space", "action_space"])
def test_a_policy_with_other_spaces_is_refused_naming_both(role: str) -> None:
    other = {"observation_space": spaces.Box(0, 1, (7,), np.float32), "action_space": spaces.Discrete(5)}[role]
    policy = policy_for(TWO if role == "observation_space" else other, other if role == "observation_space" else OBS)

    with pytest.raises(SpaceError, match=role) as caught:
        make_bc(policy=policy)

    assert str(other) in str(caught.value)
    assert str(OBS if role == "observation_space" else TWO) in str(caught.value)


def test_stable_baselines3s_own_policy_trains() -> None:
    bc = make_bc(arrays(320), policy=ActorCriticPolicy(OBS, TWO, lambda _: 1e-3, net_arch=[16]))

    bc.train(n_epochs=40)

    assert accuracy(bc, arrays(320)) > 0.95


def test_a_squashed_state_dependent_policy_trains() -> None:
    """Its entropy has no closed form, which broke the reference on a GPU."""
    space = spaces.Box(-2.0, 2.0, (1,), np.float32)
    policy = ActorCriticPolicy(OBS, space, lambda _: 1e-3, use_sde=True, squash_output=True, net_arch=[16])
    obs, _ = arrays(320)
    acts = np.clip(obs[:, :1], -1.5, 1.5)

    bc = make_bc((obs, acts), action_space=space, policy=policy)
    bc.train(n_epochs=60)

    predicted, _ = bc.policy.predict(obs, deterministic=True)
    assert float(np.square(predicted - acts).mean()) < 0.1


def test_the_demonstrators_action_space_decides_what_is_supported() -> None:
    with pytest.raises(SpaceError, match="Tuple is not supported as action space"):
        BC(observation_space=OBS, action_space=spaces.Tuple([TWO, TWO]), rng=np.random.default_rng(0))


# --- demonstrations -------------------------------------------------------------------------------------------------


def accuracy(bc: BC, demonstrations: tuple[np.ndarray, np.ndarray]) -> float:
    obs, acts = demonstrations
    predicted, _ = bc.policy.predict(obs, deterministic=True)
    return float((predicted == acts.reshape(-1)).mean())


@pytest.mark.parametrize("shape", [(100,), (100, 1)])
def test_discrete_actions_in_a_column_are_learned_as_well_as_in_a_row(shape: tuple[int, ...]) -> None:
    """Broadcasting (N,) against (N, 1) trained a policy that was right half of the time."""
    obs, acts = arrays(100)
    bc = make_bc((obs, acts.reshape(shape)), batch_size=50, policy=None)

    bc.train(n_epochs=300)

    assert accuracy(bc, (obs, acts)) == 1.0


@pytest.mark.parametrize("shape", [(100,), (100, 1)])
def test_box_actions_in_a_row_are_learned_as_well_as_in_a_column(shape: tuple[int, ...]) -> None:
    space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    obs, _ = arrays(100)
    acts = np.clip(0.5 * obs[:, 0], -1, 1)
    bc = make_bc((obs, acts.reshape(shape)), action_space=space, batch_size=50)

    bc.train(n_epochs=300)

    predicted, _ = bc.policy.predict(obs, deterministic=True)
    assert float(np.square(predicted[:, 0] - acts).mean()) < 0.01


def test_pairs_of_observation_and_action_are_enough() -> None:
    obs, acts = arrays(64)
    by_pair, by_transitions = make_bc((obs, acts)), make_bc(TransitionsMinimal(obs, acts))

    by_pair.train(n_epochs=1)
    by_transitions.train(n_epochs=1)

    assert weights_of(by_pair.policy) == weights_of(by_transitions.policy)


def test_trajectories_of_different_lengths_need_no_flag() -> None:
    obs, acts = arrays(30)
    trajectories = [
        Trajectory(obs[:5], acts[:4], None, terminal=True),
        Trajectory(obs[5:30], acts[5:29], None, terminal=False),
    ]
    bc = make_bc(trajectories)
    memory = Memory()
    bc.logger = HierarchicalLogger([memory])

    bc.train(n_epochs=1)

    assert memory.column("bc/samples_so_far") == [28]


def test_demonstrations_can_be_replaced() -> None:
    bc = make_bc(arrays(320))
    obs, acts = arrays(320)

    bc.set_demonstrations((obs, 1 - acts))
    bc.train(n_epochs=40)

    assert accuracy(bc, (obs, 1 - acts)) > 0.95


def test_training_without_demonstrations_says_how_to_give_them() -> None:
    with pytest.raises(DataError, match=r"demonstrations: there are none; .*set_demonstrations\(\)"):
        make_bc().train(n_epochs=1)


@pytest.mark.parametrize("empty", [[], (np.zeros((0, 4), np.float32), np.zeros(0, np.int64))], ids=["list", "arrays"])
def test_no_demonstrations_are_refused_at_construction(empty: Any) -> None:
    with pytest.raises(DataError, match="demonstrations"):
        make_bc(empty)


def test_a_bad_number_is_named_with_its_place_before_the_first_step() -> None:
    obs, acts = arrays(320)
    obs[5, 0] = np.nan

    with pytest.raises(DataError, match=r"1 non-finite observation, first at trajectory 0 step 5"):
        make_bc((obs, acts))


def test_observations_of_another_width_are_refused_at_construction() -> None:
    obs, acts = arrays(320)

    with pytest.raises(DataError, match=r"observation shape \(3,\) != space shape \(4,\)"):
        make_bc((obs[:, :3], acts))


def test_actions_outside_of_the_bounds_are_reported_once_and_left_as_they_are() -> None:
    space = Cont(-1.0, 1.0).action_space
    obs, _ = arrays(100)
    acts = np.zeros((100, 1), np.float32)
    acts[:10] = 5.0

    with pytest.warns(UserWarning, match=r"10 of 100 transitions \(10\.0%\) outside") as caught:
        bc = make_bc((obs, acts), action_space=space)
    bc.train(n_epochs=2)

    assert len(caught) == 1
    assert (acts[:10] == 5.0).all()
    assert np.abs(bc.policy.predict(obs)[0]).max() <= 1.0


def test_the_callers_arrays_stay_writable_and_unchanged() -> None:
    obs, acts = arrays(100)
    before = obs.copy()

    make_bc((obs, acts)).train(n_epochs=1)

    assert obs.flags.writeable
    assert acts.flags.writeable
    assert np.array_equal(obs, before)


def test_dict_observations_train() -> None:
    space = spaces.Dict({"a": OBS, "b": spaces.Box(-1, 1, (2,), np.float32)})
    obs, acts = arrays(320)
    demonstrations = ({"a": obs, "b": np.zeros((320, 2), np.float32)}, acts)

    bc = make_bc(demonstrations, observation_space=space, policy=None)
    bc.train(n_epochs=40)

    assert (bc.policy.predict(demonstrations[0], deterministic=True)[0] == acts).mean() > 0.95


# --- how much is trained --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "batch", "minibatch", "steps"), [(100, 64, None, 4), (100, 32, None, 8), (100, 30, 10, 8), (5, 32, None, 2)]
)
def test_every_row_is_seen_once_an_epoch(n: int, batch: int, minibatch: int | None, steps: int) -> None:
    """The reference dropped 36 rows of 100 in each epoch of batches of 64, without a word."""
    memory = Memory()
    bc = make_bc(arrays(n), batch_size=batch, minibatch_size=minibatch, custom_logger=HierarchicalLogger([memory]))
    counted = count_steps(bc)

    bc.train(n_epochs=2, log_interval=1)

    assert len(counted) == steps
    assert memory.column("bc/samples_so_far")[-1] == 2 * n
    assert sum(memory.column("batch_size")) == 2 * n


def test_batches_count_optimiser_steps_not_minibatches() -> None:
    bc = make_bc(arrays(100), batch_size=32, minibatch_size=8)
    counted = count_steps(bc)

    bc.train(n_batches=5)

    assert len(counted) == 5


def test_minibatches_give_the_step_of_their_batch() -> None:
    whole, parts = (make_bc(arrays(256), batch_size=64, minibatch_size=size) for size in (64, 16))

    whole.train(n_batches=1)
    parts.train(n_batches=1)

    for mine, theirs in zip(whole.policy.parameters(), parts.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_a_short_batch_is_averaged_over_its_own_rows() -> None:
    """Three rows, one short batch: the loss is the mean over three, whatever the batch size."""
    small, large = (make_bc(arrays(3), batch_size=size) for size in (3, 64))

    small.train(n_batches=1)
    large.train(n_batches=1)

    assert weights_of(small.policy) == weights_of(large.policy)


@pytest.mark.parametrize("duration", [{"n_epochs": 0}, {"n_batches": 0}])
def test_training_for_nothing_changes_nothing(duration: dict[str, Any]) -> None:
    bc = make_bc(arrays(100))
    before = weights_of(bc.policy)

    bc.train(**duration)

    assert weights_of(bc.policy) == before


@pytest.mark.parametrize(
    ("duration", "message"),
    [
        ({}, "exactly one of n_epochs and n_batches is expected"),
        ({"n_epochs": 1, "n_batches": 1}, "exactly one of n_epochs and n_batches is expected"),
        ({"n_epochs": -1}, "n_epochs: expected a whole number of at least 0, seen -1"),
        ({"n_batches": -1}, "n_batches: expected a whole number of at least 0, seen -1"),
        ({"n_epochs": 1.5}, "n_epochs: .* seen 1.5"),
        ({"n_epochs": 1, "log_interval": 0}, "log_interval: expected a whole number of at least 1, seen 0"),
    ],
)
def test_a_duration_that_cannot_be_is_refused_by_name(duration: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_bc(arrays(100)).train(**duration)


def test_an_iterator_of_batches_serves_every_epoch() -> None:
    """The reference trained one epoch and then failed."""
    obs, acts = arrays(100)
    batches = ({"obs": obs[i : i + 50], "acts": acts[i : i + 50]} for i in (0, 50))
    bc = make_bc(batches, batch_size=50)
    counted = count_steps(bc)

    bc.train(n_epochs=3)

    assert len(counted) == 6


def test_a_loader_that_does_not_start_afresh_is_named() -> None:
    obs, acts = arrays(100)

    class Once:
        def __init__(self) -> None:
            self.n_walks = 0

        def __iter__(self) -> Iterator[Mapping[str, Any]]:
            self.n_walks += 1
            return iter([{"obs": obs, "acts": acts}] if self.n_walks < 3 else [])

    bc = make_bc(Once(), batch_size=50)  # looking at the first batch is the first walk

    with pytest.raises(DataError, match="gave no batch; expected at least one"):
        bc.train(n_epochs=2)


def test_a_torch_data_loader_trains() -> None:
    obs, acts = arrays(320)
    rows: Any = [{"obs": o, "acts": a} for o, a in zip(obs, acts, strict=True)]
    loader: torch.utils.data.DataLoader[Any] = torch.utils.data.DataLoader(rows, batch_size=32)
    bc = make_bc(loader)

    bc.train(n_epochs=40)

    assert accuracy(bc, (obs, acts)) > 0.95


# --- callbacks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration", "epochs"), [({"n_epochs": 3}, 3), ({"n_batches": 2}, 1), ({"n_batches": 3}, 1), ({"n_batches": 1}, 0)]
)
def test_the_epoch_callback_comes_after_every_full_pass(duration: dict[str, Any], epochs: int) -> None:
    """Also when training ends exactly there, where the reference forgot it."""
    calls: list[int] = []

    make_bc(arrays(100), batch_size=50).train(**duration, on_epoch_end=lambda: calls.append(1))

    assert len(calls) == epochs


def test_the_batch_callback_comes_after_every_step_and_before_the_epochs() -> None:
    calls: list[str] = []

    make_bc(arrays(100), batch_size=50).train(
        n_epochs=1, on_batch_end=lambda: calls.append("batch"), on_epoch_end=lambda: calls.append("epoch")
    )

    assert calls == ["batch", "batch", "epoch"]


def test_callbacks_change_nothing_that_is_learned() -> None:
    plain, watched = make_bc(arrays(100), policy=dropout_policy()), make_bc(arrays(100), policy=dropout_policy())

    def disturb() -> None:
        torch.rand(7)
        watched.policy.predict(np.zeros((1, 4), np.float32))
        watched.policy.set_training_mode(False)
        torch.set_grad_enabled(False)

    try:
        plain.train(n_epochs=3)
        watched.train(n_epochs=3, on_batch_end=disturb, log_interval=2)
    finally:
        torch.set_grad_enabled(True)

    assert weights_of(plain.policy) == weights_of(watched.policy)


def dropout_policy() -> ActorCriticPolicy:
    policy = policy_for(TWO)
    policy.mlp_extractor.policy_net.append(torch.nn.Dropout(0.5))
    return policy


# --- logging --------------------------------------------------------------------------------------------------------

METRICS = ("neglogp", "entropy", "ent_loss", "prob_true_act", "l2_norm", "l2_loss", "loss")


def logged(n: int = 100, **training: Any) -> Memory:
    memory = Memory()
    bc = make_bc(arrays(n), batch_size=10, custom_logger=HierarchicalLogger([memory]))
    bc.train(**training)
    return memory


def test_a_record_has_the_references_keys() -> None:
    (record,) = logged(n_batches=1).records

    assert set(record.values) == {
        *("batch_size", "bc/epoch", "bc/batch", "bc/samples_so_far"),
        *(f"bc/{metric}" for metric in METRICS),
    }


def test_there_is_a_record_at_the_first_step_and_every_interval() -> None:
    memory = logged(n_batches=25, log_interval=10)

    assert memory.steps() == memory.column("bc/batch") == [0, 10, 20]
    assert memory.column("bc/epoch") == [0, 1, 2]
    assert memory.column("bc/samples_so_far") == [10, 110, 210]


def test_the_last_batch_of_a_pass_belongs_to_that_pass() -> None:
    assert logged(n_epochs=2, log_interval=9).column("bc/epoch") == [0, 0, 1]


def test_the_logged_numbers_are_of_the_whole_batch() -> None:
    """The reference logged its last minibatch."""
    by_size = {}
    for size in (32, 8):
        memory = Memory()
        bc = make_bc(arrays(32), minibatch_size=size, l2_weight=0.1, custom_logger=HierarchicalLogger([memory]))
        bc.train(n_batches=1)
        by_size[size] = memory.records[0].values

    assert by_size[8] == pytest.approx(by_size[32], rel=1e-5)
    assert by_size[8]["batch_size"] == 32


def test_the_logged_loss_is_the_sum_of_its_parts() -> None:
    memory = Memory()
    bc = make_bc(arrays(64), ent_weight=0.2, l2_weight=0.1, custom_logger=HierarchicalLogger([memory]))

    bc.train(n_epochs=1, log_interval=1)

    for record in memory.records:
        values: dict[str, Any] = dict(record.values)
        assert values["bc/ent_loss"] == pytest.approx(-0.2 * values["bc/entropy"])
        assert values["bc/l2_loss"] == pytest.approx(0.1 * values["bc/l2_norm"])
        assert values["bc/loss"] == pytest.approx(values["bc/neglogp"] + values["bc/ent_loss"] + values["bc/l2_loss"])


def test_the_first_record_is_of_the_untrained_policy() -> None:
    obs, acts = arrays(32)
    policy = policy_for(TWO)
    expected = -policy.evaluate_actions(torch.from_numpy(obs), torch.from_numpy(acts))[1].mean().item()
    memory = Memory()

    make_bc((obs, acts), policy=policy, custom_logger=HierarchicalLogger([memory])).train(n_batches=1)

    assert memory.column("bc/neglogp") == pytest.approx([expected])


def test_steps_go_on_from_one_training_to_the_next_unless_reset() -> None:
    memory = Memory()
    bc = make_bc(arrays(100), batch_size=10, custom_logger=HierarchicalLogger([memory]))

    bc.train(n_batches=4, log_interval=2)
    bc.train(n_batches=4, log_interval=2)
    bc.train(n_batches=2, log_interval=2, reset_tensorboard=True)

    assert memory.steps() == [0, 2, 4, 6, 0]
    assert memory.column("bc/batch") == [0, 2, 0, 2, 0]


def test_another_logger_takes_over_as_a_whole() -> None:
    """The reference went on logging to the old one."""
    old, new = Memory(), Memory()
    bc = make_bc(arrays(100), batch_size=10, custom_logger=HierarchicalLogger([old]))
    bc.train(n_batches=1)

    bc.logger = HierarchicalLogger([new])
    bc.train(n_batches=1)

    assert (len(old.records), len(new.records)) == (1, 1)


def test_a_logger_that_is_replaced_while_training_takes_over_from_the_next_record() -> None:
    old, new = Memory(), Memory()
    bc = make_bc(arrays(100), batch_size=10, custom_logger=HierarchicalLogger([old]))

    def replace() -> None:
        bc.logger = HierarchicalLogger([new])

    bc.train(n_batches=3, log_interval=1, on_batch_end=replace)

    assert (old.steps(), new.steps()) == ([0], [1, 2])


def test_which_engine_runs_and_why_is_said_once() -> None:
    texts: list[str] = []

    class Messages(Memory):
        def write_message(self, text: str) -> None:
            texts.append(text)

    bc = make_bc(arrays(100), custom_logger=HierarchicalLogger([Messages()]), engine="autograd")
    bc.train(n_batches=1)
    bc.train(n_batches=1)

    assert texts == ["engine autograd: asked for; torch threads 1"]


def test_a_logger_that_bc_made_is_closed_with_it() -> None:
    bc = make_bc(arrays(100), custom_logger=None)
    bc.train(n_batches=1)
    logger = bc.logger

    del bc
    gc.collect()

    with pytest.raises(RuntimeError, match="closed"):
        logger.dump()


def test_a_callback_that_raises_leaves_the_process_as_it_was() -> None:
    bc = make_bc(arrays(100), policy=dropout_policy())
    bc.policy.set_training_mode(False)
    before = torch.get_rng_state()

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bc.train(n_epochs=1, on_batch_end=stop)

    assert torch.equal(torch.get_rng_state(), before)
    assert not bc.policy.training


def test_a_pickled_bc_goes_on_where_it_was_without_its_logger() -> None:
    bc = make_bc(arrays(100), policy=None)
    bc.train(n_batches=5)

    again = pickle.loads(pickle.dumps(bc))
    again.logger = silent()
    bc.train(n_batches=5)
    again.train(n_batches=5)

    assert weights_of(again.policy) == weights_of(bc.policy)


def test_without_a_logger_one_is_made_in_a_temporary_folder() -> None:
    bc = make_bc(arrays(100), custom_logger=None)

    bc.train(n_batches=1)
    folder = bc.logger.get_dir()
    assert folder is not None
    bc.logger.close()

    header = (Path(folder) / "progress.csv").read_text().splitlines()[0]
    assert {"bc/loss", "bc/entropy", "bc/prob_true_act"} <= set(header.split(","))


# --- rollouts -------------------------------------------------------------------------------------------------------


def len_bc(memory: Memory | None = None, **options: Any) -> BC:
    obs = np.arange(60, dtype=np.float32)[:, None] % 5
    policy = options.pop("policy", None) or policy_for(TWO, Len().observation_space)
    logger = silent() if memory is None else HierarchicalLogger([memory])
    return make_bc(
        (obs, np.arange(60) % 2),
        observation_space=Len().observation_space,
        policy=policy,
        custom_logger=logger,
        batch_size=10,
        **options,
    )


def len_venv() -> DummyVecEnv:
    return DummyVecEnv([lambda: Len(5), lambda: Len(5)])


def test_rollouts_are_logged_with_return_and_length() -> None:
    memory = Memory()

    len_bc(memory).train(n_batches=3, log_interval=2, log_rollouts_venv=len_venv(), log_rollouts_n_episodes=3)

    assert memory.column("rollout/return_mean") == [5.0, 5.0]
    assert memory.column("rollout/len_mean") == [5.0, 5.0]
    assert not [key for key in memory.records[0].values if "monitor" in key]


@pytest.mark.parametrize("n_episodes", [0, -1])
def test_no_episodes_means_no_rollouts(n_episodes: int) -> None:
    memory = Memory()

    len_bc(memory).train(n_batches=1, log_rollouts_venv=len_venv(), log_rollouts_n_episodes=n_episodes)

    assert not [key for key in memory.records[0].values if key.startswith("rollout")]


def test_rollouts_change_nothing_that_is_learned() -> None:
    """Not the weights, not what running statistics have seen, not the random numbers of dropout."""
    plain, rolled = (len_bc(policy=running_policy()) for _ in range(2))

    plain.train(n_epochs=2)
    rolled.train(n_epochs=2, log_interval=1, log_rollouts_venv=len_venv())

    assert weights_of(plain.policy) == weights_of(rolled.policy)


def running_policy() -> ActorCriticPolicy:
    policy = policy_for(TWO, Len().observation_space)
    policy.mlp_extractor.policy_net.extend([torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(8)])
    return policy


def test_training_mode_is_on_while_training_and_as_before_afterwards() -> None:
    bc = len_bc(policy=running_policy())
    norm = bc.policy.mlp_extractor.policy_net[-1]
    bc.policy.set_training_mode(False)
    modes: list[bool] = []
    norm.register_forward_pre_hook(lambda *_: modes.append(norm.training) if torch.is_grad_enabled() else None)

    bc.train(n_epochs=1, log_interval=1, log_rollouts_venv=len_venv())

    assert set(modes) == {True}
    assert not any(module.training for module in bc.policy.modules())


def test_environments_with_other_spaces_are_refused_before_the_first_step() -> None:
    bc = make_bc(arrays(100))
    before = weights_of(bc.policy)

    with pytest.raises(SpaceError, match="log_rollouts_venv: its observation_space is"):
        bc.train(n_epochs=1, log_rollouts_venv=len_venv())

    assert weights_of(bc.policy) == before


# --- randomness -----------------------------------------------------------------------------------------------------


def trained(seed: int) -> dict[str, bytes]:
    bc = make_bc(arrays(100), seed=seed, policy=None)
    bc.train(n_epochs=2)
    return weights_of(bc.policy)


def test_equal_generators_give_equal_bytes_whatever_torch_drew_before() -> None:
    first = trained(0)
    torch.rand(5)

    assert trained(0) == first
    assert trained(1) != first


def test_training_draws_nothing_from_torchs_global_generator() -> None:
    bc = make_bc(arrays(100), policy=dropout_policy())
    before = torch.get_rng_state()

    bc.train(n_epochs=1)

    assert torch.equal(torch.get_rng_state(), before)


def test_a_second_training_shuffles_anew() -> None:
    class Watched(ActorCriticPolicy):
        seen: list[list[float]]

        def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> Any:
            self.seen.append(obs[:, 0].tolist())
            return super().evaluate_actions(obs, actions)

    policy = Watched(OBS, TWO, lambda _: 1e-3)
    policy.seen = []
    bc = make_bc(arrays(20), batch_size=20, policy=policy)

    bc.train(n_epochs=1)
    bc.train(n_epochs=1)

    assert policy.seen[0] != policy.seen[1]
    assert sorted(policy.seen[0]) == sorted(policy.seen[1])


# --- learning -------------------------------------------------------------------------------------------------------


def test_the_optimiser_goes_on_from_one_training_to_the_next() -> None:
    once, twice = make_bc(arrays(64), batch_size=64), make_bc(arrays(64), batch_size=64)

    once.train(n_epochs=4)
    twice.train(n_epochs=2)
    twice.train(n_epochs=2)

    for mine, theirs in zip(once.policy.parameters(), twice.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_cloning_learns() -> None:
    bc = make_bc(arrays(1000), policy=None)

    bc.train(n_epochs=20)

    assert accuracy(bc, sign_demonstrations(500, seed=1)) > 0.97
