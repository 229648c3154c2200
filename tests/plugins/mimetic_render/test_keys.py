"""What keys mean: the map that was given, the environment's own, or the usual one."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from pydantic import ValidationError
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from mimetic.config import EnvConfig
from mimetic.envs import build_vec_env
from mimetic.errors import ConfigError
from mimetic_render.config import HumanConfig
from mimetic_render.key_map import KeyMap, key_map
from mimetic_render.known_keys import USUAL, as_words, find_key_map
from mimetic_render.window import Window
from worlds import Cont, Len

pygame = pytest.importorskip("pygame")

THREE = spaces.Discrete(3)
CAR = spaces.Box(np.array([-1, 0, 0], np.float32), np.ones(3, np.float32))


@pytest.fixture(autouse=True)
def _window(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keys have names while there is a display."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    window = Window("keys")
    yield
    window.close()


def around(env: gym.Env[Any, Any]) -> VecEnv:
    return DummyVecEnv([lambda: env])


def meant(keys: KeyMap, *pressed: str) -> Any:
    action = keys.action(pressed)
    return None if action is None else action.tolist()


# --- a map that is given ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pressed", "action"),
    [
        ((), 1),
        (("left",), 0),
        (("right",), 2),
        (("left", "right"), 2),
        (("right", "left"), 0),
        (("left", "x"), 0),
        (("x",), 1),
    ],
)
def test_the_latest_key_counts_and_keys_that_mean_nothing_do_not(pressed: Sequence[str], action: int) -> None:
    assert meant(key_map({"left": 0, "right": 2, "none": 1}, THREE), *pressed) == action


@pytest.mark.parametrize(
    ("pressed", "action"), [(("left", "up"), 2), (("up", "left"), 2), (("left",), 0), (("up",), None)]
)
def test_keys_together_may_mean_something_of_their_own(pressed: Sequence[str], action: int | None) -> None:
    assert meant(key_map({"left": 0, "left+up": 2}, THREE), *pressed) == action


def test_the_largest_combination_counts() -> None:
    keys = key_map({"a": 0, "a+b": 1, "b": 2}, THREE)

    assert meant(keys, "a", "b", "c") == 1


@pytest.mark.parametrize(
    ("pressed", "action"),
    [
        ((), [0, 0, 0]),
        (("left",), [-1, 0, 0]),
        (("left", "up"), [-1, 1, 0]),
        (("left", "right"), [0, 0, 0]),
        (("left", "up", "down"), [-1, 1, 0.75]),
    ],
)
def test_continuous_actions_add_up(pressed: Sequence[str], action: list[float]) -> None:
    keys = key_map({"left": [-1, 0, 0], "right": [1, 0, 0], "up": [0, 1, 0], "down": [0, 0, 0.75]}, CAR)

    assert meant(keys, *pressed) == action


def test_a_sum_stays_within_the_bounds() -> None:
    keys = key_map({"up": [0, 1, 0], "w": [0, 1, 0]}, CAR)

    assert meant(keys, "up", "w") == [0, 1, 0]


def test_a_combination_of_continuous_actions_may_be_named() -> None:
    keys = key_map({"left": [-1, 0, 0], "up": [0, 1, 0], "left+up": [-0.5, 0.5, 0]}, CAR)

    assert meant(keys, "up", "left") == [-0.5, 0.5, 0]


def test_one_number_is_enough_for_one_dimension() -> None:
    assert meant(key_map({"left": -2}, spaces.Box(-2, 2, (1,), np.float32)), "left") == [-2.0]


@pytest.mark.parametrize(
    ("space", "action", "none"),
    [
        (THREE, 0, "repeat"),
        (CAR, [0, 1, 0], [0, 0, 0]),
        (spaces.Box(1, 2, (1,), np.float32), [1], "repeat"),
        (spaces.MultiBinary(2), [1, 0], [0, 0]),
        (spaces.MultiDiscrete([2, 3]), [1, 2], "repeat"),
        (spaces.Discrete(3, start=5), 7, "repeat"),
        (spaces.Box(0, 9, (2,), np.int64), [3, 4], [0, 0]),
    ],
)
def test_without_a_key_nothing_is_done_where_that_is_an_action(space: Any, action: Any, none: Any) -> None:
    keys = key_map({"a": action}, space)

    assert space.contains(keys.action(["a"]))
    assert meant(keys, "a") == action
    assert (keys.none if isinstance(keys.none, str) else keys.none.tolist()) == none


def test_every_fault_of_a_map_is_named() -> None:
    with pytest.raises(ConfigError) as error:
        key_map(
            {"lefft": 0, "right": 3, "up": "fast", "escape": 1, "down": 1.5, "none": "stop", "a": [[0], [1, 2]]}, THREE
        )

    assert [fault.message.partition(";")[0] for fault in error.value.faults] == [
        "no key is called 'lefft'",
        "right=3 is no action of Discrete(3)",
        "up=fast is no action of Discrete(3)",
        "escape always ends the play, so it can mean no action",
        "down=1.5 is no action of Discrete(3)",
        "none=stop is no action of Discrete(3), "
        "and neither 'repeat' (the last action again) nor 'wait' (nothing moves)",
        "a=[[0], [1, 2]] is no action of Discrete(3)",
    ]


@pytest.mark.parametrize("keys", [{}, {"none": 0}])
def test_a_map_without_keys_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="no key has an action"):
        key_map(keys, THREE)


@pytest.mark.parametrize(
    ("text", "name"), [("space", "space"), ("A", "a"), ("plus", "+"), ("+", "+"), ("comma", ","), ("enter", "return")]
)
def test_keys_go_by_their_names(text: str, name: str) -> None:
    assert key_map({text: 0}, THREE).names == {name}


@pytest.mark.parametrize(
    "keys", ["left=0, right=2,none=1", {"left": 0, "right": 2, "none": 1}, {"left": 0, "right": 2, "none": 1.0}]
)
def test_a_map_is_written_in_one_word_or_as_a_mapping(keys: Any) -> None:
    assert HumanConfig(keys=keys).keys == {"left": 0, "right": 2, "none": 1}


def test_a_map_of_digits_may_be_written_with_numbers() -> None:
    assert HumanConfig.model_validate({"keys": {1: 0, 2: 1}}).keys == {"1": 0, "2": 1}
    assert HumanConfig.model_validate({"keys": "1=[-2.0],2=[2.0]"}).keys == {"1": [-2.0], "2": [2.0]}


@pytest.mark.parametrize("keys", ["left", "left=0,left=1"])
def test_a_word_that_is_no_map_is_refused(keys: str) -> None:
    with pytest.raises(ValidationError, match="left"):
        HumanConfig.model_validate({"keys": keys})


# --- what is known without being told ---------------------------------------------------------------------------


class Noop(IntEnum):
    """As the arcade's actions are."""

    NOOP = 0
    FIRE = 1
    RIGHT_FIRE = 2


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({(): 1, (276,): 0, (275,): 2, (275, 276): 1}, {"none": 1, "left": 0, "right": 2, "right+left": 1}),
        ({(None,): Noop.NOOP, " ": Noop.FIRE, ("d", " "): Noop.RIGHT_FIRE}, {"none": 0, "space": 1, "d+space": 2}),
        ({"wa": 2, ord("w"): 1, 1073741904: 0}, {"w+a": 2, "w": 1, "left": 0, "none": 0}),
        ({(ord("+"),): 1, ("=",): 2}, {"plus": 1, "equals": 2, "none": 0}),
    ],
)
def test_gymnasiums_key_maps_are_understood(own: Any, words: dict[str, int]) -> None:
    """Codes of pygame, of its first version too, characters, and nothing; without a key its play does 0."""
    assert as_words(own, THREE) == words
    key_map(as_words(own, THREE), THREE)


