"""The policies of this plugin, trained by behavioural cloning and evaluated, once for each kind of space."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.evaluate import eval_policy
from mimetic.logs import HierarchicalLogger
from mimetic.storage import load_policy, save_policy
from mimetic.types import TransitionsMinimal
from mimetic_bc import BC
from some_spaces import ACTION_SPACES, OBSERVATION_SPACES, VECTOR, WORLD, Space, samples


def trained(policy: Any, observation_space: Space, action_space: Space, n: int = 20) -> BC:
    demonstrations = TransitionsMinimal(samples(observation_space, n), samples(action_space, n, seed=1))
    algorithm = BC(
        observation_space=observation_space,
        action_space=action_space,
        rng=np.random.default_rng(0),
        policy=policy,
        demonstrations=demonstrations,
        batch_size=10,
        device="cpu",
        custom_logger=HierarchicalLogger([]),
    )
    algorithm.train(n_epochs=1, progress_bar=False)
    return algorithm


def evaluated(policy: Any, observation_space: Space, action_space: Space, n_envs: int = 1) -> dict[str, Any]:
    return eval_policy(
        policy,
        WORLD,
        eval_n_episodes=2,
        rng=np.random.default_rng(0),
        n_envs=n_envs,
        env_kwargs={"observation_space": observation_space, "action_space": action_space},
    )


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ("cnn:features_dim=16", (64, 48, 3)),
        ("cnn:features_dim=16", (3, 64, 48)),
        ("cnn:features_dim=16", (36, 36, 3)),
        ("cnn:features_dim=16,layout=chw", (3, 64, 3)),
    ],
)
def test_images_of_either_layout_train_predict_and_evaluate(spec: str, shape: tuple[int, ...]) -> None:
    """BC-2: 20 transitions, one epoch, one raw frame, whole episodes."""
    space, acts = spaces.Box(0, 255, shape, np.uint8), spaces.Discrete(2)

    policy = trained(spec, space, acts).policy

    assert policy.predict(samples(space, 1)[0])[0] in (0, 1)
    assert evaluated(policy, space, acts)["return_mean"] == 5.0


@pytest.mark.parametrize("name", ACTION_SPACES)
def test_every_action_space_trains_and_is_evaluated(name: str) -> None:
    policy = trained("mlp", VECTOR, ACTION_SPACES[name]).policy

    assert evaluated(policy, VECTOR, ACTION_SPACES[name])["len_mean"] == 5


@pytest.mark.parametrize("spec", ["mlp", "multi-input:features_dim=8"])
@pytest.mark.parametrize("name", OBSERVATION_SPACES)
def test_every_observation_space_trains_and_is_evaluated(name: str, spec: str) -> None:
    space, acts = OBSERVATION_SPACES[name], spaces.Discrete(3)

    policy = trained(spec, space, acts).policy

    assert evaluated(policy, space, acts, n_envs=2)["len_mean"] == 5


@pytest.mark.parametrize("n_envs", [1, 2, 5])
@pytest.mark.parametrize("n_keys", [1, 2, 3])
def test_dict_observations_of_any_number_of_keys_and_environments(n_keys: int, n_envs: int) -> None:
    """D-3: the random policy, and one that was trained."""
    space = spaces.Dict({f"key{i}": spaces.Box(-1, 1, (2,), np.float32) for i in range(n_keys)})
    acts = spaces.Discrete(3)

    for policy in (None, trained(None, space, acts).policy):
        assert evaluated(policy, space, acts, n_envs)["n_traj"] == 2


@pytest.mark.parametrize("noise", [{}, {"use_sde": True, "squash_output": True}])
def test_a_policy_of_sb3_s_own_is_trained_saved_and_loaded(noise: dict[str, Any], tmp_path: Path) -> None:
    """BC-5, BC-6: also one whose entropy has no closed form."""
    space = spaces.Box(-2.0, 2.0, (1,), np.float32)
    policy = trained(ActorCriticPolicy(VECTOR, space, lambda _: 1e-3, **noise), VECTOR, space).policy
    obs = samples(VECTOR, 20)

    save_policy(policy, tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy", device="cpu")

    assert all(torch.equal(value, loaded.state_dict()[name]) for name, value in policy.state_dict().items())
    assert np.array_equal(loaded.predict(obs, deterministic=True)[0], policy.predict(obs, deterministic=True)[0])


@pytest.mark.parametrize("spec", ["mlp:squash_output=true", "mlp:squash_output=true,use_sde=true"])
def test_a_squashed_policy_learns_the_environment_s_own_actions(spec: str) -> None:
    """BUG-18, BC-9: demonstrations of 18 and of the bound, 20, in a Box from 10 to 20."""
    space = spaces.Box(10.0, 20.0, (1,), np.float32)
    obs = np.repeat(np.eye(4, dtype=np.float32)[:2], 200, axis=0)
    acts = np.repeat(np.array([[18.0], [20.0]], np.float32), 200, axis=0)
    algorithm = BC(
        observation_space=VECTOR,
        action_space=space,
        rng=np.random.default_rng(0),
        policy=spec,
        demonstrations=TransitionsMinimal(obs, acts),
        optimizer_kwargs={"lr": 1e-2},
        device="cpu",
        custom_logger=HierarchicalLogger([]),
    )

    algorithm.train(n_epochs=15, progress_bar=False)

    acts, _ = algorithm.policy.predict(np.eye(4, dtype=np.float32)[:2], deterministic=True)
    assert acts[:, 0].tolist() == pytest.approx([18.0, 20.0], abs=0.5)
    assert acts.max() <= 20.0
