import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from mimetic.config import EnvConfig
from mimetic.errors import (
    ConfigError,
    DataError,
    MimeticError,
    SpaceError,
    TargetExistsError,
    UnknownComponentError,
    UntrustedFileError,
)
from mimetic.plugins import registry, using
from mimetic.policies import MimeticPolicy, origin_of
from mimetic.storage import load_policy, open_policy, read_policy_file, save_policy
from mimetic.storage.safetensors_file import METADATA_KEY, read_document, write_safetensors
from mimetic.testing import manager_with
from some_spaces import OBSERVATION_SPACES, THREE, VECTOR, made, samples
from worlds import Len

GOLDEN = Path(__file__).parent / "golden" / "policy-format-1.safetensors"


def trained(spec: str = "mlp", **options: Any) -> Any:
    """A policy whose weights are not those that its seed gives."""
    policy = made(spec, **options)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    return policy


def changed(path: Path, **keys: Any) -> Path:
    """Write the file again with other words in its description."""
    document = {**read_document(path), **keys}
    write_safetensors(path, {"weight": np.zeros(1, np.float32)}, document, overwrite=True)
    return path


# --- there and back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec", ["mlp", "mlp:normalize_obs=true,net_arch=[8],vf_arch=[],activation=relu", "mlp:squash_output=true"]
)
def test_a_loaded_policy_has_the_same_weights_and_the_same_actions(spec: str, tmp_path: Path) -> None:
    """BC-6: bit for bit."""
    policy = trained(spec, action_space=spaces.Box(-1, 1, (2,)))
    obs = samples(VECTOR, 20)
    policy.train()
    policy.evaluate_actions(torch.as_tensor(obs), torch.zeros(20, 2))  # statistics to save, where there are some

    save_policy(policy, tmp_path / "policy.safetensors")
    loaded = load_policy(tmp_path / "policy.safetensors", device="cpu")

    assert type(loaded) is type(policy)
    assert origin_of(loaded) == origin_of(policy)
    assert loaded.state_dict().keys() == policy.state_dict().keys()
    for name, value in policy.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value), name
    assert np.array_equal(loaded.predict(obs, deterministic=True)[0], policy.predict(obs, deterministic=True)[0])
    assert not loaded.training


def test_a_fresh_process_predicts_the_same(tmp_path: Path) -> None:
    """BC-6: nothing of the process that saved is needed."""
    policy = trained(action_space=spaces.Box(-1, 1, (2,)))
    obs = samples(VECTOR, 20)
    save_policy(policy, tmp_path / "policy.safetensors")
    np.save(tmp_path / "obs.npy", obs)
    script = (
        "import numpy, mimetic; p = mimetic.load_policy('policy.safetensors', device='cpu');"
        "numpy.save('acts.npy', p.predict(numpy.load('obs.npy'), deterministic=True)[0])"
    )

    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)

    assert np.array_equal(np.load(tmp_path / "acts.npy"), policy.predict(obs, deterministic=True)[0])


def test_equal_policies_are_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_policy(trained(), tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_saving_what_was_loaded_gives_the_same_bytes(tmp_path: Path) -> None:
    env = {"id": "CartPole-v1", "kwargs": {}, "max_episode_steps": 7, "wrappers": []}
    save_policy(trained(), tmp_path / "a", env=env)

    save_policy(load_policy(tmp_path / "a"), tmp_path / "b", env=read_policy_file(tmp_path / "a").env)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_file_has_one_metadata_key_and_does_not_say_where_it_lies(tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy.safetensors")
    raw = (tmp_path / "policy.safetensors").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])

    assert list(header["__metadata__"]) == [METADATA_KEY]
    assert str(tmp_path).encode() not in raw


def test_the_description_says_what_rebuilds_the_policy(tmp_path: Path) -> None:
    env = EnvConfig.model_validate(
        {
            "id": "CartPole-v1",
            "kwargs": {"sutton_barto_reward": True},
            "wrappers": [{"name": "gymnasium", "class": "FlattenObservation"}],
        }
    )
    save_policy(made("mlp:net_arch=[8]"), tmp_path / "policy.safetensors", env=env)

    file = read_policy_file(tmp_path / "policy.safetensors")

    assert (file.name, file.distribution, file.config["net_arch"]) == ("mlp", "mimetic", [8])
    assert (file.observation_space, file.action_space) == (VECTOR, THREE)
    assert file.env == {
        "id": "CartPole-v1",
        "kwargs": {"sutton_barto_reward": True},
        "max_episode_steps": None,
        "wrappers": [{"name": "gymnasium", "class": "FlattenObservation", "kwargs": {}}],
    }


