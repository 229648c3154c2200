"""The policies that learn, through the registry as a run file builds them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy

import mimetic_policies
from mimetic.errors import ConfigError, DataError, SpaceError
from mimetic.plugins import registry
from mimetic.policies import MimeticPolicy, origin_of
from mimetic.storage import load_policy
from mimetic_policies import CnnPolicy, FeedForward32Policy, MlpPolicy, MultiInputPolicy
from some_spaces import ACTION_SPACES, OBSERVATION_SPACES, THREE, VECTOR, Space, context, made, rows, samples

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
IMAGE = spaces.Box(0, 255, (40, 44, 3), np.uint8)
PARTS = spaces.Dict({"eye": IMAGE, "hand": spaces.Dict({"grip": spaces.Discrete(2), "at": VECTOR})})

OBSERVED: dict[str, Space] = {"mlp": VECTOR, "cnn": IMAGE, "multi-input": PARTS, "actor-critic": VECTOR}


@pytest.mark.parametrize("name", ["mlp", "cnn", "multi-input", "actor-critic", "file", "function", "random", "zero"])
def test_its_entry_point_finds_it(name: str) -> None:
    assert registry().find("policy", name).plugin == "policies"


# --- every key reaches the object -------------------------------------------------------------------------------

FLIPS: dict[str, dict[str, str]] = {
    "mlp": {
        "net_arch": "[32, 16]",
        "vf_arch": "[8]",
        "activation": "relu",
        "ortho_init": "false",
        "log_std_init": "-1.0",
        "squash_output": "true",
        "use_sde": "true",
        "normalize_obs": "true",
    },
    "cnn": {
        "net_arch": "[16]",
        "vf_arch": "[8]",
        "activation": "relu",
        "ortho_init": "false",
        "log_std_init": "-1.0",
        "squash_output": "true",
        "use_sde": "true",
        "features_dim": "16",
        "layout": "chw",
        "normalize_images": "false",
    },
    "multi-input": {
        "net_arch": "[32, 16]",
        "vf_arch": "[8]",
        "activation": "relu",
        "ortho_init": "false",
        "log_std_init": "-1.0",
        "squash_output": "true",
        "use_sde": "true",
        "features_dim": "16",
        "layout": "chw",
        "normalize_images": "false",
        "normalize_obs": "true",
    },
    "actor-critic": {
        "features": "nature-cnn",
        "features_dim": "16",
        "net_arch": "{pi: [8]}",
        "activation": "relu",
        "ortho_init": "false",
        "log_std_init": "-1.0",
        "use_sde": "true",
        "full_std": "false",
        "use_expln": "true",
        "squash_output": "true",
        "share_features_extractor": "false",
        "normalize_images": "false",
    },
}
BESIDE = {  # what a key needs beside it to mean anything
    ("cnn", "activation"): "net_arch=[16]",
    ("actor-critic", "features_dim"): "features=nature-cnn",
    ("actor-critic", "full_std"): "use_sde=true",
    ("actor-critic", "use_expln"): "use_sde=true,log_std_init=1.0",
    ("actor-critic", "share_features_extractor"): "features=nature-cnn,features_dim=8",
    ("actor-critic", "squash_output"): "use_sde=true",
}
BYTES_FIRST = spaces.Box(0, 255, (3, 40, 44), np.uint8)
SEES = {
    ("actor-critic", "features"): BYTES_FIRST,
    ("actor-critic", "features_dim"): BYTES_FIRST,
    ("actor-critic", "normalize_images"): BYTES_FIRST,
    ("actor-critic", "share_features_extractor"): BYTES_FIRST,
}


def fingerprint(spec: str, space: Space) -> Any:
    """Everything that a policy is and gives: shapes, weights, distribution, in both modes."""
    policy = made(spec, space, BOX)
    obs = policy.obs_to_tensor(samples(space, 3))[0]
    torch.manual_seed(0)
    policy.train()
    values, log_prob, _ = policy.evaluate_actions(obs, torch.full((3, 2), 0.5))
    policy.eval()
    distribution = policy.get_distribution(obs)
    numbers = [values, log_prob, distribution.mode(), distribution.distribution.stddev]
    shapes = [(name, tuple(value.shape)) for name, value in policy.state_dict().items()]
    return shapes, [number.detach().numpy().round(6).tobytes() for number in numbers]


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, keys in FLIPS.items() for key in keys])
def test_every_key_of_the_config_changes_what_is_built(name: str, key: str) -> None:
    """BUG-01: a setting that reaches nothing is worse than none."""
    space = SEES.get((name, key), OBSERVED[name])
    beside = [BESIDE[name, key]] if (name, key) in BESIDE else []

    before = fingerprint(f"{name}:{','.join(beside)}", space)
    after = fingerprint(f"{name}:{','.join([*beside, f'{key}={FLIPS[name][key]}'])}", space)

    assert before != after


@pytest.mark.parametrize("name", FLIPS)
def test_the_flips_above_cover_every_key(name: str) -> None:
    assert set(FLIPS[name]) == set(registry().config_model(registry().find("policy", name)).model_fields)


# --- what all of them do ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OBSERVED)
def test_the_seed_decides_the_weights_and_the_global_generator_does_not(name: str) -> None:
    space = spaces.Box(0, 255, (3, 40, 44), np.uint8) if name == "actor-critic" else OBSERVED[name]

    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = made(name, space, seed=5)
    assert torch.equal(torch.get_rng_state(), state)

    torch.manual_seed(2)
    again, other = made(name, space, seed=5), made(name, space, seed=6)
    for name_, value in first.state_dict().items():
        assert torch.equal(again.state_dict()[name_], value)
    assert not torch.equal(other.action_net.weight, first.action_net.weight)


@pytest.mark.parametrize("observed", ["mlp", "cnn", "multi-input"])
@pytest.mark.parametrize("acted", ACTION_SPACES)
def test_every_action_space_trains_and_predicts_members(observed: str, acted: str) -> None:
    space, acts_space = OBSERVED[observed], ACTION_SPACES[acted]
    policy = made(observed, space, acts_space)
    obs = samples(space, 3)

    _, log_prob, _ = policy.evaluate_actions(policy.obs_to_tensor(obs)[0], torch.as_tensor(samples(acts_space, 3)))
    log_prob.mean().backward()

    assert log_prob.shape == (3,)
    assert policy.action_net.weight.grad.abs().sum() > 0
    assert all(acts_space.contains(np.asarray(act)) for act in policy.predict(obs)[0])


@pytest.mark.parametrize("name", OBSERVATION_SPACES)
def test_mlp_takes_every_observation_space(name: str) -> None:
    space = OBSERVATION_SPACES[name]

    acts, _ = made("mlp", space).predict(samples(space, 3), deterministic=True)

    assert acts.shape == (3,)


@pytest.mark.parametrize("name", ["mlp", "multi-input"])
def test_unsupported_spaces_are_refused_by_name_through_the_registry(name: str) -> None:
    with pytest.raises(SpaceError, match="Tuple is not supported as observation space"):
        made(name, spaces.Tuple((VECTOR, VECTOR)))
    with pytest.raises(SpaceError, match="Dict is not supported as action space"):
        made(name, VECTOR, spaces.Dict(a=THREE))


@pytest.mark.parametrize("name", ["mlp:normalize_obs=true", "multi-input:normalize_obs=true"])
def test_statistics_move_in_training_mode_alone_and_are_saved(name: str, tmp_path: Path) -> None:
    """E-1."""
    policy = made(name)
    policy.train()
    policy.evaluate_actions(torch.randn(50, 4) * 3 + 1000, torch.zeros(50))
    buffers = {key: value.clone() for key, value in policy.named_buffers()}

    policy.predict(samples(VECTOR, 5))
    policy.save(tmp_path / "policy")

    assert any(value.ndim == 0 and value == 50 for value in buffers.values())
    loaded = dict(load_policy(tmp_path / "policy").named_buffers())
    assert all(torch.equal(value, loaded[key]) for key, value in buffers.items())
    assert all(torch.equal(value, buffers[key]) for key, value in policy.named_buffers())


def test_a_normalised_policy_forgets_nothing_that_it_needs(tmp_path: Path) -> None:
    """E-1: sign(obs - 1005) on observations from 1000 to 1010, learned under normalisation, saved and loaded."""
    policy = made("mlp:normalize_obs=true", spaces.Box(-np.inf, np.inf, (1,)), spaces.Discrete(2))
    obs = torch.linspace(1000, 1010, 64)[:, None]
    acts = (obs[:, 0] > 1005).long()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
    policy.train()
    for _ in range(100):
        optimizer.zero_grad()
        (-policy.evaluate_actions(obs, acts)[1].mean()).backward()
        optimizer.step()

    policy.save(tmp_path / "policy")
    predicted, _ = load_policy(tmp_path / "policy").predict(obs.numpy(), deterministic=True)

    assert (predicted == acts.numpy()).mean() > 0.95


# --- by hand, as with the reference library ---------------------------------------------------------------------


def test_the_reference_s_policy_is_mlp_with_its_defaults() -> None:
    policy = FeedForward32Policy(VECTOR, THREE, lambda _: 1e-3)

    assert type(policy) is MlpPolicy
    assert isinstance(policy, ActorCriticPolicy)
    assert origin_of(policy) == origin_of(made("mlp"))
    assert [tuple(p.shape) for p in policy.mlp_extractor.policy_net.parameters()] == [(32, 4), (32,), (32, 32), (32,)]
    assert isinstance(policy.mlp_extractor.policy_net[1], torch.nn.Tanh)


def test_the_reference_s_policy_can_be_saved_and_loaded(tmp_path: Path) -> None:
    """BUG-16: with the reference library it cannot, since its constructor refuses its own arguments."""
    policy = FeedForward32Policy(VECTOR, THREE, lambda _: 1e-3)
    obs = samples(VECTOR, 20)

    policy.save(tmp_path / "policy.zip")
    loaded = FeedForward32Policy.load(tmp_path / "policy.zip", device="cpu")

    assert np.array_equal(loaded.predict(obs, deterministic=True)[0], policy.predict(obs, deterministic=True)[0])
    assert type(load_policy(tmp_path / "policy.zip")) is FeedForward32Policy


def test_a_class_loads_only_its_own_policies(tmp_path: Path) -> None:
    made("mlp").save(tmp_path / "policy")

    with pytest.raises(DataError, match="holds a MlpPolicy; expected a CnnPolicy"):
        CnnPolicy.load(tmp_path / "policy")


@pytest.mark.parametrize(
    ("policy", "space"),
    [
        (
            lambda s: MlpPolicy(s, BOX, net_arch={"pi": [8], "vf": [4, 4]}, normalize_obs=True, squash_output=True),
            VECTOR,
        ),
        (lambda s: MlpPolicy(s, BOX, use_sde=True, log_std_init=-2.0, activation_fn=torch.nn.ELU), VECTOR),
        (lambda s: CnnPolicy(s, BOX, net_arch=[8], features_extractor_kwargs={"features_dim": 5}), IMAGE),
        (lambda s: MultiInputPolicy(s, BOX, features_extractor_kwargs={"normalize_obs": True}), PARTS),
    ],
)
def test_a_policy_made_by_hand_knows_the_config_that_rebuilds_it(policy: Any, space: Space, tmp_path: Path) -> None:
    by_hand = policy(space)
    obs = samples(space, 4)

    by_hand.save(tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy", device="cpu")

    assert type(loaded) is type(by_hand)
    assert np.array_equal(loaded.predict(obs, deterministic=True)[0], by_hand.predict(obs, deterministic=True)[0])


def test_a_policy_with_an_extractor_of_its_own_is_not_saved_as_another(tmp_path: Path) -> None:
    from mimetic.policies import FlatFeatures

    class Own(FlatFeatures):
        pass

    with pytest.raises(ConfigError, match="was not built by a component"):
        MlpPolicy(VECTOR, THREE, features_extractor_class=Own).save(tmp_path / "policy")


def test_the_package_offers_its_classes_lazily() -> None:
    assert set(mimetic_policies.__all__) <= set(dir(mimetic_policies))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = mimetic_policies.Nothing


# --- file -------------------------------------------------------------------------------------------------------


def test_file_warm_starts_from_a_saved_policy_and_remembers_what_that_was(tmp_path: Path) -> None:
    saved = made("mlp:net_arch=[8]", seed=3)
    saved.save(tmp_path / "policy.safetensors")

    warm = made(f"file:path={tmp_path / 'policy.safetensors'}")
    warm.evaluate_actions(torch.zeros(2, 4), torch.zeros(2))[1].mean().backward()

    assert torch.equal(warm.action_net.weight, saved.action_net.weight)
    assert warm.action_net.bias.grad is not None
    assert origin_of(warm) == origin_of(saved)
    assert isinstance(made(f"file:path={tmp_path}"), MlpPolicy)


def test_file_compares_spaces(tmp_path: Path) -> None:
    made("mlp").save(tmp_path / "policy.safetensors")

    with pytest.raises(SpaceError, match=r"its action space is Discrete\(3\), the environment.s Discrete\(2\)"):
        made(f"file:path={tmp_path / 'policy.safetensors'}", VECTOR, spaces.Discrete(2))


# --- actor-critic -----------------------------------------------------------------------------------------------


def test_actor_critic_is_sb3_s_own_class() -> None:
    policy = made("actor-critic")

    assert type(policy) is ActorCriticPolicy
    assert not isinstance(policy, MimeticPolicy)


def test_actor_critic_refuses_what_sb3_does_not_know() -> None:
    with pytest.raises(SpaceError, match="stable-baselines3's own policies do not know"):
        made("actor-critic", VECTOR, spaces.Discrete(3, start=1))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("squash_output=true", "squash_output needs use_sde: true"),
        ("features_dim=8", "features_dim is for nature-cnn and combined"),
    ],
)
def test_actor_critic_refuses_settings_that_would_mean_nothing(settings: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        made(f"actor-critic:{settings}")


# --- multi-input ------------------------------------------------------------------------------------------------


def test_multi_input_sees_every_part_of_a_nested_observation() -> None:
    """Changing any one part changes the features."""
    policy = made("multi-input", PARTS)
    obs = samples(PARTS, 1)
    tensors, _ = policy.obs_to_tensor(obs)

    assert sorted(tensors) == ["eye", "hand.at", "hand.grip"]
    before = policy.extract_features(tensors)
    for key, value in tensors.items():
        moved = {**tensors, key: 1 - value if key == "hand.grip" else value + 1}
        assert not torch.equal(policy.extract_features(moved), before), key


def test_multi_input_takes_keys_that_torch_has_names_for() -> None:
    space = spaces.Dict({"type": IMAGE, "forward": IMAGE, "a.b": IMAGE})

    acts, _ = made("multi-input:features_dim=4", space).predict(samples(space, 2), deterministic=True)

    assert acts.shape == (2,)


def test_multi_input_names_the_image_whose_layout_is_ambiguous() -> None:
    space = spaces.Dict({"eye": spaces.Box(0, 255, (3, 64, 3), np.uint8)})

    with pytest.raises(SpaceError, match=r"observation 'eye' has the shape \(3, 64, 3\)"):
        made("multi-input", space)


def test_single_observations_of_parts_are_told_from_batches() -> None:
    policy = made("multi-input", PARTS)
    obs = samples(PARTS, 2)

    assert policy.predict(rows(obs, 0))[0].shape == ()
    assert policy.predict(obs)[0].shape == (2,)


def test_a_context_gives_the_policy_its_device() -> None:
    assert registry().build("policy", "mlp", None, context()).device == torch.device("cpu")
