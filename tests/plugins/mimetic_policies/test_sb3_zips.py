"""A policy from a stable-baselines3 zip acts as it does there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import nn

from mimetic.errors import ConfigError, DataError, MissingDependencyError, SpaceError
from mimetic.policies import as_actor, origin_of
from mimetic.storage import load_policy, save_policy
from sb3_zips import (
    ACTS,
    CHOICES,
    IMAGE,
    OBS,
    PARTS,
    model,
    opened,
    row_of,
    saved,
    some_obs,
    with_data,
    with_weights,
)

SMALL = {"features_extractor_kwargs": {"features_dim": 8}}

CASES: Mapping[str, tuple[type[BaseAlgorithm], Any, Any, dict[str, Any]]] = {
    "PPO": (PPO, OBS, CHOICES, {}),
    "PPO with a Gaussian": (PPO, OBS, ACTS, {"policy_kwargs": {"activation_fn": nn.ReLU, "log_std_init": -1.0}}),
    "PPO without hidden layers": (PPO, OBS, ACTS, {"policy_kwargs": {"net_arch": []}}),
    "PPO with two nets": (PPO, OBS, ACTS, {"policy_kwargs": {"net_arch": {"pi": [5], "vf": [7, 6]}}}),
    "PPO with categories": (PPO, spaces.MultiDiscrete([3, 2]), spaces.MultiDiscrete([2, 4]), {}),
    "PPO for images": (PPO, IMAGE, CHOICES, {"policy_kwargs": SMALL}),
    "PPO with two extractors": (PPO, IMAGE, CHOICES, {"policy_kwargs": {**SMALL, "share_features_extractor": False}}),
    "PPO for a Dict": (PPO, PARTS, ACTS, {}),
    "A2C with switches": (A2C, spaces.MultiBinary(4), spaces.MultiBinary(3), {}),
    "A2C for a number": (A2C, spaces.Discrete(5), CHOICES, {}),
    "A2C for many numbers": (A2C, spaces.Box(-1, 1, (1100,), np.float32), CHOICES, {}),
    "SAC": (SAC, OBS, ACTS, {"policy_kwargs": {"net_arch": {"pi": [6, 5], "qf": [4]}, "n_critics": 3}}),
    "SAC without hidden layers": (SAC, OBS, ACTS, {"policy_kwargs": {"net_arch": {"pi": [], "qf": [4]}}}),
    "SAC for images": (SAC, IMAGE, ACTS, {"policy_kwargs": {**SMALL, "share_features_extractor": True}}),
    "TD3": (TD3, OBS, ACTS, {"policy_kwargs": {"activation_fn": nn.ELU}}),
    "DDPG": (DDPG, OBS, ACTS, {}),
    "DQN": (DQN, OBS, CHOICES, {}),
    "DQN for images": (DQN, IMAGE, CHOICES, {"policy_kwargs": SMALL}),
}
NOISY: Mapping[str, tuple[type[BaseAlgorithm], dict[str, Any]]] = {
    "PPO with gSDE": (PPO, {}),
    "PPO with squashed gSDE": (PPO, {"full_std": False, "use_expln": True, "squash_output": True}),
    "SAC with gSDE": (SAC, {"clip_mean": 0.5}),
    "SAC with gSDE, unclipped": (SAC, {"clip_mean": 0.0, "use_expln": True}),
}
CONTRIB: Mapping[str, tuple[str, Any, dict[str, Any]]] = {
    "TQC": ("TQC", ACTS, {}),
    "QR-DQN": ("QRDQN", CHOICES, {"policy_kwargs": {"n_quantiles": 7}}),
    "TRPO": ("TRPO", ACTS, {}),
    "RecurrentPPO": ("RecurrentPPO", CHOICES, {"policy_kwargs": {"lstm_hidden_size": 6}}),
    "RecurrentPPO, two layers": (
        "RecurrentPPO",
        ACTS,
        {"policy_kwargs": {"lstm_hidden_size": 6, "n_lstm_layers": 2, "enable_critic_lstm": False}},
    ),
    "RecurrentPPO, shared": (
        "RecurrentPPO",
        ACTS,
        {"policy_kwargs": {"lstm_hidden_size": 6, "shared_lstm": True, "enable_critic_lstm": False}},
    ),
}


def contrib(name: str) -> type[BaseAlgorithm]:
    module = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    kind: type[BaseAlgorithm] = getattr(module, name)
    return kind


def assert_acts_alike(theirs: BaseAlgorithm, ours: Any, obs_space: Any, acts: Any) -> None:
    """Compare actions bit for bit, of a batch and of one observation; an actor may calculate in float64 instead."""
    obs = some_obs(obs_space)
    expected = theirs.predict(obs, deterministic=True)[0]
    actor = as_actor(
        ours, observation_space=obs_space, action_space=acts, n_envs=5, deterministic=True, exact=True, seed=0
    )

    assert np.array_equal(ours.predict(obs, deterministic=True)[0], expected)
    assert actor(obs, None, np.ones(5, bool))[0] == pytest.approx(expected, abs=1e-5)
    one = row_of(obs, 0)
    assert np.array_equal(ours.predict(one, deterministic=True)[0], theirs.predict(one, deterministic=True)[0])


# --- every algorithm --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_zip_acts_as_stable_baselines_itself_does(case: str, tmp_path: Path) -> None:
    algorithm, obs, acts, options = CASES[case]
    theirs = model(algorithm, obs, acts, **options)
    theirs.save(tmp_path / "agent.zip")

    ours = opened(tmp_path / "agent.zip", obs, acts)

    assert_acts_alike(theirs, ours, obs, acts)
    torch.manual_seed(3)
    drawn = theirs.policy.predict(some_obs(obs), deterministic=False)[0]
    torch.manual_seed(3)
    assert np.array_equal(ours.predict(some_obs(obs), deterministic=False)[0], drawn)


@pytest.mark.parametrize("case", NOISY)
def test_state_dependent_noise_has_the_deviation_that_was_learned(case: str, tmp_path: Path) -> None:
    """SB3 draws one matrix and keeps it; here one is drawn at each step, from the episode's own stream."""
    algorithm, options = NOISY[case]
    theirs: Any = model(algorithm, use_sde=True, policy_kwargs=options)
    theirs.save(tmp_path / "agent.zip")
    ours = opened(tmp_path / "agent.zip")
    actor = as_actor(ours, observation_space=OBS, action_space=ACTS, n_envs=1, deterministic=False, exact=True)
    obs = some_obs(OBS, 1)

    def draws(seed: int) -> np.ndarray:
        actor.begin_episode(0, seed)
        return np.concatenate([actor(obs, None, np.ones(1, bool))[0] for _ in range(200)])

    def their_draw(step: int) -> np.ndarray:
        torch.manual_seed(step)
        theirs.policy.reset_noise()
        acts: np.ndarray = theirs.policy.predict(obs, deterministic=False)[0]
        return acts

    assert_acts_alike(theirs, ours, OBS, ACTS)
    first, theirs_drawn = draws(1), np.concatenate([their_draw(step) for step in range(200)])
    assert np.array_equal(first, draws(1))
    assert not np.array_equal(first, draws(2))
    assert first.std(axis=0) == pytest.approx(theirs_drawn.std(axis=0), rel=0.25)
    assert actor.seeded