def test_tensors_that_are_one_are_stored_once_and_one_again_after_loading(tmp_path: Path) -> None:
    policy = trained("cnn:features_dim=4", observation_space=spaces.Box(0, 255, (36, 36, 3), np.uint8))
    tied = trained("mlp:net_arch=[16,16]")
    tied.mlp_extractor.value_net[2].weight = tied.mlp_extractor.policy_net[2].weight

    save_policy(policy, tmp_path / "cnn")
    save_policy(tied, tmp_path / "tied")
    loaded = load_policy(tmp_path / "tied")

    n_bytes = sum(tensor.numel() * 4 for tensor in policy.parameters())
    assert n_bytes < (tmp_path / "cnn").stat().st_size < 1.2 * n_bytes
    assert loaded.mlp_extractor.value_net[2].weight is loaded.mlp_extractor.policy_net[2].weight


def test_views_of_one_vector_are_saved_like_any_weights(tmp_path: Path) -> None:
    """A fast trainer keeps all parameters in one flat vector."""
    policy = trained()
    flat = nn.utils.parameters_to_vector(policy.parameters()).detach()
    save_policy(policy, tmp_path / "apart")

    nn.utils.vector_to_parameters(flat, policy.parameters())
    save_policy(policy, tmp_path / "views")

    assert (tmp_path / "apart").read_bytes() == (tmp_path / "views").read_bytes()


def test_nested_observations_survive(tmp_path: Path) -> None:
    policy = trained("mlp", observation_space=OBSERVATION_SPACES["nested Dict"])
    save_policy(policy, tmp_path / "policy")
    obs = samples(OBSERVATION_SPACES["nested Dict"], 3)

    loaded = load_policy(tmp_path / "policy")

    assert np.array_equal(loaded.predict(obs, deterministic=True)[0], policy.predict(obs, deterministic=True)[0])


def test_a_run_s_folder_stands_for_its_policy(tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy.safetensors")

    assert isinstance(load_policy(tmp_path), MimeticPolicy)


def test_loading_draws_no_random_numbers(tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy")
    before = torch.get_rng_state()

    load_policy(tmp_path / "policy")

    assert torch.equal(torch.get_rng_state(), before)


def test_the_first_format_is_still_read() -> None:
    """D-10. The file was written by version 0.1.0; its actions were noted then."""
    loaded = load_policy(GOLDEN, device="cpu")
    obs = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)

    acts, _ = loaded.predict(obs, deterministic=True)

    np.testing.assert_allclose(acts, json.loads(GOLDEN.with_suffix(".json").read_text()), atol=1e-6)


# --- SB3's own policies -----------------------------------------------------------------------------------------


def rate(progress: float) -> float:
    return 1e-3


OWN: dict[str, Any] = {
    "plain": lambda: ActorCriticPolicy(VECTOR, THREE, rate),
    "other layers": lambda: ActorCriticPolicy(
        VECTOR, THREE, rate, net_arch={"pi": [8], "vf": [4, 4]}, activation_fn=nn.ReLU
    ),
    "squashed": lambda: ActorCriticPolicy(VECTOR, spaces.Box(-2, 2, (1,)), rate, use_sde=True, squash_output=True),
    "of PPO": lambda: PPO("MlpPolicy", DummyVecEnv([Len]), n_steps=8, batch_size=8, device="cpu").policy,
}


@pytest.mark.parametrize("name", OWN)
def test_sb3_s_own_policy_is_saved_and_loaded_too(name: str, tmp_path: Path) -> None:
    policy = OWN[name]()
    obs = samples(policy.observation_space, 5)

    save_policy(policy, tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy", device="cpu")

    assert type(loaded) is ActorCriticPolicy
    assert np.array_equal(loaded.predict(obs, deterministic=True)[0], policy.predict(obs, deterministic=True)[0])


def test_a_subclass_that_only_sets_arguments_is_rebuilt_as_its_parent(tmp_path: Path) -> None:
    class Small(ActorCriticPolicy):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "net_arch": [8]})

    save_policy(Small(VECTOR, THREE, rate), tmp_path / "policy")

    assert load_policy(tmp_path / "policy").mlp_extractor.latent_dim_pi == 8


