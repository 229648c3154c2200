from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from mimetic.errors import SpaceError
from mimetic.policies import FlatFeatures, RunningNorm, input_leaves
from some_spaces import GRID, OBSERVATION_SPACES, samples


def tensors(obs: Any) -> Any:
    return {key: tensors(part) for key, part in obs.items()} if isinstance(obs, dict) else torch.as_tensor(obs)


@pytest.mark.parametrize("name", OBSERVATION_SPACES)
def test_torch_and_numpy_see_the_same_rows(name: str) -> None:
    space = OBSERVATION_SPACES[name]
    obs = samples(space, 5)
    leaves = input_leaves(space)

    by_torch = FlatFeatures(space)(tensors(obs))
    by_numpy = np.concatenate([leaf.rows_numpy(leaf.pick(obs)) for leaf in leaves], axis=1)

    assert by_torch.shape == (5, sum(leaf.width for leaf in leaves))
    np.testing.assert_allclose(by_torch, by_numpy, atol=1e-7)


def test_categories_count_from_the_start_of_their_space() -> None:
    rows = FlatFeatures(spaces.Discrete(3, start=5))(torch.tensor([5, 7]))

    assert rows.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_a_grid_of_categories_becomes_one_hot_vectors_side_by_side() -> None:
    """Sizes 2, 3, 4, 5 that start at 1, 0, -2, 7."""
    rows = FlatFeatures(GRID)(torch.tensor([[[2, 0], [1, 7]]]))

    assert rows[0].tolist() == [*(0, 1), *(1, 0, 0), *(0, 0, 0, 1), *(1, 0, 0, 0, 0)]


def test_an_image_of_bytes_is_scaled_once() -> None:
    rows = FlatFeatures(spaces.Box(0, 255, (4, 5, 3), np.uint8))(torch.full((1, 4, 5, 3), 255, dtype=torch.uint8))

    assert rows.max() == 1.0


def test_a_dict_is_read_in_the_order_of_its_space_nested_or_under_dotted_keys() -> None:
    space = OBSERVATION_SPACES["nested Dict"]
    obs = tensors(samples(space, 3))
    dotted = {"a%2Eb": obs["a.b"], "hand.grip": obs["hand"]["grip"], "hand.force": obs["hand"]["force"]}

    assert [leaf.key for leaf in input_leaves(space)] == ["a%2Eb", "hand.grip", "hand.force"]
    assert torch.equal(FlatFeatures(space)(obs), FlatFeatures(space)(dotted))


def test_a_space_of_dotted_keys_takes_nested_observations_too() -> None:
    """A policy for an environment that the platform built, and demonstrations as the environment itself gives them."""
    nested = OBSERVATION_SPACES["nested Dict"]
    obs = tensors(samples(nested, 3))
    dotted = spaces.Dict(
        [("a%2Eb", spaces.Discrete(2)), ("hand.grip", spaces.MultiBinary(2)), ("hand.force", spaces.Box(-1, 1, ()))]
    )

    assert torch.equal(FlatFeatures(dotted)(obs), FlatFeatures(nested)(obs))


def test_a_missing_key_is_named() -> None:
    with pytest.raises(SpaceError, match="the observation has no key 'room'"):
        FlatFeatures(OBSERVATION_SPACES["Dict"])({"position": torch.zeros(1, 2)})


# --- running statistics -----------------------------------------------------------------------------------------


def test_statistics_of_batches_are_those_of_all_rows() -> None:
    rows = torch.randn(1000, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([1.0, 10.0, 0.01]) + 1000
    norm = RunningNorm(3)

    for batch in torch.split(rows, [1, 7, 500, 492]):
        norm(batch)

    assert norm.count == 1000
    torch.testing.assert_close(norm.mean, rows.mean(0))
    torch.testing.assert_close(norm.var, rows.var(0, correction=0), rtol=1e-2, atol=1e-6)


def test_nothing_is_counted_in_evaluation_mode() -> None:
    """E-1: a policy must not go on learning while it is evaluated."""
    norm = RunningNorm(2)
    norm(torch.randn(10, 2))
    before = {name: value.clone() for name, value in norm.state_dict().items()}

    norm.eval()(torch.randn(10, 2) + 100)

    assert all(torch.equal(before[name], value) for name, value in norm.state_dict().items())


def test_rows_come_out_with_mean_zero_and_variance_one() -> None:
    rows = torch.tensor([[1000.0], [1010.0]])

    normal = RunningNorm(1)(rows)

    assert normal[:, 0].tolist() == pytest.approx([-1.0, 1.0], abs=1e-5)


def test_a_constant_input_that_moves_later_stays_small() -> None:
    norm = RunningNorm(1)
    norm(torch.full((50, 1), 3.0))

    assert norm.eval()(torch.tensor([[4.0]])).item() == 10.0


def test_before_anything_was_counted_rows_pass_nearly_unchanged() -> None:
    assert RunningNorm(1).eval()(torch.tensor([[0.5]])).item() == pytest.approx(0.5, abs=1e-5)
