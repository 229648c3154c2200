import json
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings

from mimetic.errors import DataError, SpaceError
from mimetic.spaces import space_difference, space_from_json, space_to_json
from some_spaces import ACTION_SPACES, OBSERVATION_SPACES, Space, observation_spaces

UNUSUAL: dict[str, Space] = {
    "bounds that differ": spaces.Box(np.array([0.1, -np.inf], np.float32), np.array([np.inf, 3], np.float32)),
    "integers without bounds": spaces.Box(-np.inf, np.inf, (2,), np.int64),
    "integers bounded on one side": spaces.Box(0, np.inf, (2,), np.int32),
    "bools": spaces.Box(0, 1, (3,), bool),
    "zeros with a sign": spaces.Box(np.array([-0.0, 0.0], np.float32), np.array([0.0, 0.0], np.float32)),
    "the largest floats": spaces.Box(-3.4e38, 3.4e38, (4,), np.float32),
    "a large image": spaces.Box(0, 255, (210, 160, 3), np.uint8),
    "keys out of order": spaces.Dict([("z", spaces.Discrete(2)), ("a", spaces.Discrete(3))]),
    "Discrete of int32": spaces.MultiDiscrete([2, 3], dtype=np.int32),
}
ALL = (
    {f"acts: {name}": space for name, space in ACTION_SPACES.items()}
    | {f"obs: {name}": space for name, space in OBSERVATION_SPACES.items()}
    | UNUSUAL
)


def round_trip(space: Space) -> Space:
    return space_from_json(json.loads(json.dumps(space_to_json(space), allow_nan=False)))


def facts(space: Space) -> Any:
    """Everything that makes a space, bit for bit."""
    if isinstance(space, spaces.Dict):
        return [(key, facts(sub)) for key, sub in space.spaces.items()]
    arrays = [vars(space).get(name) for name in ("low", "high", "bounded_below", "bounded_above", "nvec", "start", "n")]
    bits = [(a.dtype, a.shape, a.tobytes()) if isinstance(a, np.ndarray | np.generic) else a for a in arrays]
    return (type(space), space.shape, space.dtype, bits)


@pytest.mark.parametrize("name", ALL)
def test_a_space_comes_back_bit_for_bit(name: str) -> None:
    assert facts(round_trip(ALL[name])) == facts(ALL[name])


@settings(deadline=None)
@given(observation_spaces())
def test_any_supported_space_comes_back_bit_for_bit(space: Space) -> None:
    assert facts(round_trip(space)) == facts(space)


def test_uniform_bounds_take_one_number_however_large_the_space() -> None:
    assert len(json.dumps(space_to_json(UNUSUAL["a large image"]))) < 200


def test_a_space_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(SpaceError, match=r"Text.*cannot be written to a file: Box, Discrete"):
        space_to_json(spaces.Text(5))


def test_a_subclass_is_refused_since_it_could_mean_anything() -> None:
    class Odd(spaces.Discrete):
        pass

    with pytest.raises(SpaceError, match="cannot be written"):
        space_to_json(Odd(2))


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "Tuple"},
        {"type": "Box", "dtype": "<f4", "shape": [2], "low": 0},
        {"type": "Box", "dtype": "<f4", "shape": [2], "low": 1, "high": 0},
        {"type": "Discrete", "n": -1, "start": 0, "dtype": "<i8"},
        [],
    ],
)
def test_a_description_of_no_space_is_refused(data: Any) -> None:
    with pytest.raises(DataError, match=r"cannot be read|not complete or not valid"):
        space_from_json(data)


# --- differences ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_space_does_not_differ_from_itself(name: str) -> None:
    assert space_difference(ALL[name], round_trip(ALL[name])) is None


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (spaces.Discrete(2), spaces.Discrete(3), r"Discrete\(2\) is not Discrete\(3\)"),
        (spaces.Discrete(2), spaces.Discrete(2, start=1), "start=1"),
        (spaces.Discrete(2), spaces.MultiBinary(2), "is a Discrete, MultiBinary"),
        (spaces.Box(-1, 1, (2,)), spaces.Box(-1, 1, (3,)), r"shape \(2,\) is not shape \(3,\)$"),
        (spaces.Box(-1, 1, (2,)), spaces.Box(-1, 1, (2,), np.float64), "dtype float32 is not dtype float64"),
        (spaces.Box(-1, 1, (2,)), spaces.Box(-1, 2, (2,)), "the bounds of"),
        (spaces.Dict(a=spaces.Discrete(2)), spaces.Dict(b=spaces.Discrete(2)), r"keys \['a'\] are not keys \['b'\]"),
        (spaces.Dict(a=spaces.Discrete(2)), spaces.Dict(a=spaces.Discrete(3)), "key 'a': "),
    ],
)
def test_a_difference_is_told(first: Space, second: Space, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(space_difference(first, second))


def test_swapped_channels_are_recognised() -> None:
    difference = space_difference(spaces.Box(0, 255, (64, 48, 3), np.uint8), spaces.Box(0, 255, (3, 64, 48), np.uint8))

    assert difference is not None
    assert "channels first in one and last in the other" in difference


def test_a_bound_that_no_number_reaches_is_no_bound() -> None:
    """Older versions of gymnasium wrote float32's largest number for infinity."""
    assert space_difference(spaces.Box(-3.4e38, 3.4e38, (2,)), spaces.Box(-np.inf, np.inf, (2,))) is None


def test_a_nested_dict_is_the_dict_of_its_parts_under_dotted_keys() -> None:
    """Environments that the platform builds give one level, since vectorised environments know no more."""
    nested = OBSERVATION_SPACES["nested Dict"]
    dotted = spaces.Dict(
        {"a%2Eb": spaces.Discrete(2), "hand.force": spaces.Box(-1, 1, ()), "hand.grip": spaces.MultiBinary(2)}
    )

    assert space_difference(nested, dotted) is None
    assert space_difference(dotted, nested) is None
    assert space_difference(dotted, spaces.Dict({"a.b": spaces.Discrete(2)})) is not None


def test_bounds_can_be_left_out() -> None:
    assert space_difference(spaces.Box(-1, 1, (2,)), spaces.Box(-2, 1, (2,)), bounds=False) is None
