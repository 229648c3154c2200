"""One environment: built with the user's arguments alone, wrapped in order, refused by name when it cannot work."""

import re
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import worlds
from evaluation_parts import Demanding, OldReset, OldStep, env_id, parts
from mimetic.config import EnvConfig
from mimetic.envs import FlatKeys, OwnReward, make_env, spaces_of, wrappers_of
from mimetic.errors import ConfigError, EnvError, MissingDependencyError, SpaceError
from mimetic.plugins import using


@pytest.fixture(autouse=True)
def _parts() -> Iterator[None]:
    with using(parts()):
        yield


def test_the_constructor_gets_the_users_arguments_and_nothing_else() -> None:
    Demanding.calls.clear()

    make_env(EnvConfig(id=env_id("Demanding"), kwargs={"needed": [1, {"a": 2}]})).close()

    assert Demanding.calls == [{"needed": [1, {"a": 2}], "render_mode": None}]


def test_render_mode_is_the_only_argument_that_is_added() -> None:
    """The reference replaced the user's arguments by a render mode."""
    Demanding.calls.clear()

    make_env(EnvConfig(id=env_id("Demanding"), kwargs={"needed": 1}), render_mode="rgb_array").close()

    assert Demanding.calls == [{"needed": 1, "render_mode": "rgb_array"}]


def test_asking_for_the_spaces_builds_the_environment_once_with_its_arguments() -> None:
    Demanding.calls.clear()

    observation_space, action_space = spaces_of(EnvConfig(id=env_id("Demanding"), kwargs={"needed": 1}))

    assert (observation_space.shape, action_space) == ((1,), gym.spaces.Discrete(2))
    assert len(Demanding.calls) == 1


def test_an_environment_without_a_fitting_render_mode_is_refused_with_those_it_has() -> None:
    with pytest.raises(EnvError, match=r"Blind-v0' cannot be rendered as 'rgb_array'.*its render_modes: \['ansi'\]"):
        make_env(EnvConfig(id=env_id("Blind")), render_mode="rgb_array")


def test_a_render_mode_of_the_users_own_is_not_overruled() -> None:
    env = EnvConfig(id="mimetic-tests/Len-v0", kwargs={"render_mode": "human"})

    with pytest.raises(ConfigError, match=r"env.kwargs.render_mode is 'human', but videos and rendering need"):
        make_env(env, render_mode="rgb_array")


def test_max_episode_steps_truncates() -> None:
    env = make_env(EnvConfig(id="mimetic-tests/Len-v0", kwargs={"n": 100}, max_episode_steps=2))
    env.reset(seed=0)

    assert env.step(0)[2:4] == (False, False)
    assert env.step(0)[2:4] == (False, True)


def test_the_first_wrapper_is_the_innermost() -> None:
    env = make_env(
        EnvConfig.model_validate(
            {"id": "mimetic-tests/Len-v0", "wrappers": [{"name": "scale", "factor": 2}, {"name": "scale", "factor": 5}]}
        )
    )

    assert [each.factor for each in wrappers_of(env) if hasattr(each, "factor")][:2] == [5.0, 2.0]


def test_the_environments_own_reward_is_summed_inside_of_all_wrappers() -> None:
    env = make_env(EnvConfig.model_validate({"id": "mimetic-tests/Len-v0", "wrappers": ["scale"]}))
    env.reset(seed=0)

    rewards = [env.step(0)[1] for _ in range(3)]

    assert rewards == pytest.approx([0.1, 0.1, 0.1])
    assert own_reward_of(env).total == 3.0


def test_the_own_sum_begins_anew_with_a_reset() -> None:
    env = make_env(EnvConfig(id="mimetic-tests/Len-v0"))
    env.reset(seed=0)
    env.step(0)
    env.reset()

    assert own_reward_of(env).total == 0.0


def test_nested_observations_come_under_dotted_keys() -> None:
    env = make_env(EnvConfig(id=env_id("Nested")))
    obs, _ = env.reset(seed=0)

    assert isinstance(env, FlatKeys)
    assert isinstance(env.observation_space, gym.spaces.Dict)
    assert set(env.observation_space.spaces) == {"arm.angle", "arm.a%2Eb", "eye"} == set(obs)
    assert env.observation_space.contains(obs)


