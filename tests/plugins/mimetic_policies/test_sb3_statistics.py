"""The statistics that a policy learned under are read without running their pickle, and asked for when missing."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.errors import DataError
from mimetic.evaluate import evaluate
from mimetic.policies import as_actor
from mimetic.storage import load_policy, save_policy
from mimetic_policies.sb3.statistics import read_statistics
from sb3_zips import ACTS, IMAGE, OBS, PARTS, Anywhere, opened, saved, some_obs, with_data

WIDE = spaces.Box(1000, 1010, (3,), np.float64)
VECTORS = spaces.Dict({"b": OBS, "a": WIDE})


def normalized(obs_space: Any, **options: Any) -> VecNormalize:
    """A VecNormalize that saw some observations, and reports its statistics with odd settings."""
    venv = DummyVecEnv([lambda: Anywhere(obs_space, ACTS)])
    wrapper = VecNormalize(venv, clip_obs=1.5, epsilon=1e-3, **options)
    venv.seed(0)
    wrapper.reset()
    for _ in range(20):
        wrapper.step(np.zeros((1, 2), np.float32))
    return wrapper


def trained(algorithm: type[BaseAlgorithm], venv: Any, policy: str = "MlpPolicy", **options: Any) -> BaseAlgorithm:
    """Train for a moment, so that the zip remembers what every zip remembers."""
    short: dict[str, Any] = {"n_steps": 8, "batch_size": 8, "n_epochs": 1} if algorithm is PPO else {"buffer_size": 50}
    made = algorithm(policy, venv, seed=0, device="cpu", **short, **options)
    with torch.random.fork_rng():
        made.learn(12)
    return made


def spec(path: Path, statistics: Path | str) -> str:
    return f"sb3:path={path},vecnormalize={statistics}"


# --- reading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(6))
def test_statistics_are_read_as_they_were_pickled_by_any_protocol(protocol: int, tmp_path: Path) -> None:
    wrapper: Any = normalized(WIDE)
    (tmp_path / "stats.pkl").write_bytes(pickle.dumps(wrapper, protocol))

    statistics = read_statistics(tmp_path / "stats.pkl")

    assert (statistics.clip_obs, statistics.epsilon) == (1.5, 1e-3)
    assert list(statistics.moments) == [""]
    assert np.array_equal(statistics.moments[""].mean, wrapper.obs_rms.mean)
    assert np.array_equal(statistics.moments[""].var, wrapper.obs_rms.var)


def test_statistics_of_a_dict_are_those_of_the_keys_that_were_normalised(tmp_path: Path) -> None:
    wrapper = normalized(VECTORS, norm_obs_keys=["a"])
    wrapper.save(str(tmp_path / "stats.pkl"))

    assert list(read_statistics(tmp_path / "stats.pkl").moments) == ["a"]


def test_a_file_that_normalised_rewards_alone_leaves_observations_as_they_are(tmp_path: Path) -> None:
    normalized(OBS, norm_obs=False).save(str(tmp_path / "stats.pkl"))
    path = saved(tmp_path / "agent.zip")
    obs = some_obs(OBS)

    with_file = opened(spec(path, tmp_path / "stats.pkl"))

    assert np.array_equal(
        with_file.predict(obs, deterministic=True)[0], opened(path).predict(obs, deterministic=True)[0]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"obs_rms": None}, "its obs_rms is a NoneType without mean and variance"),
        ({"obs_rms": 3}, "its obs_rms is a int"),
        ({"clip_obs": "ten"}, "its clip_obs is a str; expected an array of numbers"),
        ({"clip_obs": -1.0}, "its clip_obs is -1.0, not above zero"),
        ({"epsilon": float("nan")}, "its epsilon is nan, not above zero"),
    ],
)
def test_what_is_wrong_in_statistics_is_named(change: Mapping[str, Any], message: str, tmp_path: Path) -> None:
    wrapper = normalized(OBS)
    vars(wrapper).update(change)
    (tmp_path / "stats.pkl").write_bytes(pickle.dumps(wrapper))

    with pytest.raises(DataError, match=rf"stats\.pkl: {message}.*expected what .*VecNormalize\.save. wrote"):
        read_statistics(tmp_path / "stats.pkl")


@pytest.mark.parametrize(
    ("moment", "value", "message"),
    [
        ("mean", np.array([np.nan, 0, 0]), "obs_rms.mean is not finite"),
        ("mean", np.array(["a", "b", "c"]), "obs_rms.mean is an array whose dtype is no number's"),
        ("mean", np.array([None] * 3), "obs_rms.mean is an array whose dtype is no number's"),
        ("mean", [0.0, 0.0, 0.0], "obs_rms.mean is a list"),
        ("var", np.array([-1.0, 1, 1]), "obs_rms has a negative variance"),
        ("var", np.ones(2), r"a mean of shape \(3,\) and a variance of shape \(2,\)"),
    ],
)
def test_a_moment_that_is_none_is_named(moment: str, value: Any, message: str, tmp_path: Path) -> None:
    wrapper = normalized(OBS)
    setattr(wrapper.obs_rms, moment, value)
    (tmp_path / "stats.pkl").write_bytes(pickle.dumps(wrapper))

    with pytest.raises(DataError, match=message):
        read_statistics(tmp_path / "stats.pkl")


def test_another_pickle_is_no_statistics(tmp_path: Path) -> None:
    (tmp_path / "stats.pkl").write_bytes(pickle.dumps({"obs_rms": np.zeros(3)}))

    with pytest.raises(DataError, match="holds a dict; expected what"):
        read_statistics(tmp_path / "stats.pkl")


def test_statistics_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.pkl: cannot be read \(No such file"):
        opened(spec(saved(tmp_path / "agent.zip"), tmp_path / "none.pkl"))


def test_statistics_of_other_observations_are_refused(tmp_path: Path) -> None:
    normalized(spaces.Box(-1, 1, (4,), np.float32)).save(str(tmp_path / "stats.pkl"))

    with pytest.raises(
        DataError, match=r"stats\.pkl: statistics of shape \(4,\), and the observations have shape \(3,\)"
    ):
        opened(spec(saved(tmp_path / "agent.zip"), tmp_path / "stats.pkl"))


# --- acting -----------------------------------------------------------------------------------------------------

FORMS: Mapping[str, tuple[Any, str, dict[str, Any], dict[str, Any]]] = {
    "float32": (OBS, "MlpPolicy", {}, {}),
    "float64": (WIDE, "MlpPolicy", {}, {}),
    "a Dict": (VECTORS, "MultiInputPolicy", {}, {}),
    "one key of a Dict": (VECTORS, "MultiInputPolicy", {"norm_obs_keys": ["b"]}, {}),
    "a Dict with images beside": (PARTS, "MultiInputPolicy", {"norm_obs_keys": ["vector"]}, {}),
    "images": (
        spaces.Box(0, 255, (3, 36, 44), np.uint8),
        "CnnPolicy",
        {},
        {"policy_kwargs": {"normalize_images": False}},
    ),
}


@pytest.mark.parametrize(
    ("form", "algorithm"),
    [(form, PPO) for form in FORMS]
    + [(form, SAC) for form in FORMS if "beside" not in form],  # which SB3's own replay buffer does not take
)
def test_observations_are_normalised_as_under_vecnormalize(
    form: str, algorithm: type[BaseAlgorithm], tmp_path: Path
) -> None:
    """The actions are bit for bit those of SB3's own pipeline, one environment or several."""
    obs_space, policy, norm, options = FORMS[form]
    wrapper = normalized(obs_space, **norm)
    theirs = trained(algorithm, wrapper, policy, **options)
    theirs.save(tmp_path / "agent.zip")
    wrapper.save(str(tmp_path / "stats.pkl"))
    obs: Any = some_obs(obs_space)

    ours = opened(spec(tmp_path / "agent.zip", tmp_path / "stats.pkl"), obs_space)

    expected = theirs.predict(wrapper.normalize_obs(obs), deterministic=True)[0]
    assert np.array_equal(ours.predict(obs, deterministic=True)[0], expected)
    both = {"observation_space": obs_space, "action_space": ACTS}
    assert np.allclose(
        as_actor(ours, **both, n_envs=5, deterministic=True, exact=True)(obs, None, np.ones(5, bool))[0], expected
    )