@pytest.mark.parametrize("case", CONTRIB)
def test_a_zip_of_sb3_contrib_acts_as_it_does_there(case: str, tmp_path: Path) -> None:
    name, acts, options = CONTRIB[case]
    theirs = model(contrib(name), acts=acts, **options)
    theirs.save(tmp_path / "agent.zip")

    assert_acts_alike(theirs, opened(tmp_path / "agent.zip", acts=acts), OBS, acts)


@pytest.mark.parametrize("exact", [True, False])
def test_every_environment_keeps_its_own_recurrent_state(exact: bool, tmp_path: Path) -> None:
    """Three environments, whose episodes begin at different steps, act as each would alone."""
    theirs = model(contrib("RecurrentPPO"), policy_kwargs={"lstm_hidden_size": 6})
    theirs.save(tmp_path / "agent.zip")
    ours = opened(tmp_path / "agent.zip")
    actor = as_actor(ours, observation_space=OBS, action_space=ACTS, n_envs=3, deterministic=True, exact=exact)
    starts = np.array([[True, True, True], [False, False, True], [False, True, False], [False, False, False]])
    obs = some_obs(OBS, 12).reshape(4, 3, 3)
    states: Any = [None, None, None]
    state = None

    for step in range(4):
        acts, state = actor(obs[step], state, starts[step])
        for env in range(3):
            expected, states[env] = theirs.predict(
                obs[step, env : env + 1], states[env], starts[step, env : env + 1], deterministic=True
            )
            assert acts[env] == pytest.approx(expected[0], abs=1e-5)
    assert actor.recurrent