def test_what_nothing_can_rebuild_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    class Own(ActorCriticPolicy):
        def get_distribution(self, obs: Any) -> Any:
            return super().get_distribution(obs)

    altered = made("mlp")
    altered.action_net = nn.Sequential(nn.Linear(32, 8), nn.Linear(8, 3))

    with pytest.raises(ConfigError, match="its class defines get_distribution, and no component is known"):
        save_policy(Own(VECTOR, THREE, rate), tmp_path / "policy")
    with pytest.raises(ConfigError, match=r"has other weights than it \(action_net.0.bias"):
        save_policy(altered, tmp_path / "policy")
    with pytest.raises(ConfigError, match="its activation function is Hardtanh"):
        save_policy(ActorCriticPolicy(VECTOR, THREE, rate, activation_fn=nn.Hardtanh), tmp_path / "policy")
    with pytest.raises(ConfigError, match="a UniformActor has no weights"):
        save_policy(made("random"), tmp_path / "policy")
    with pytest.raises(ConfigError, match="it was not built by a component, and does not describe itself"):
        save_policy(MimeticPolicy(VECTOR, THREE), tmp_path / "policy")
    assert not list(tmp_path.iterdir())


# --- overwriting ------------------------------------------------------------------------------------------------


def test_nothing_is_overwritten_unless_told(tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy")
    before = (tmp_path / "policy").read_bytes()

    with pytest.raises(TargetExistsError, match="exists already, and nothing was written"):
        save_policy(made("mlp"), tmp_path / "policy")
    assert (tmp_path / "policy").read_bytes() == before

    save_policy(made("mlp"), tmp_path / "policy", overwrite=True)
    assert (tmp_path / "policy").read_bytes() != before


def test_a_folder_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(TargetExistsError, match="is a folder"):
        save_policy(made("mlp"), tmp_path, overwrite=True)


# --- files that are no policy -----------------------------------------------------------------------------------


class Boom:
    def __reduce__(self) -> Any:
        return (print, ("this ran",))


def test_no_pickle_is_ever_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """BC-6: neither a bare one nor one inside torch's or SB3's archives."""
    (tmp_path / "bare").write_bytes(pickle.dumps(Boom()))
    torch.save(Boom(), tmp_path / "torch")

    for name in ("bare", "torch"):
        with pytest.raises(UntrustedFileError, match=f"{name}: .*could run code; nothing in it was run"):
            load_policy(tmp_path / name)
    assert "this ran" not in capsys.readouterr().out


def test_sb3_s_zip_is_named_with_what_reads_it(tmp_path: Path) -> None:
    PPO("MlpPolicy", DummyVecEnv([Len]), n_steps=8, batch_size=8, device="cpu").save(tmp_path / "agent.zip")

    with pytest.raises(DataError, match=r"agent.zip: a stable-baselines3 zip; expected a policy.*sb3:path="):
        load_policy(tmp_path / "agent.zip")


def test_what_torch_saved_says_how_to_convert_it(tmp_path: Path) -> None:
    torch.save(made("mlp").state_dict(), tmp_path / "weights.pt")

    with pytest.raises(UntrustedFileError, match=r"weights.pt: written by torch.save.*mimetic.save_policy"):
        load_policy(tmp_path / "weights.pt")


def test_other_files_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello, this is no policy")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a", "b")
    write_safetensors(tmp_path / "dataset", {}, {"kind": "dataset", "version": 1})

    for name, told in {
        "missing": "missing: cannot be read",
        "empty": "empty: empty; expected a file that mimetic wrote",
        "text": "text: not of a known format",
        "zip": "zip: a zip archive",
        "dataset": "dataset: says that it holds 'dataset'; expected 'policy'",
        "": "a folder without policy.safetensors",
    }.items():
        with pytest.raises(DataError, match=told):
            load_policy(tmp_path / name)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.999])
