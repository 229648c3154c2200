"""The policies `random`, `zero` and `function`, the wrapper `gymnasium` and the rewards."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from mimetic.config import parse_choice
from mimetic.errors import ComponentFailedError, ConfigError, SpaceError
from mimetic.hookspecs import RewardContext, WrapperContext
from mimetic.plugins import registry
from some_spaces import ACTION_SPACES, THREE, VECTOR, context, made, samples
from worlds import Cont, DictObs, Len


def starts(n: int) -> np.ndarray:
    return np.zeros(n, bool)


@pytest.fixture
def experts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with functions, in the working folder."""
    (tmp_path / "experts.py").write_text(
        "import numpy as np\n"
        "calls = []\n"
        "def right(obs): calls.append(obs); return 1\n"
        "def push(obs): return [0.5 * obs[0]]\n"
        "def wild(obs): return 9\n"
        "def by_key(obs): return int(obs['key0'][0] > 0)\n"
        "def batch(obs, state, episode_start):\n"
        "    state = 0 if state is None else state + 1\n"
        "    return np.full(len(episode_start), state % 3), state\n"
        "def odd(obs, more): return 0\n"
        "def reward(obs, acts, next_obs, dones): return acts * 2.0\n"
        "def scalar(obs, acts, next_obs, dones): return 1.0\n"
        "a_number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- random and zero --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_envs", [1, 2, 5])
@pytest.mark.parametrize("n_keys", [1, 2, 3])
def test_random_draws_one_action_for_each_environment(n_keys: int, n_envs: int) -> None:
    """D-3, BUG-06."""
    env = DictObs(n_keys)
    policy = made("random", env.observation_space, env.action_space)

    assert policy(samples(env.observation_space, n_envs), None, starts(n_envs))[0].shape == (n_envs,)


def test_random_is_reproducible_from_the_episode_s_seed() -> None:
    first, again = made("random", seed=1), made("random", seed=2)
    for policy in (first, again):
        policy.begin_episode(0, seed=7)

    drawn = [[policy(np.zeros((1, 4)), None, starts(1))[0].item() for _ in range(20)] for policy in (first, again)]

    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 3


WITH_ZERO = [name for name, space in ACTION_SPACES.items() if space.contains(np.zeros(space.shape or (), space.dtype))]


@pytest.mark.parametrize("name", WITH_ZERO)
def test_zero_is_always_zero_and_a_member(name: str) -> None:
    space = ACTION_SPACES[name]

    acts, _ = made("zero", VECTOR, space)(np.zeros((3, 4)), None, starts(3))

    assert acts.shape == (3, *(space.shape or ()))
    assert not acts.any()
    assert acts.dtype == space.dtype


@pytest.mark.parametrize("space", [spaces.Discrete(3, start=1), spaces.Box(1, 2, (2,))])
def test_zero_is_refused_where_it_is_no_action(space: Any) -> None:
    with pytest.raises(SpaceError, match="zero is no action of"):
        made("zero", VECTOR, space)


def test_policies_without_weights_are_not_offered_for_training() -> None:
    trainable = {c.name for c in registry().components("policy") if c.entry.trainable}  # type: ignore[union-attr]  # PolicyEntry

    assert trainable >= {"mlp", "cnn", "multi-input", "actor-critic", "file"}
    assert not trainable & {"random", "zero", "function"}


# --- function ---------------------------------------------------------------------------------------------------


def test_a_plain_function_is_asked_once_for_each_environment(experts: Path) -> None:
    policy = made("function:path=experts.py:right")

    acts, _ = policy(samples(VECTOR, 3), None, starts(3))

    assert acts.tolist() == [1, 1, 1]
    assert policy.seeded


def test_a_function_s_actions_are_clipped_into_a_box(experts: Path) -> None:
    policy = made("function:path=experts.py:push", VECTOR, Cont().action_space)

    acts, _ = policy(np.array([[1.0, 0, 0, 0], [9.0, 0, 0, 0]], np.float32), None, starts(2))

    assert acts.tolist() == [[0.5], [1.0]]
    assert acts.dtype == np.float32


def test_a_function_sees_one_dict_observation(experts: Path) -> None:
    env = DictObs(2)
    policy = made("function:path=experts.py:by_key", env.observation_space, env.action_space)

    acts, _ = policy({"key0": np.array([[-1.0, 0], [1.0, 0]]), "key1": np.zeros((2, 2))}, None, starts(2))

    assert acts.tolist() == [0, 1]


def test_a_function_of_three_arguments_gets_all_environments_and_a_state(experts: Path) -> None:
    policy = made("function:path=experts.py:batch")

    first, state = policy(samples(VECTOR, 2), None, starts(2))
    second, _ = policy(samples(VECTOR, 2), state, starts(2))

    assert (first.tolist(), second.tolist()) == ([0, 0], [1, 1])


def test_how_a_function_is_called_can_be_said(experts: Path) -> None:
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        made("function:path=experts.py:right,call=batch")(samples(VECTOR, 2), None, starts(2))


def test_a_function_that_draws_can_say_so(experts: Path) -> None:
    assert not made("function:path=experts.py:right,stochastic=true").seeded


