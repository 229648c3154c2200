from typing import Any

import numpy as np
import pytest

from mimetic.errors import DataError
from mimetic.types import concatenate_obs, map_obs, n_rows, obs_from_leaves, obs_leaves, stack_obs, take_rows

NESTED: Any = {"a": np.arange(3), "b.c": {"%": np.zeros((3, 2)), "d": np.ones((3, 1))}}


def test_a_single_array_is_its_own_leaf() -> None:
    leaf = np.arange(3)

    assert obs_leaves(leaf) == {"obs": leaf}


def test_keys_of_nested_mappings_are_joined_by_dots_that_keys_cannot_fake() -> None:
    assert sorted(obs_leaves(NESTED)) == ["obs.a", "obs.b%2Ec.%25", "obs.b%2Ec.d"]


def test_leaves_build_the_structure_back_that_they_came_from() -> None:
    back = obs_from_leaves(obs_leaves(NESTED))

    assert back["a"] is NESTED["a"]
    assert sorted(back["b.c"]) == ["%", "d"]


@pytest.mark.parametrize("names", [("obs", "obs.a"), ("obs.a", "obs.a.b"), ("obs.a.b", "obs.a")])
def test_a_name_cannot_be_an_array_and_a_mapping(names: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match="an array and of a mapping"):
        obs_from_leaves(dict.fromkeys(names, np.zeros(1)))


def test_missing_observations_are_an_error_that_lists_what_is_there() -> None:
    with pytest.raises(DataError, match=r"no column is called 'obs' or 'obs.<key>'; there are: acts, x"):
        obs_from_leaves({"x": np.zeros(1), "acts": np.zeros(1)})


def test_arrays_of_one_mapping_must_have_as_many_rows() -> None:
    with pytest.raises(DataError, match=r"obs\.a has 2, obs.b has 3"):
        n_rows({"a": np.zeros(2), "b": np.zeros(3)})


def test_a_number_has_no_rows() -> None:
    with pytest.raises(DataError, match="a single number"):
        n_rows(np.array(1.0))


def test_a_slice_of_rows_is_a_view() -> None:
    assert np.shares_memory(take_rows(NESTED, slice(1, 2))["a"], NESTED["a"])


def test_a_function_is_applied_to_every_array_and_keeps_the_structure() -> None:
    assert map_obs(len, NESTED) == {"a": 3, "b.c": {"%": 3, "d": 3}}


def test_stacked_observations_become_rows() -> None:
    stacked = stack_obs([{"a": np.float32(1)}, {"a": np.float32(2)}])  # type: ignore[dict-item]  # scalars are 0-d

    assert obs_leaves(stacked)["obs.a"].tolist() == [1.0, 2.0]


def test_concatenated_observations_keep_their_dtype() -> None:
    joined = concatenate_obs([{"a": np.zeros(1, np.uint8)}, {"a": np.ones(2, np.uint8)}])

    assert obs_leaves(joined)["obs.a"].dtype == np.uint8


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"b": np.zeros(2)}, "arrays"),
        ({"a": np.zeros(2, np.float32)}, "obs.a is float64 against float32"),
        ({"a": np.zeros((2, 3))}, "do not go together"),
    ],
)
def test_observations_that_differ_are_not_put_together(other: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(DataError, match=message):
        concatenate_obs([{"a": np.zeros(2)}, other])


def test_nothing_cannot_be_put_together() -> None:
    with pytest.raises(DataError, match="no observations"):
        stack_obs([])