def test_acting_counts_nothing_and_returns_are_the_environments_own(tmp_path: Path) -> None:
    wrapper = normalized(spaces.Box(-np.inf, np.inf, (1,), np.float32))
    venv = DummyVecEnv([lambda: __import__("worlds").Cont(-1, 1)])
    trained(PPO, venv).save(tmp_path / "agent.zip")
    wrapper.save(str(tmp_path / "stats.pkl"))
    before = (tmp_path / "stats.pkl").read_bytes()

    result = evaluate(
        spec(tmp_path / "agent.zip", tmp_path / "stats.pkl"),
        EnvConfig(id="worlds:mimetic-tests/Cont-v0"),
        EvaluationConfig(n_episodes=2),
        seed=0,
    )

    assert result.statistics["return_mean"] == 5
    assert (tmp_path / "stats.pkl").read_bytes() == before


def test_statistics_travel_inside_the_saved_policy(tmp_path: Path) -> None:
    wrapper = normalized(VECTORS)
    trained(SAC, wrapper, "MultiInputPolicy").save(tmp_path / "agent.zip")
    wrapper.save(str(tmp_path / "stats.pkl"))
    ours = opened(spec(tmp_path / "agent.zip", tmp_path / "stats.pkl"), VECTORS)
    obs = some_obs(VECTORS)
    expected = ours.predict(obs, deterministic=True)[0]

    save_policy(ours, tmp_path / "policy.safetensors")
    for name in ("agent.zip", "stats.pkl"):
        (tmp_path / name).unlink()

    again = load_policy(tmp_path / "policy.safetensors")
    assert np.array_equal(again.predict(obs, deterministic=True)[0], expected)


