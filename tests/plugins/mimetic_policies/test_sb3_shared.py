"""Policies that other people trained years ago reach the returns that they published, and no pickle is ever run."""

import pickle
from pathlib import Path

import cloudpickle  # type: ignore[import-untyped]  # it ships none
import pytest

from mimetic.cli import main
from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.errors import DataError
from mimetic.evaluate import EvaluationResult, evaluate
from mimetic.storage import load_policy
from sb3_zips import opened
from shared import shared_data


class RefusingUnpickler(pickle.Unpickler):
    """Torch derives from the class when it is first used, so it has to stay one."""

    def __init__(self, *_: object, **__: object) -> None:
        raise AssertionError("a pickle was run")


@pytest.fixture(autouse=True)
def _no_pickles(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pickle, cloudpickle):
        for name in ("load", "loads"):
            monkeypatch.setattr(module, name, RefusingUnpickler)
    monkeypatch.setattr(pickle, "Unpickler", RefusingUnpickler)


def played(policy: str | Path, env: str, n: int, *, n_envs: int = 1) -> EvaluationResult:
    return evaluate(str(policy), EnvConfig(id=env), EvaluationConfig(n_episodes=n, n_envs=n_envs), seed=0)


@pytest.mark.parametrize(
    "name",
    [
        "rl-trained-agents/ppo_CartPole-v1.zip",
        "rl-trained-agents/dqn_CartPole-v1.zip",
        "imitation/cartpole_ppo_model.zip",
    ],
)
def test_cartpole_is_held_up_to_the_end(name: str) -> None:
    """Published: 500.0."""
    assert played(shared_data(name), "CartPole-v1", 3).statistics["return_min"] == 500


def test_acrobot_swings_up_with_its_statistics() -> None:
    """Published: -73.5, with a deviation of 18."""
    spec = f"sb3:path={shared_data('rl-trained-agents/ppo_Acrobot-v1.zip')},vecnormalize=" + str(
        shared_data("rl-trained-agents/ppo_Acrobot-v1_vecnormalize.pkl")
    )

    assert played(spec, "Acrobot-v1", 20).statistics["return_mean"] == pytest.approx(-73.5, abs=10)


def test_acrobot_is_refused_without_its_statistics_and_the_file_beside_it_is_named() -> None:
    path = shared_data("rl-trained-agents/ppo_Acrobot-v1.zip")

    with pytest.raises(DataError, match=r"vecnormalize=.*ppo_Acrobot-v1_vecnormalize\.pkl; or say `vecnormalize=none`"):
        played(path, "Acrobot-v1", 1)


def test_pendulum_is_swung_up() -> None:
    """Published: -157, with a deviation of 89; a pendulum that is left alone gets about -1,200."""
    result = played(shared_data("rl-trained-agents/sac_Pendulum-v1.zip"), "Pendulum-v1", 20)

    assert result.statistics["return_mean"] == pytest.approx(-157, abs=60)


def test_what_a_zip_does_depends_on_no_number_of_environments() -> None:
    path = shared_data("rl-trained-agents/sac_Pendulum-v1.zip")

    one, three = (played(path, "Pendulum-v1", 3, n_envs=n) for n in (1, 3))

    assert [episode.env_return for episode in one.episodes] == [episode.env_return for episode in three.episodes]


def test_lunar_lander_lands_in_its_new_version() -> None:
    """Published for v2: 242, with a deviation of 32."""
    pytest.importorskip("Box2D", reason="box2d is not installed")
    result = played(shared_data("rl-trained-agents/ppo_LunarLander-v2.zip"), "LunarLander-v3", 20)

    assert result.statistics["return_mean"] == pytest.approx(245, abs=20)


def test_half_cheetah_runs_in_its_new_version() -> None:
    """Published for v3: 9,535; today's MuJoCo makes about 9,430 of it."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    result = played(shared_data("rl-trained-agents/sac_HalfCheetah-v3.zip"), "HalfCheetah-v5", 2)

    assert result.statistics["return_mean"] == pytest.approx(9430, abs=300)


def test_a_zip_becomes_a_policy_file_that_needs_neither_zip_nor_statistics(tmp_path: Path) -> None:
    import gymnasium as gym

    from mimetic.storage import save_policy

    env = gym.make("Acrobot-v1")
    statistics = shared_data("rl-trained-agents/ppo_Acrobot-v1_vecnormalize.pkl")
    spec = f"sb3:path={shared_data('rl-trained-agents/ppo_Acrobot-v1.zip')},vecnormalize={statistics}"
    save_policy(opened(spec, env.observation_space, env.action_space), tmp_path / "acrobot.safetensors")

    assert load_policy(tmp_path / "acrobot.safetensors").kind == "actor-critic"
    again, before = (played(policy, "Acrobot-v1", 2) for policy in (tmp_path / "acrobot.safetensors", spec))
    assert again.episodes == before.episodes


def test_the_command_takes_the_bare_path(capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_data("rl-trained-agents/dqn_CartPole-v1.zip")

    assert main(["eval", str(path), "--env", "CartPole-v1", "--episodes", "1"]) == 0
    assert "500.00" in capsys.readouterr().out


def test_the_command_says_which_environment_a_zip_is_not_for(capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_data("rl-trained-agents/dqn_CartPole-v1.zip")

    assert main(["eval", str(path), "--env", "Acrobot-v1", "--episodes", "1"]) == 2
    assert "made for the observation space Box(shape=(4,), dtype=float32), not for Box" in capsys.readouterr().err