def test_a_key_that_does_not_exist_in_the_environments_own_map_is_refused() -> None:
    with pytest.raises(ConfigError, match="get_keys_to_action names the key 999999, which does not exist: give --keys"):
        as_words({999999: 0}, THREE)


@pytest.mark.parametrize("processes", [False, True])
def test_the_environments_own_map_comes_before_the_usual_one(processes: bool) -> None:
    venv = build_vec_env(EnvConfig(id="MountainCar-v0"), n_envs=1, seed=0, processes=processes)
    try:
        keys = find_key_map(None, venv, venv.action_space)
    finally:
        venv.close()

    assert (meant(keys, "left"), meant(keys), meant(keys, "right"), meant(keys, "left", "right")) == (0, 1, 2, 1)


def test_a_map_that_is_given_comes_first() -> None:
    venv = around(gym.make("MountainCar-v0"))

    assert find_key_map({"a": 2}, venv, venv.action_space).names == {"a"}


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCarContinuous-v0", "Acrobot-v1", "Pendulum-v1"])
def test_well_known_environments_can_be_played_without_a_word(name: str) -> None:
    venv = around(gym.make(name))
    keys = find_key_map(None, venv, venv.action_space)

    assert keys.names == {"left", "right"}
    assert meant(keys, "left") != meant(keys, "right")


@pytest.mark.parametrize("name", ["FrozenLake", "FrozenLake8x8", "CliffWalking", "Taxi", "Blackjack"])
def test_games_of_turns_wait_for_a_key(name: str) -> None:
    games = [spec.id for spec in gym.registry.values() if spec.name == name and "toy_text" in str(spec.entry_point)]
    newest = max(games)
    venv = around(gym.make(newest))
    keys = find_key_map(None, venv, venv.action_space)

    assert keys.none == "wait"
    assert len(keys.actions) == venv.action_space.n  # type: ignore[attr-defined]  # a Discrete


class Named(Len):
    """``Len`` under the name and with the actions of a well-known environment."""

    def __init__(self, name: str, action_space: spaces.Space[Any]) -> None:
        super().__init__()
        self.action_space = action_space
        self.spec = gym.envs.registration.EnvSpec(f"{name}-v3", entry_point="worlds:Len")


LANDER = spaces.Box(-1, 1, (2,), np.float32)


@pytest.mark.parametrize(
    ("name", "space", "up"),
    [
        ("LunarLander", spaces.Discrete(4), 2),
        ("LunarLander", LANDER, [1, 0]),
        ("LunarLanderContinuous", LANDER, [1, 0]),
        ("CarRacing", CAR, [0, 1, 0]),
        ("CarRacing", spaces.Discrete(5), 3),
    ],
)
def test_the_usual_map_is_the_one_that_fits_the_actions(name: str, space: spaces.Space[Any], up: Any) -> None:
    venv = around(Named(name, space))

    assert meant(find_key_map(None, venv, space), "up") == up


def test_every_usual_map_names_keys_that_exist() -> None:
    named = {key for maps in USUAL.values() for usual in maps for key in usual} - {"none"}

    assert key_map(dict.fromkeys(named, 0), THREE).names == named


@pytest.mark.parametrize(
    ("env", "example"),
    [(Len(), "--keys 'left=0,right=1,none=repeat'"), (Cont(), r"--keys 'left=\[-1\.0\],right=\[1\.0\]'")],
)
def test_without_a_known_map_it_is_said_how_to_give_one(env: gym.Env[Any, Any], example: str) -> None:
    venv = around(env)

    with pytest.raises(ConfigError, match=f"nobody knows which key means what in .*{example}"):
        find_key_map(None, venv, venv.action_space)