def test_one_of_sb3_contribs_names_what_to_install_when_that_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path / "agent.zip", contrib("TQC"))
    for module in ("sb3_contrib", "sb3_contrib.tqc", "sb3_contrib.tqc.policies"):
        monkeypatch.setitem(__import__("sys").modules, module, None)

    with pytest.raises(
        MissingDependencyError, match=r"a tqc policy needs sb3-contrib.*pip install 'mimetic\[contrib\]'"
    ):
        opened(tmp_path / "agent.zip")


def test_dqn_explores_as_often_as_at_the_end_of_its_training(tmp_path: Path) -> None:
    """SB3's own `predict` does so too; the streams of the episodes decide here."""
    theirs: Any = model(DQN, acts=CHOICES)
    theirs.exploration_rate = 0.25
    theirs.save(tmp_path / "agent.zip")
    ours = opened(tmp_path / "agent.zip", acts=CHOICES)
    actor = as_actor(ours, observation_space=OBS, action_space=CHOICES, n_envs=1, deterministic=False, exact=True)
    obs = some_obs(OBS, 1)
    greedy = ours.predict(obs, deterministic=True)[0]

    others = np.mean([actor(obs, None, np.ones(1, bool))[0] != greedy for _ in range(600)])

    assert others == pytest.approx(0.25 * 2 / 3, abs=0.06)
    assert ours.predict(obs[0])[0].shape == ()


@pytest.mark.parametrize("case", ["PPO with a Gaussian", "SAC", "DQN"])
def test_what_an_episode_draws_depends_on_its_seed_alone(case: str, tmp_path: Path) -> None:
    algorithm, obs_space, acts, options = CASES[case]
    ours = opened(saved(tmp_path / "agent.zip", algorithm, acts=acts, **options), acts=acts)
    obs = some_obs(obs_space, 3)
    spaces_of = {"observation_space": obs_space, "action_space": acts, "deterministic": False, "exact": True}
    three, one = as_actor(ours, n_envs=3, **spaces_of), as_actor(ours, n_envs=1, **spaces_of)
    for env in range(3):
        three.begin_episode(env, 10 + env)
    one.begin_episode(0, 12)

    drawn = [three(obs, None, np.zeros(3, bool))[0][2] for _ in range(3)]

    assert np.array_equal(drawn, [one(obs[2:], None, np.zeros(1, bool))[0][0] for _ in range(3)])
    assert three.seeded


# --- older zips -------------------------------------------------------------------------------------------------


def test_layers_that_actor_and_critic_shared_in_old_releases_are_given_to_both(tmp_path: Path) -> None:
    theirs: Any = model(PPO, policy_kwargs={"net_arch": {"pi": [8, 5], "vf": [8, 6]}})
    nets = theirs.policy.mlp_extractor
    nets.value_net[0].load_state_dict(nets.policy_net[0].state_dict())
    theirs.save(tmp_path / "agent.zip")

    def as_once(weights: dict[str, torch.Tensor]) -> dict[str, Any]:
        old = {}
        for name, value in weights.items():
            name = name.replace("policy_net.0.", "shared_net.0.").replace("policy_net.2.", "policy_net.0.")
            if ".value_net.0." not in name:
                old[name.replace(".value_net.2.", ".value_net.0.")] = value
        return old

    ours = opened(with_weights(tmp_path / "agent.zip", as_once))

    assert_acts_alike(theirs, ours, OBS, ACTS)
    obs = torch.as_tensor(some_obs(OBS))
    assert torch.equal(ours.predict_values(obs), theirs.policy.predict_values(obs))


def test_an_extractor_that_was_stored_once_serves_both_heads(tmp_path: Path) -> None:
    """Releases before 2.0 stored it under one name."""
    theirs = model(PPO, IMAGE, CHOICES, policy_kwargs=SMALL)
    theirs.save(tmp_path / "agent.zip")

    def as_once(weights: dict[str, torch.Tensor]) -> dict[str, Any]:
        return {name: value for name, value in weights.items() if not name.startswith(("pi_features", "vf_features"))}

    assert_acts_alike(theirs, opened(with_weights(tmp_path / "agent.zip", as_once), IMAGE, CHOICES), IMAGE, CHOICES)