def test_a_function_of_an_installed_module_is_found() -> None:
    policy = made("function:path=builtins:len,call=single", VECTOR, spaces.Discrete(9))

    assert policy(samples(VECTOR, 2), None, starts(2))[0].tolist() == [4, 4]


def test_an_action_that_does_not_exist_is_refused(experts: Path) -> None:
    with pytest.raises(SpaceError, match=r"\[9\], is not in Discrete\(3\)"):
        made("function:path=experts.py:wild")(samples(VECTOR, 2), None, starts(2))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nowhere.py:act", r"there is no file .*nowhere.py"),
        ("experts.py:left", r"experts.py has no 'left'"),
        ("experts.py:a_number", "is a int; expected a function"),
        ("experts.py:odd", "takes 2 arguments; expected one"),
        ("no_such_module:act", "there is no module 'no_such_module'"),
        ("experts.py", "expected module:name or file.py:name"),
    ],
)
def test_what_names_no_function_is_refused(path: str, told: str, experts: Path) -> None:
    with pytest.raises(ConfigError, match=told):
        made(f"function:path={path}")


def test_a_file_s_path_starts_from_the_run_file_s_folder(experts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    config = registry().make_config("policy", "function", {"path": "experts.py:right"}, base_dir=experts)

    assert config.model_dump(mode="json")["path"] == f"{experts / 'experts.py'}:right"
    assert registry().build("policy", "function", config, context()) is not None


def test_what_a_file_raises_names_the_component(experts: Path) -> None:
    (experts / "broken.py").write_text("1 / 0\n")

    with pytest.raises(ComponentFailedError, match=r"'function'.*ZeroDivisionError"):
        made("function:path=broken.py:act")


# --- gymnasium --------------------------------------------------------------------------------------------------


def wrap(options: dict[str, Any], env: Any = None) -> Any:
    env = gym.make("CartPole-v1") if env is None else env
    where = WrapperContext(
        wrapped=env,
        env_index=0,
        seed=0,
        observation_space=env.observation_space,
        action_space=env.action_space,
        n_envs=1,
    )
    return registry().build("wrapper", "gymnasium", options, where)


def test_any_gymnasium_wrapper_is_built_by_name_and_arguments() -> None:
    env = wrap({"class": "FrameStackObservation", "kwargs": {"stack_size": 4}})

    assert isinstance(env, gym.wrappers.FrameStackObservation)
    assert env.observation_space.shape == (4, 4)
    assert env.reset(seed=0)[0].shape == (4, 4)


def test_somebody_s_own_wrapper_is_built_too() -> None:
    assert isinstance(wrap({"class": "gymnasium.wrappers:TimeAwareObservation"}), gym.wrappers.TimeAwareObservation)


def test_the_wrapper_can_be_written_on_a_command_line() -> None:
    choice = parse_choice("gymnasium:class=FrameStackObservation,kwargs={stack_size: 2}", "wrapper", levels=("env",))

    assert choice.as_dict() == {"name": "gymnasium", "class": "FrameStackObservation", "kwargs": {"stack_size": 2}}


def test_the_wrapper_s_keys_are_documented() -> None:
    model = registry().config_model(registry().find("wrapper", "gymnasium"))

    assert set(model.model_fields) == {"class", "kwargs"}
    assert all(field.description for field in model.model_fields.values())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"class": "FrameStakObservation"}, "has no 'FrameStakObservation', did you mean 'FrameStackObservation'"),
        ({"class": "FrameStackObservation", "kwargs": {"size": 4}}, r"'stack_size' .*its arguments: stack_size"),
        ({"class": "FlattenObservation", "kwargs": {"size": 4}}, "unexpected keyword argument 'size'"),
        ({"class": "worlds:Len"}, "worlds:Len is no gymnasium wrapper"),
        ({"class": "nowhere:Wrapper"}, "there is no module 'nowhere'"),
        ({}, "class"),
    ],
)
def test_what_names_no_wrapper_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        wrap(options, Len())


# --- rewards ----------------------------------------------------------------------------------------------------


def reward(spec: str) -> Any:
    return parse_choice(spec, "reward").build(
        RewardContext(observation_space=VECTOR, action_space=THREE, base_dir=Path.cwd())
    )


def test_the_reward_zero_is_zero_for_every_transition() -> None:
    assert reward("zero")(np.ones((3, 4)), np.ones(3), np.ones((3, 4)), starts(3)).tolist() == [0.0, 0.0, 0.0]


def test_a_function_can_be_the_reward(experts: Path) -> None:
    rews = reward("function:path=experts.py:reward")(np.ones((3, 4)), np.array([0, 1, 2]), np.ones((3, 4)), starts(3))

    assert rews.tolist() == [0.0, 2.0, 4.0]


def test_a_reward_of_a_wrong_shape_is_refused(experts: Path) -> None:
    with pytest.raises(ComponentFailedError, match=r"gave float64 of shape \(\); expected numbers of shape \(3,\)"):
        reward("function:path=experts.py:scalar")(np.ones((3, 4)), np.ones(3), np.ones((3, 4)), starts(3))