# --- missing ----------------------------------------------------------------------------------------------------


def test_missing_statistics_are_refused_with_what_to_write(tmp_path: Path) -> None:
    trained(PPO, normalized(OBS)).save(tmp_path / "agent.zip")

    with pytest.raises(
        DataError, match=r"agent\.zip: the zip shows that VecNormalize was used.*vecnormalize=FILE; or say"
    ):
        opened(tmp_path / "agent.zip")

    assert opened(spec(tmp_path / "agent.zip", "none")).predict(some_obs(OBS))[0].shape == (5, 2)


def test_a_zip_that_learned_without_needs_no_statistics(tmp_path: Path) -> None:
    """A file that lies there all the same is another policy's."""
    trained(PPO, Anywhere(OBS, ACTS)).save(tmp_path / "agent.zip")
    (tmp_path / "vecnormalize.pkl").touch()

    opened(tmp_path / "agent.zip")


@pytest.mark.parametrize(
    ("agent", "statistics"),
    [
        ("agent.zip", "agent_vecnormalize.pkl"),
        ("agent.zip", "vec_normalize.pkl"),
        ("agent.zip", "agent/vecnormalize.pkl"),
        ("rl_model_500_steps.zip", "rl_model_vecnormalize_500_steps.pkl"),
    ],
)
def test_a_file_beside_the_zip_that_is_called_like_statistics_is_pointed_to(
    agent: str, statistics: str, tmp_path: Path
) -> None:
    """An off-policy zip does not always say; then nothing is taken for granted."""
    trained(SAC, Anywhere(OBS, ACTS)).save(tmp_path / agent)
    (tmp_path / statistics).parent.mkdir(exist_ok=True)
    (tmp_path / statistics).touch()

    with pytest.raises(DataError, match=rf"beside it lies .*vecnormalize={tmp_path / statistics}; or say"):
        opened(tmp_path / agent)


def test_an_off_policy_zip_without_such_a_file_beside_it_is_taken_as_it_is(tmp_path: Path) -> None:
    trained(SAC, Anywhere(OBS, ACTS)).save(tmp_path / "agent.zip")

    opened(tmp_path / "agent.zip")


@pytest.mark.parametrize("obs_space", [WIDE, spaces.Box(1000, 1010, (3,), np.float32)])
def test_the_last_observations_of_an_off_policy_zip_can_show_it(obs_space: Any, tmp_path: Path) -> None:
    """The normalised one has another dtype, or is none of the space."""
    trained(SAC, normalized(obs_space)).save(tmp_path / "agent.zip")

    with pytest.raises(DataError, match="the zip shows that VecNormalize was used"):
        opened(tmp_path / "agent.zip", obs_space)


def test_an_off_policy_zip_can_show_that_rewards_alone_were_normalised(tmp_path: Path) -> None:
    """Then its last two observations are one and the same."""
    trained(SAC, normalized(OBS, norm_obs=False)).save(tmp_path / "agent.zip")
    (tmp_path / "vecnormalize.pkl").touch()

    opened(tmp_path / "agent.zip")


def test_a_zip_that_names_its_vecnormalize_shows_it(tmp_path: Path) -> None:
    path = with_data(saved(tmp_path / "agent.zip"), lambda data: data.update(_vec_normalize_env={":type:": "it"}))

    with pytest.raises(DataError, match="the zip shows that VecNormalize was used"):
        opened(path)


def test_images_are_not_turned_where_vecnormalize_made_them_no_images(tmp_path: Path) -> None:
    """SB3 leaves channels where they are then, and so must we."""
    wrapper = normalized(IMAGE)
    theirs = trained(PPO, wrapper)
    theirs.save(tmp_path / "agent.zip")
    wrapper.save(str(tmp_path / "stats.pkl"))
    obs = some_obs(IMAGE)

    ours = opened(spec(tmp_path / "agent.zip", tmp_path / "stats.pkl"), IMAGE)

    expected = theirs.predict(wrapper.normalize_obs(obs), deterministic=True)[0]
    assert np.array_equal(ours.predict(obs, deterministic=True)[0], expected)