def test_a_policy_class_of_the_reference_library_that_sets_widths_alone_is_known(tmp_path: Path) -> None:
    theirs = model(PPO, policy_kwargs={"net_arch": [32, 32]})
    theirs.save(tmp_path / "agent.zip")

    def from_there(data: dict[str, Any]) -> None:
        data["policy_class"] = {
            "__module__": "imitation.policies.base",
            "__init__": "<function FeedForward32Policy.__init__ at 0x7f>",
        }

    assert_acts_alike(theirs, opened(with_data(tmp_path / "agent.zip", from_there)), OBS, ACTS)


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("features_extractor_class", "<class '__main__.MyCNN'>", "extractor is <class '__main__.MyCNN'>.*NatureCNN"),
        ("features_extractor_class", "<class 'timm.NatureCNN'>", "extractor is <class 'timm.NatureCNN'>"),
        ("features_extractor_kwargs", {"depth": 3}, "extractor has arguments that are not known here: depth"),
        (
            "activation_fn",
            "<class '__main__.Swish'>",
            "activation function is <class '__main__.Swish'>; known are Tanh",
        ),
        ("temperature", 2.0, "arguments that are not known here: temperature"),
        ("use_expln", "maybe", "its settings are not stable-baselines3's.*use_expln"),
    ],
)
def test_a_part_of_the_users_own_is_refused_by_its_name(key: str, value: Any, message: str, tmp_path: Path) -> None:
    path = with_data(saved(tmp_path / "agent.zip"), lambda data: data["policy_kwargs"].update({key: value}))

    with pytest.raises(DataError, match=rf"agent\.zip: .*{message}"):
        opened(path)


def test_a_policy_class_of_the_users_own_is_refused_by_its_name(tmp_path: Path) -> None:
    """Its weights may look like any other's, and its code may do anything with them."""

    def own(data: dict[str, Any]) -> None:
        data["policy_class"] = {"__module__": "__main__", "forward": "<function Mine.forward at 0x7f>"}

    with pytest.raises(DataError, match=r"its policy is __main__\.Mine, whose code is not in the zip"):
        opened(with_data(saved(tmp_path / "agent.zip"), own))


@pytest.mark.parametrize("name", ["MaskablePPO", "ARS", "CrossQ"])
def test_other_algorithms_of_sb3_contrib_are_refused_by_name(name: str, tmp_path: Path) -> None:
    acts = ACTS if name == "CrossQ" else CHOICES
    with pytest.raises(DataError, match=r"its policy is sb3_contrib\..*, whose code is not in the zip; known are"):
        opened(saved(tmp_path / "agent.zip", contrib(name), acts=acts), acts=acts)


def test_weights_of_the_users_own_are_refused_by_their_names(tmp_path: Path) -> None:
    path = with_weights(saved(tmp_path / "agent.zip"), lambda weights: {**weights, "memory.bank": torch.ones(2)})

    with pytest.raises(DataError, match=r"its actor-critic policy has weights of its own.*: memory\.bank"):
        opened(path)


def test_weights_that_are_missing_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "agent.zip")
    with_weights(path, lambda weights: {name: value for name, value in weights.items() if "value_net" not in name})

    with pytest.raises(DataError, match=r"agent\.zip: its weights are not those .*value_net\.weight"):
        opened(path)


@pytest.mark.parametrize(
    ("obs", "acts", "message"),
    [
        (
            spaces.Box(-1, 1, (4,), np.float32),
            ACTS,
            r"made for the observation space.*shape \(3,\) is not shape \(4,\)",
        ),
        (spaces.Discrete(3), ACTS, "is a Box, .* is a Discrete"),
        (OBS, CHOICES, "made for the action space .* is a Discrete"),
        (OBS, spaces.Box(-1, 1, (2,), np.float32), r"its low \[-2.0, -1.0\] is not \[-1.0, -1.0\]"),
        (OBS, spaces.Box(-2, 3, (3,), np.float32), r"shape \(2,\) is not shape \(3,\)"),
    ],
)
def test_another_environment_is_refused_by_what_differs(obs: Any, acts: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match=rf"agent\.zip: .*{message}"):
        opened(saved(tmp_path / "agent.zip"), obs, acts)


