"""Gaussian noise on continuous actions."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from mimetic.errors import ConfigError, SpaceError
from mimetic.hookspecs import WrapperContext
from mimetic.plugins import registry
from mimetic.policies import Actor
from mimetic_explore import GaussianActor

WIDE = spaces.Box(-100, 100, (2,), np.float32)


class Still(Actor):
    """Does nothing, in every environment."""

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        return np.zeros((len(episode_start), 2), np.float32), state


def actions(actor: Actor, n_envs: int, n_steps: int) -> np.ndarray:
    return np.stack([actor(np.zeros((n_envs, 1)), None, np.full(n_envs, step == 0))[0] for step in range(n_steps)])


def test_the_noise_has_the_stated_standard_deviation_and_none_is_shared() -> None:
    acts = actions(GaussianActor(Still(), WIDE, sigma=0.5), 3, 2000)

    assert acts.std() == pytest.approx(0.5, rel=0.03)
    entries = np.corrcoef(acts.reshape(2000, 6).T) - np.eye(6)
    assert np.abs(entries).max() < 0.1


def test_actions_stay_in_the_space() -> None:
    space = spaces.Box(np.array([-0.1, 0.0], np.float32), np.array([0.1, 0.0], np.float32))

    acts = actions(GaussianActor(Still(), space, sigma=3.0), 2, 200)

    assert acts.dtype == np.float32
    assert all(space.contains(act) for act in acts.reshape(-1, 2))
    assert acts[..., 0].max() == np.float32(0.1)


def test_an_action_that_the_noise_does_not_change_is_not_explored() -> None:
    fixed = spaces.Box(0, 0, (2,), np.float32)
    for space, expected in ((WIDE, True), (fixed, False)):
        actor = GaussianActor(Still(), space, sigma=1.0)
        actions(actor, 2, 1)
        assert actor.last_infos["explored"].tolist() == [expected, expected]


def test_the_noise_of_an_episode_depends_on_its_seed_alone() -> None:
    def episode(n_envs: int) -> np.ndarray:
        actor = GaussianActor(Still(), WIDE, sigma=1.0)
        for env_index in range(n_envs):
            actor.begin_episode(env_index, 40 + env_index)
        return actions(actor, n_envs, 10)

    assert np.array_equal(episode(3)[:, 0], episode(1)[:, 0])
    assert not np.array_equal(episode(3)[:, 0], episode(3)[:, 1])


@pytest.mark.parametrize("space", [spaces.Discrete(3), spaces.Box(0, 9, (2,), np.int64), spaces.MultiDiscrete([2, 3])])
def test_actions_that_are_not_continuous_are_refused(space: spaces.Space[Any]) -> None:
    with pytest.raises(SpaceError, match="gaussian: noise needs continuous actions, a Box of floats"):
        GaussianActor(Still(), space, sigma=1.0)


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf")])
def test_a_sigma_that_is_no_deviation_is_refused(sigma: float) -> None:
    with pytest.raises(ConfigError, match="sigma is"):
        GaussianActor(Still(), WIDE, sigma=sigma)


def test_the_component_is_built_by_name_with_its_sigma() -> None:
    context = WrapperContext(wrapped=Still(), env_index=0, seed=0, observation_space=WIDE, action_space=WIDE, n_envs=1)

    actor = registry().build("wrapper", "gaussian", {"sigma": 0.25}, context)

    assert isinstance(actor, GaussianActor)
    assert actor.sigma == 0.25
    with pytest.raises(ConfigError, match="sigma"):
        registry().make_config("wrapper", "gaussian", {})
