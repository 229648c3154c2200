"""``eval_policy``: the reference library's name and arguments, with an exact evaluation behind them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from evaluation_parts import Demanding, Shown, Tape, env_id, parts
from mimetic.errors import ConfigError, TargetExistsError
from mimetic.evaluate import eval_policy
from mimetic.plugins import using
from mimetic.storage import load_demonstrations
from worlds import Len

LEN = "worlds:mimetic-tests/Len-v0"


@pytest.fixture(autouse=True)
def _parts() -> Iterator[None]:
    Tape.tapes.clear()
    Shown.windows.clear()
    with using(parts()):
        yield


def test_timesteps_and_episodes_stand_in_the_references_order() -> None:
    by_steps = eval_policy(None, LEN, 13, rng=rng())
    by_episodes = eval_policy(None, LEN, None, 4, rng=rng())
    by_both = eval_policy(None, LEN, 13, 4, rng=rng())

    assert [result["n_traj"] for result in (by_steps, by_episodes, by_both)] == [3, 4, 4]


def test_neither_is_refused() -> None:
    with pytest.raises(ValueError, match="give eval_n_timesteps, eval_n_episodes or both"):
        eval_policy(None, LEN, rng=rng())


def test_equal_generators_give_equal_results() -> None:
    first, again, other = (eval_policy(None, env_id("Paid"), None, 3, rng=rng(seed)) for seed in (0, 0, 1))

    assert first == again != other


def test_arguments_of_the_environment_reach_it_as_they_are() -> None:
    """BUG-03: the reference replaced them by a render mode."""
    Demanding.calls.clear()
    thing = object()

    eval_policy(None, env_id("Demanding"), None, 1, render=True, env_kwargs={"needed": thing}, rng=rng())

    assert all(call["needed"] is thing and call["render_mode"] == "rgb_array" for call in Demanding.calls)


def test_it_is_deterministic_unless_told_otherwise() -> None:
    """The reference drew actions. A policy that prefers 1 slightly takes it always."""
    import torch
    from stable_baselines3.common.policies import ActorCriticPolicy

    policy = ActorCriticPolicy(Len().observation_space, Len().action_space, lambda _: 0.0, net_arch=[])
    with torch.no_grad():
        for name, parameter in policy.action_net.named_parameters():
            parameter.copy_(torch.tensor([0.0, 0.1]) if name == "bias" else torch.zeros(2, 1))
    venv = DummyVecEnv([lambda: Recording(20)])

    eval_policy(policy, venv, None, 1, rng=rng())
    sure = set(Recording.acts)
    eval_policy(policy, venv, None, 1, rng=rng(), deterministic=False)

    assert (sure, set(Recording.acts)) == ({1}, {0, 1})


def test_reward_components_are_named_by_type_and_path() -> None:
    result = eval_policy(None, LEN, None, 1, reward_type="step", env_kwargs={"n": 3}, rng=rng())

    assert (result["return_mean"], result["env_return_mean"]) == (106.0, 3.0)
    with pytest.raises(ConfigError, match="reward_path says nothing without reward_type"):
        eval_policy(None, LEN, None, 1, reward_path="x", rng=rng())
    with pytest.raises(ConfigError, match=r"reward.*path"):
        eval_policy(None, LEN, None, 1, reward_type="step", reward_path="x", rng=rng())


def test_exploration_is_named_by_its_settings(tmp_path: Path) -> None:
    eval_policy("ones", LEN, None, 1, explore_kwargs={}, rollout_save_path=tmp_path / "a.safetensors", rng=rng())

    assert load_demonstrations(tmp_path / "a.safetensors").acts.tolist() == [1, 0, 1, 0, 1]


def test_wrong_settings_of_exploration_are_refused_before_anything_is_built() -> None:
    """X-3."""
    Demanding.calls.clear()

    with pytest.raises(ConfigError, match=r"explore.probability: unknown key"):
        eval_policy(None, env_id("Demanding"), None, 1, explore_kwargs={"probability": 1}, rng=rng())

    assert Demanding.calls == []


@pytest.mark.parametrize(("kwargs", "mode"), [(None, "one"), ({"single_video": False}, "episodes")])
def test_videos_are_one_file_for_each_environment_unless_told_otherwise(kwargs: Any, mode: str, tmp_path: Path) -> None:
    result = eval_policy(None, LEN, None, 1, videos=True, video_kwargs=kwargs, log_dir=tmp_path / "log", rng=rng())

    assert Tape.tapes[0].mode == mode
    assert result["episodes"][0]["video"] == "videos/0.mp4"


def test_a_log_dir_gets_the_same_object_and_is_not_written_over(tmp_path: Path) -> None:
    result = eval_policy(None, LEN, None, 2, log_dir=tmp_path / "log", rng=rng())

    assert json.loads((tmp_path / "log" / "evaluation.json").read_text()) == result
    with pytest.raises(TargetExistsError, match=r"evaluation.json exists already"):
        eval_policy(None, LEN, None, 2, log_dir=tmp_path / "log", rng=rng())


def test_nothing_is_written_without_a_log_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    eval_policy(None, LEN, None, 2, rng=rng())

    assert list(tmp_path.iterdir()) == []


def test_rollouts_may_go_into_the_log_dir(tmp_path: Path) -> None:
    eval_policy(None, LEN, None, 2, log_dir=tmp_path, rollout_save_path="{log_dir}/r.safetensors", rng=rng())

    assert len(load_demonstrations(tmp_path / "r.safetensors")) == 2
    with pytest.raises(ConfigError, match="log_dir is not given"):
        eval_policy(None, LEN, None, 2, rollout_save_path="{log_dir}/r.safetensors", rng=rng())


def test_a_callers_environments_are_used_as_they_are_and_have_no_seeds() -> None:
    venv = DummyVecEnv([lambda: Len(2), lambda: Len(100)])

    result = eval_policy(None, venv, None, 4, rng=rng())

    assert (result["n_traj"], result["return_mean"]) == (4, 51.0)
    assert [episode["seed"] for episode in result["episodes"]] == [None] * 4
    with pytest.raises(ConfigError, match="env_kwargs and n_envs"):
        eval_policy(None, venv, None, 4, env_kwargs={"n": 3}, rng=rng())


def test_rendering_shows_a_window_at_the_rate_that_was_asked() -> None:
    eval_policy(None, LEN, None, 1, render=True, render_fps=7, rng=rng())

    assert [(window.fps, window.n_renders) for window in Shown.windows] == [(7.0, 6)]


class Recording(Len):
    """``Len`` that keeps the actions of its last episode."""

    acts: list[int] = []  # noqa: RUF012 - shared on purpose

    def reset(self, **kwargs: Any) -> Any:
        if self.t != self.n:
            Recording.acts.clear()
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        Recording.acts.append(int(action))
        return super().step(action)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)