def test_bounds_of_observations_and_the_width_of_floats_may_differ(tmp_path: Path) -> None:
    """Between releases of one environment they do: 3.4e38 became infinity, float32 float64."""
    path = saved(tmp_path / "agent.zip")

    policy = opened(path, spaces.Box(-np.inf, np.inf, (3,), np.float64))

    assert policy.observation_space.dtype == np.float64


# --- onwards ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["PPO", "PPO for a Dict", "SAC", "TD3", "DQN for images"])
def test_a_saved_policy_needs_its_zip_no_more(case: str, tmp_path: Path) -> None:
    algorithm, obs, acts, options = CASES[case]
    path = saved(tmp_path / "agent.zip", algorithm, obs, acts, **options)
    ours = opened(path, obs, acts)
    expected = ours.predict(some_obs(obs), deterministic=True)[0]

    save_policy(ours, tmp_path / "policy.safetensors")
    path.unlink()

    again = load_policy(tmp_path / "policy.safetensors")
    assert np.array_equal(again.predict(some_obs(obs), deterministic=True)[0], expected)
    assert type(again) is type(ours)


@pytest.mark.parametrize("case", ["PPO, two layers", "QR-DQN", "TQC"])
def test_a_saved_policy_of_sb3_contrib_needs_its_zip_no_more(case: str, tmp_path: Path) -> None:
    name, acts, options = CONTRIB[f"Recurrent{case}" if case.startswith("PPO") else case]
    ours = opened(saved(tmp_path / "agent.zip", contrib(name), acts=acts, **options), acts=acts)
    save_policy(ours, tmp_path / "policy.safetensors")

    again = load_policy(tmp_path / "policy.safetensors")

    obs = some_obs(OBS)
    assert np.array_equal(again.predict(obs, deterministic=True)[0], ours.predict(obs, deterministic=True)[0])


def test_a_plain_actor_critic_is_stable_baselines_own_and_no_copy_of_the_zips_path(tmp_path: Path) -> None:
    ours = opened(saved(tmp_path / "agent.zip"))
    origin = origin_of(ours)

    assert type(ours) is ActorCriticPolicy
    assert origin is not None
    assert origin.name == "actor-critic"
    assert str(tmp_path) not in str(origin.config)


def test_an_actor_critic_trains_on_from_its_weights(tmp_path: Path) -> None:
    from mimetic_bc import BC

    obs = some_obs(OBS, 64)
    acts = np.clip(np.repeat(obs[:, :1], 2, axis=1), ACTS.low, ACTS.high)
    bc = BC(
        observation_space=OBS,
        action_space=ACTS,
        rng=np.random.default_rng(0),
        policy=f"sb3:path={saved(tmp_path / 'agent.zip')}",
        demonstrations=(obs, acts),
    )
    before = np.abs(bc.policy.predict(obs, deterministic=True)[0] - acts).mean()

    bc.train(n_epochs=30, progress_bar=False)

    assert np.abs(bc.policy.predict(obs, deterministic=True)[0] - acts).mean() < before / 2


def test_images_that_would_be_trained_on_the_wrong_way_round_are_refused() -> None:
    """SB3's own policies turn images when they act, and not when they are trained."""
    from mimetic.run.inputs import Spaces, check_policy

    turned = spaces.Box(0, 255, (3, 36, 44), np.uint8)
    policy = model(PPO, turned, CHOICES, policy_kwargs=SMALL).policy

    check_policy("sb3", policy, Spaces(turned, CHOICES))
    with pytest.raises(SpaceError, match="policy 'sb3' takes other observations than the demonstrations hold"):
        check_policy("sb3", policy, Spaces(IMAGE, CHOICES))


def test_what_cannot_be_trained_is_refused_before_a_run_writes_anything(tmp_path: Path) -> None:
    from mimetic.run import execute

    saved(tmp_path / "agent.zip", DQN, spaces.Box(-10, 10, (2,), np.float32), spaces.Discrete(2))
    run = {
        "demonstrations": [{"name": "arrays", "path": "flip_worlds:demonstrations"}],
        "env": {"id": "flip_worlds:mimetic-tests/Meter-v0"},
        "policy": {"name": "sb3", "path": str(tmp_path / "agent.zip")},
        "algorithm": {"name": "bc", "n_epochs": 1},
    }

    with pytest.raises(ConfigError, match="policy: 'sb3' built a Sb3Policy, which acts but cannot be trained"):
        execute(run, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
