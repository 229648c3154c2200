"""What makes an evaluation fast leaves its numbers alone: they are those of a loop that anybody would write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.errors import ConfigError, EnvError
from mimetic.evaluate import collect, eval_policy, evaluate, evaluate_venv
from mimetic.policies import Actor, MimeticPolicy, as_actor
from mimetic.storage import load_demonstrations
from worlds import Len

CARTPOLE, PENDULUM = "CartPole-v1", "Pendulum-v1"


def sb3(env: gym.Env[Any, Any]) -> Any:
    return ActorCriticPolicy(env.observation_space, env.action_space, lambda _: 0.0, net_arch=[8, 8])


def ours(env: gym.Env[Any, Any]) -> Any:
    return MimeticPolicy(env.observation_space, env.action_space, net_arch=[8, 8])


def by_hand(env: gym.Env[Any, Any], act: Callable[[Any], Any], seed: int) -> tuple[list[Any], list[Any], list[float]]:
    """Play an episode."""
    obs, _ = env.reset(seed=seed)
    seen, acts, rews = [obs], [], []
    over = False
    while not over:
        acts.append(act(obs))
        obs, reward, terminated, truncated, _ = env.step(acts[-1])
        seen.append(obs)
        rews.append(float(reward))
        over = terminated or truncated
    return seen, acts, rews


def alone(actor: Actor) -> Callable[[Any], Any]:
    """Act for one environment."""
    return lambda obs: actor(obs[None], None, np.zeros(1, bool))[0][0]


@pytest.mark.parametrize("n_envs", [1, 3])
@pytest.mark.parametrize("env_id", [CARTPOLE, PENDULUM])
def test_episodes_are_those_that_predict_plays_one_by_one(env_id: str, n_envs: int, tmp_path: Path) -> None:
    """Bit for bit, with SB3's own policy and its own ``predict``."""
    env = gym.make(env_id)
    torch.manual_seed(0)
    policy = sb3(env)
    settings = EvaluationConfig(n_episodes=4, n_envs=n_envs, save_rollouts=tmp_path / "a.safetensors")

    result = evaluate(policy, EnvConfig(id=env_id), settings, seed=3)

    for record, trajectory in zip(result.episodes, load_demonstrations(tmp_path / "a.safetensors"), strict=True):
        assert record.seed is not None
        seen, acts, rews = by_hand(env, lambda obs: policy.predict(obs, deterministic=True)[0], record.seed)
        assert np.array_equal(np.asarray(trajectory.obs), np.stack(seen))
        assert np.array_equal(trajectory.acts, np.stack(acts))
        assert trajectory.rews is not None
        assert trajectory.rews.tolist() == rews
        assert (record.episode_return, record.length) == (sum(rews), len(acts))


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("make", [sb3, ours])
@pytest.mark.parametrize("env_id", [CARTPOLE, PENDULUM])
def test_collected_episodes_are_those_of_one_environment_alone(
    env_id: str, make: Any, deterministic: bool, tmp_path: Path
) -> None:
    """Drawn actions, too: they come from the episode's own stream."""
    env = gym.make(env_id)
    torch.manual_seed(0)
    policy = make(env)

    collected = collect(
        policy, env_id, tmp_path / "a", n_episodes=3, seed=3, n_envs=3, deterministic=deterministic
    ).load()

    records = evaluate(policy, EnvConfig(id=env_id), EvaluationConfig(n_episodes=3), seed=3).episodes
    for record, trajectory in zip(records, collected, strict=True):
        assert record.seed is not None
        actor = as_actor(
            policy,
            observation_space=env.observation_space,
            action_space=env.action_space,
            n_envs=1,
            deterministic=deterministic,
            exact=True,
        )
        actor.begin_episode(0, record.seed)
        seen, acts, _ = by_hand(env, alone(actor), record.seed)
        assert np.array_equal(np.asarray(trajectory.obs), np.stack(seen))
        assert np.array_equal(trajectory.acts, np.stack(acts))


# --- gymnasium's vector environments ----------------------------------------------------------------------------


def vector_of(mode: AutoresetMode, *lengths: int | None) -> SyncVectorEnv:
    return SyncVectorEnv([lambda n=n: Len(n) for n in lengths], autoreset_mode=mode)  # type: ignore[misc]  # a default binds it


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_gymnasium_s_vector_environments_of_a_caller_are_evaluated(mode: AutoresetMode) -> None:
    """Of Len(2) and Len(4) the row of episodes 0, 1, 2, ... counts, whichever is faster."""
    venv = vector_of(mode, 2, 4)

    result = eval_policy(None, venv, None, 5, rng=np.random.default_rng(0))

    assert [episode["length"] for episode in result["episodes"]] == [2, 4, 2, 4, 2]
    assert [episode["env_return"] for episode in result["episodes"]] == [2.0, 4.0, 2.0, 4.0, 2.0]
    assert all(episode["seed"] is None and episode["terminated"] for episode in result["episodes"])
    venv.reset()  # it is still open


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_caller_s_vector_environment_that_never_ends_counts_once(mode: AutoresetMode, tmp_path: Path) -> None:
    """Len(3) beside one without an end: episode 1 is cut, and episode 3 could never begin."""
    env = vector_of(mode, 3, None)
    once, twice = (
        EvaluationConfig(n_episodes=n, max_steps=10, save_rollouts=tmp_path / f"{n}.safetensors") for n in (3, 4)
    )

    with pytest.warns(UserWarning, match=r"1 of 3 episodes made 10 steps without an end \(the first is episode 1\)"):
        result = evaluate_venv(None, env, once, seed=0)
    with pytest.raises(EnvError, match=r"environment 1 made 10 steps without an end.*episode 3 can never begin"):
        evaluate_venv(None, env, twice, seed=0)

    assert [(each.length, each.terminated, each.truncated) for each in result.episodes] == [
        (3, True, False),
        (10, False, True),
        (3, True, False),
    ]
    kept = load_demonstrations(tmp_path / "3.safetensors")
    assert np.asarray(kept[1].obs).ravel().tolist() == list(range(11))
    assert len(load_demonstrations(tmp_path / "4.safetensors")) == 3


def test_rollouts_of_a_caller_s_vector_environment_are_saved(tmp_path: Path) -> None:
    venv = vector_of(AutoresetMode.SAME_STEP, 2, 4)
    path = tmp_path / "a.safetensors"

    eval_policy(None, venv, None, 3, rng=np.random.default_rng(0), rollout_save_path=path)

    assert [np.asarray(each.obs).ravel().tolist() for each in load_demonstrations(path)] == [
        [0, 1, 2],
        [0, 1, 2, 3, 4],
        [0, 1, 2],
    ]


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"render": True}, "render: are put around stable-baselines3's kind"),
        ({"reward_type": "zero"}, "reward: are put around stable-baselines3's kind"),
        ({"videos": True}, "videos: these environments are built already"),
    ],
)
def test_what_cannot_go_around_a_caller_s_vector_environment_is_refused(asked: Any, refused: str) -> None:
    with pytest.raises(ConfigError, match=refused):
        eval_policy(None, vector_of(AutoresetMode.SAME_STEP, 2), None, 1, rng=np.random.default_rng(0), **asked)
