"""The spaces in a zip are read from what gym and gymnasium printed of them over the years."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import PPO

from mimetic.errors import DataError, SpaceError
from mimetic_policies.sb3.space_text import difference, read_space
from sb3_zips import ACTS, CHOICES, IMAGE, OBS, PARTS, members, opened, saved, some_obs, with_data

OLD_GYM = {":type:": "<class 'gym.spaces.box.Box'>", "dtype": "float32", "shape": [2], "low": "[-1. -3.4028235e+38]"}
DICTS = {
    "gym": "OrderedDict([('a b', Box(-1.0, 1.0, (3,), float32)), ('c, \\'d', Discrete(4))])",
    "gymnasium": "{'a b': Box(-1.0, 1.0, (3,), float32), \"c, 'd\": Discrete(4)}",
    "bounds of each number": "{'a b': Box([-1. -2. -8.], [1. inf 8.], (3,), float32), \"c, 'd\": Discrete(4, start=0)}",
    "gym before 0.17.3": "OrderedDict([('a b', Box(3,)), (\"c, 'd\", Discrete(4))])",
}


def text_of(path: Path, role: str = "observation") -> Any:
    return read_space(json.loads(members(path)["data"])[f"{role}_space"])


@pytest.mark.parametrize(
    ("entry", "space"),
    [
        (OLD_GYM, spaces.Box(np.array([-1, -np.inf], np.float32), np.inf, (2,))),
        ({":type:": "<class 'gym.spaces.discrete.Discrete'>", "n": 3, "shape": []}, spaces.Discrete(3)),
        ({":type:": "<class 'gymnasium.spaces.discrete.Discrete'>", "n": "3", "start": "0"}, spaces.Discrete(3)),
        ({":type:": "<class 'gym.spaces.multi_binary.MultiBinary'>", "n": 4}, spaces.MultiBinary(4)),
        (
            {":type:": "<class 'gym.spaces.multi_discrete.MultiDiscrete'>", "nvec": "[3 2]"},
            spaces.MultiDiscrete([3, 2]),
        ),
    ],
)
def test_a_space_of_any_age_is_the_one_of_today(entry: Any, space: Any) -> None:
    assert difference(read_space(entry), space, "action") is None


@pytest.mark.parametrize("form", DICTS)
def test_the_parts_of_a_dict_are_read_in_every_form_that_was_printed(form: str) -> None:
    text = read_space({":type:": "<class 'gymnasium.spaces.dict.Dict'>", "spaces": DICTS[form]})

    assert text.parts is not None
    assert list(text.parts) == ["a b", "c, 'd"]
    assert difference(text, spaces.Dict({"a b": OBS, "c, 'd": spaces.Discrete(4)}), "observation") is None
    assert difference(text, spaces.Dict({"a b": OBS, "c, 'd": spaces.Discrete(5)}), "observation") is not None


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-2, 3, (2, 2), np.float64),
        spaces.Box(-1, 1, (3000,), np.float32),
        spaces.Discrete(5),
        spaces.MultiDiscrete([4, 2, 3]),
        spaces.MultiBinary(3),
        spaces.Box(0, 255, (3, 40, 40), np.uint8),
    ],
)
def test_what_todays_gymnasium_prints_is_read_back(space: Any, tmp_path: Path) -> None:
    assert difference(text_of(saved(tmp_path / "agent.zip", PPO, space)), space, "action") is None


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (spaces.Box(-1, 1, (2,), np.float32), "its low .* is not"),
        (spaces.Box(-1, 1, (2,), np.int32), "dtype float32 is not dtype int32"),
        (spaces.MultiBinary(2), "is a Box, .* is a MultiBinary"),
    ],
)
def test_what_differs_is_said(other: Any, message: str, tmp_path: Path) -> None:
    found = difference(text_of(saved(tmp_path / "agent.zip"), "action"), other, "action")

    assert found is not None
    assert __import__("re").search(message, found)


def test_an_action_space_that_starts_elsewhere_is_another_one() -> None:
    text = read_space({":type:": "<class 'gymnasium.spaces.discrete.Discrete'>", "n": "3", "start": "0"})

    assert difference(text, spaces.Discrete(3, start=1), "action") == "(0,) is not (1,)"


def test_a_part_of_a_dict_that_differs_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "agent.zip", PPO, PARTS)
    others = spaces.Dict({**PARTS.spaces, "vector": spaces.Box(-1, 1, (4,), np.float32)})

    with pytest.raises(SpaceError, match=r"key 'vector': shape \(3,\) is not shape \(4,\)"):
        opened(path, others)
    with pytest.raises(SpaceError, match=r"keys \['image', 'kind', 'pair', 'vector'\] are not keys \['vector'\]"):
        opened(path, spaces.Dict({"vector": OBS}))


def test_a_dict_is_put_into_the_order_in_which_it_was_learned(tmp_path: Path) -> None:
    """An extractor puts the parts side by side in the order of its space, which gymnasium sorts in some releases."""
    learned = spaces.Dict([("b", spaces.Box(-1, 1, (2,), np.float32)), ("a", spaces.Box(-1, 1, (2,), np.float32))])
    given = spaces.Dict([("a", learned["a"]), ("b", learned["b"])])
    path = saved(tmp_path / "agent.zip", PPO, learned)
    obs = some_obs(given)

    assert np.array_equal(
        opened(path, given).predict(obs, deterministic=True)[0],
        opened(path, learned).predict(obs, deterministic=True)[0],
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (None, "its observation space is not stated"),
        ({":type:": "<class 'mine.Sphere'>"}, "its observation space is mine.Sphere; known are Box, Discrete"),
        ({":type:": "<class 'gymnasium.spaces.dict.Dict'>", "spaces": "{}"}, "a Dict whose parts cannot be read"),
        (
            {":type:": "<class 'gymnasium.spaces.dict.Dict'>", "spaces": "{'a': Dict('b': Box(3,))}"},
            "take no such part",
        ),
        ({":type:": "<class 'gymnasium.spaces.dict.Dict'>", "spaces": "{a: Box(3,)}"}, "a part that cannot be read"),
    ],
)
def test_a_space_that_cannot_be_read_is_named(entry: Any, message: str, tmp_path: Path) -> None:
    path = with_data(saved(tmp_path / "agent.zip"), lambda data: data.update(observation_space=entry))

    with pytest.raises(DataError, match=rf"agent\.zip: .*{message}"):
        opened(path)


def test_a_space_that_says_little_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    """The weights tell what is left: here that the network takes three numbers."""

    def laconic(data: dict[str, Any]) -> None:
        data["observation_space"] = {":type:": "<class 'gym.spaces.box.Box'>"}

    path = with_data(saved(tmp_path / "agent.zip"), laconic)

    opened(path, OBS, ACTS)
    with pytest.raises(SpaceError, match=r"its network takes 3 numbers, and observations of .* become 4"):
        opened(path, spaces.Box(-1, 1, (4,), np.float32), ACTS)


def test_images_whose_layout_a_zip_does_not_say_are_refused_where_they_do_not_fit(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "agent.zip", PPO, IMAGE, CHOICES, policy_kwargs={"features_extractor_kwargs": {"features_dim": 4}}
    )

    with_data(path, lambda data: data["observation_space"].pop("_shape"))

    with pytest.raises(SpaceError, match="too small for the convolutions, channels first"):
        opened(path, IMAGE, CHOICES)


def test_convolutions_are_for_images(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "agent.zip", PPO, IMAGE, CHOICES, policy_kwargs={"features_extractor_kwargs": {"features_dim": 4}}
    )

    with_data(path, lambda data: data.update(observation_space={":type:": "<class 'gym.spaces.box.Box'>"}))

    with pytest.raises(SpaceError, match="the features 'nature-cnn' are for images, channels first"):
        opened(path, OBS, CHOICES)