def test_a_truncated_file_is_refused(kept: float, tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy")
    raw = (tmp_path / "policy").read_bytes()
    (tmp_path / "policy").write_bytes(raw[: int(len(raw) * kept)])

    with pytest.raises(DataError, match=r"policy: .*incomplete"):
        load_policy(tmp_path / "policy")


def test_a_newer_format_says_so(tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy")

    with pytest.raises(DataError, match=r"written by a newer mimetic \(policy format 2; this one reads up to 1\)"):
        load_policy(changed(tmp_path / "policy", version=2))


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"config": {"net_arhc": [4]}}, "policy: policy 'mlp' no longer takes its config.*did you mean 'net_arch'"),
        ({"observation_space": {"type": "Tuple"}}, "policy: a space of type 'Tuple' cannot be read"),
        ({"config": {"net_arch": [9]}}, "policy: its weights do not fit policy 'mlp'"),
    ],
)
def test_a_damaged_description_is_refused_with_the_file_s_name(keys: Any, told: str, tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy")

    with pytest.raises(DataError, match=told):
        load_policy(changed(tmp_path / "policy", **keys))


def test_a_missing_plugin_is_named(tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy")

    told = "policy: made by policy 'mlp' of the distribution 'mimetic': no policy is called 'mlp'"
    with using(manager_with()), pytest.raises(UnknownComponentError, match=told):
        load_policy(tmp_path / "policy")


# --- POLICY arguments -------------------------------------------------------------------------------------------


def test_a_policy_argument_is_a_run_s_folder_a_file_or_a_spec(tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy.safetensors")
    known = {"observation_space": VECTOR, "action_space": THREE}

    for source in (tmp_path, tmp_path / "policy.safetensors", str(tmp_path / "policy.safetensors")):
        assert isinstance(open_policy(source), MimeticPolicy)
        assert isinstance(open_policy(source, **known), MimeticPolicy)  # type: ignore[arg-type]  # both are spaces
    assert open_policy("mlp:net_arch=[8]", **known).net_arch["pi"] == [8]  # type: ignore[arg-type]  # both are spaces


def test_a_spec_s_weights_come_from_the_seed() -> None:
    first, again, other = (
        open_policy("mlp", observation_space=VECTOR, action_space=THREE, seed=seed).action_net.weight
        for seed in (1, 1, 2)
    )

    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_spec_needs_spaces() -> None:
    with pytest.raises(ConfigError, match=r"the policy 'mlp' needs to know the spaces .*name an environment"):
        open_policy("mlp")


def test_a_policy_file_is_compared_with_the_spaces_that_it_is_to_act_in(tmp_path: Path) -> None:
    save_policy(trained(), tmp_path / "policy.safetensors")

    with pytest.raises(SpaceError, match=r"its action space is Discrete\(3\), the environment.s Discrete\(2\)"):
        open_policy(tmp_path, observation_space=VECTOR, action_space=spaces.Discrete(2))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("mlpp", r"mlpp: there is no such file or folder; and as a policy: .*Did you mean 'mlp'"),
        ("nowhere.safetensors", r"nowhere.safetensors: cannot be read"),
        ("mlp:net_arhc=[4]", "did you mean 'net_arch'"),
    ],
)
def test_what_names_no_policy_is_refused(source: str, told: str) -> None:
    with pytest.raises(MimeticError, match=told):
        open_policy(source, observation_space=VECTOR, action_space=THREE)


def test_a_file_of_another_kind_is_named_for_what_it_is(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "weights.pt")
    write_safetensors(tmp_path / "data.safetensors", {}, {"kind": "dataset", "version": 1})

    with pytest.raises(UntrustedFileError, match=r"written by torch.save"):
        open_policy(tmp_path / "weights.pt", observation_space=VECTOR, action_space=THREE)
    with pytest.raises(DataError, match="says that it holds 'dataset'; expected 'policy'"):
        open_policy(tmp_path / "data.safetensors")


def test_an_ending_stands_for_the_component_that_reads_it() -> None:
    assert ".safetensors" in registry().find("policy", "file").entry.suffixes  # type: ignore[union-attr]  # a PolicyEntry