def test_the_spaces_that_policies_are_made_for_nest_as_demonstrations_do() -> None:
    observation_space, _ = spaces_of(EnvConfig(id=env_id("Nested")))

    assert isinstance(observation_space, gym.spaces.Dict)
    assert isinstance(observation_space["arm"], gym.spaces.Dict)


def test_observations_of_one_level_stay_as_they_are() -> None:
    env = make_env(EnvConfig(id="mimetic-tests/DictObs-v0", kwargs={"k": 3}))

    assert not isinstance(env, FlatKeys)


def test_tuple_observations_are_refused_by_name() -> None:
    with pytest.raises(SpaceError, match="Tuple"):
        make_env(EnvConfig(id=env_id("Pair")))


def test_an_id_that_nobody_registered_is_an_error_of_the_environment() -> None:
    with pytest.raises(EnvError, match=r"environment 'NoSuchThing-v0': "):
        make_env(EnvConfig(id="NoSuchThing-v0"))


def test_a_module_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingDependencyError, match=r"No module named 'nobody_has_this'"):
        make_env(EnvConfig(id="nobody_has_this:Env-v0"))


def test_arguments_that_the_constructor_does_not_take_are_shown() -> None:
    with pytest.raises(EnvError, match=r"Len-v0' cannot be built with \{'speed': 3\}: TypeError: .*'speed'"):
        make_env(EnvConfig(id="mimetic-tests/Len-v0", kwargs={"speed": 3}))


def test_a_class_that_is_no_gymnasium_environment_is_refused_in_one_sentence() -> None:
    message = refused(EnvConfig(id=env_id("NoEnv")))

    assert re.fullmatch(
        r"environment '.*NoEnv-v0' was written for the old `gym` \(its class is no gymnasium.Env\), and only gymnasium "
        r"environments are supported",
        message,
    )


def test_a_module_that_imports_the_old_gym_is_refused_in_one_sentence(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "robots_of_old.py").write_text("import gym\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "gym", None)

    with pytest.raises((EnvError, MissingDependencyError), match="old `gym`"):
        make_env(EnvConfig(id="robots_of_old:Robot-v0"))


def test_the_reset_of_the_old_gym_is_recognised() -> None:
    with pytest.raises(EnvError, match=r"OldReset has the interface of the old `gym` \(its reset takes no seed\)"):
        OwnReward(OldReset()).reset(seed=0)


def test_the_step_of_the_old_gym_is_recognised_through_gymnasiums_own_wrappers() -> None:
    env = make_env(EnvConfig(id=env_id("OldStep"), max_episode_steps=5))
    env.reset(seed=0)

    with pytest.raises(EnvError, match=r"OldStep has the interface of the old `gym` \(its step gives four values\)"):
        env.step(0)


def test_an_error_of_the_environment_itself_is_not_taken_for_an_old_interface() -> None:
    class Broken(OldStep):
        def step(self, action: Any) -> Any:
            raise ValueError("the arm is stuck")

    env = OwnReward(Broken())
    env.reset(seed=0)

    with pytest.raises(ValueError, match="the arm is stuck"):
        env.step(0)


def test_recorded_observations_are_copies_in_the_dtypes_of_the_space() -> None:
    class Reusing(worlds.Len):
        def __init__(self) -> None:
            super().__init__(2)
            self.buffer = np.zeros(1, np.float64)

        def _obs(self) -> np.ndarray:
            self.buffer[:] = self.t
            return self.buffer

    env = OwnReward(Reusing(), record=True)
    env.reset(seed=0)
    env.step(0)
    env.step(1)
    raw = env.take()

    assert raw is not None
    (trajectory,) = raw.trajectories
    assert isinstance(trajectory.obs, np.ndarray)
    assert trajectory.obs.dtype == np.float32
    assert trajectory.obs[:, 0].tolist() == [0, 1, 2]
    assert trajectory.acts.tolist() == [0, 1]


def own_reward_of(env: gym.Env[Any, Any]) -> OwnReward:
    return next(each for each in wrappers_of(env) if isinstance(each, OwnReward))


def refused(env: EnvConfig) -> str:
    with pytest.raises(EnvError) as caught:
        make_env(env)
    return str(caught.value)
