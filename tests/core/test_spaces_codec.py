from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings, strategies as st
from stable_baselines3.common.distributions import make_proba_distribution

from mimetic.errors import SpaceError
from mimetic.spaces import ActionCodec
from some_spaces import ACTION_SPACES, GRID, Space, action_spaces, samples

REFUSED: dict[str, Space] = {
    "Tuple": spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2))),
    "Text": spaces.Text(5),
    "Graph": spaces.Graph(spaces.Discrete(2), None),
    "OneOf": spaces.OneOf((spaces.Discrete(2), spaces.Discrete(3))),
    "Sequence": spaces.Sequence(spaces.Discrete(2)),
    "Dict": spaces.Dict(a=spaces.Discrete(2)),
}


def assert_members(acts: np.ndarray, space: Space) -> None:
    assert acts.dtype == space.dtype
    for act in acts:
        assert space.contains(np.asarray(act)), f"{act!r} is not in {space}"


@pytest.mark.parametrize("name", ACTION_SPACES)
def test_encoding_and_decoding_give_the_action_back(name: str) -> None:
    space = ACTION_SPACES[name]
    acts = samples(space, 5)

    encoded = ActionCodec(space).encode(acts)

    np.testing.assert_allclose(ActionCodec(space).decode(encoded).numpy(), acts, rtol=1e-6)
    np.testing.assert_allclose(ActionCodec(space).decode_numpy(encoded.numpy()), acts, rtol=1e-6)


@settings(deadline=None)
@given(action_spaces(), st.integers(0, 1000))
def test_encoding_and_decoding_give_any_action_back(space: Space, seed: int) -> None:
    acts = samples(space, 3, seed)

    decoded = ActionCodec(space).decode_numpy(ActionCodec(space).encode(acts).numpy())

    np.testing.assert_allclose(decoded, acts, rtol=1e-6)
    assert_members(decoded, space)


@pytest.mark.parametrize("name", ACTION_SPACES)
def test_a_distribution_takes_what_is_encoded(name: str) -> None:
    """One log-probability a row: a shape that broadcasts would give a matrix, and a useless policy."""
    codec = ActionCodec(ACTION_SPACES[name])
    distribution: Any = make_proba_distribution(codec.distribution_space)
    network = distribution.proba_distribution_net(8)
    latent = torch.zeros(5, 8)
    distribution.proba_distribution(network[0](latent), network[1]) if isinstance(network, tuple) else (
        distribution.proba_distribution(network(latent))
    )

    log_prob = distribution.log_prob(codec.encode(samples(codec.action_space, 5)))

    assert log_prob.shape == (5,)


@settings(deadline=None)
@given(action_spaces(), st.integers(0, 1000))
def test_whatever_a_network_gives_becomes_a_member(space: Space, seed: int) -> None:
    codec = ActionCodec(space)
    rng = np.random.default_rng(seed)
    if isinstance(space, spaces.Box):
        encoded = (100 * rng.standard_normal((4, codec.n_dims))).astype(np.float32)
    else:
        encoded = samples(codec.distribution_space, 4, seed)

    assert_members(codec.decode_numpy(encoded), space)


@pytest.mark.parametrize("kind", REFUSED)
def test_other_spaces_are_refused_by_name(kind: str) -> None:
    with pytest.raises(SpaceError, match=f"^{kind} is not supported as action space.*Supported are Box, Discrete"):
        ActionCodec(REFUSED[kind])


@pytest.mark.parametrize("shape", [(100, 1), (100,)])
def test_a_column_of_actions_or_a_row_is_all_the_same(shape: tuple[int, ...]) -> None:
    """BC-1: an extra axis must not turn log-probabilities into a matrix."""
    assert ActionCodec(spaces.Discrete(2)).encode(np.zeros(shape, int)).shape == (100,)
    assert ActionCodec(spaces.Box(-1, 1, (1,))).encode(np.zeros(shape, np.float32)).shape == (100, 1)


def test_actions_of_a_wrong_width_are_refused_with_both_shapes() -> None:
    with pytest.raises(SpaceError, match=r"shape \(5, 3\) do not fit .*, shape \(2,\)"):
        ActionCodec(spaces.Box(-1, 1, (2,))).encode(np.zeros((5, 3)))


def test_flattened_actions_of_rank_2_are_taken_too() -> None:
    """PPO's buffer keeps them so."""
    codec = ActionCodec(GRID)
    acts = samples(codec.action_space, 4)

    assert torch.equal(codec.encode(acts.reshape(4, 4)), codec.encode(acts))


def test_the_caller_s_array_is_neither_changed_nor_shared() -> None:
    acts = np.array([[0.5], [-0.5]], np.float32)
    acts.setflags(write=False)

    ActionCodec(spaces.Box(-1, 1, (1,))).encode(acts)[0] = 9.0

    assert acts.tolist() == [[0.5], [-0.5]]


# --- squashing --------------------------------------------------------------------------------------------------


def test_a_squashed_codec_maps_the_bounds_to_one_and_minus_one() -> None:
    codec = ActionCodec(spaces.Box(np.array([-2.0, 10.0], np.float32), np.array([4.0, 20.0], np.float32)), squash=True)

    assert codec.encode(np.array([[1.0, 15.0]], np.float32)).tolist() == [[0.0, 0.0]]
    assert codec.decode_numpy(np.array([[1.0, -1.0]], np.float32)).tolist() == [[4.0, 10.0]]


def test_a_squashed_action_at_the_bound_is_pulled_in_by_a_millionth() -> None:
    """BC-9: at the bound itself the log-probability would have no floor."""
    encoded = ActionCodec(spaces.Box(-3, 3, (1,)), squash=True).encode(np.array([[3.0], [-3.0], [99.0]], np.float32))

    assert encoded[:, 0].tolist() == pytest.approx([1 - 1e-6, -1 + 1e-6, 1 - 1e-6], abs=1e-7)
    assert (encoded.abs() < 1.0).all()


def test_squashing_needs_bounds() -> None:
    with pytest.raises(SpaceError, match="squash_output needs a bounded action space"):
        ActionCodec(spaces.Box(-np.inf, 1, (1,)), squash=True)


def test_squashing_is_for_boxes() -> None:
    with pytest.raises(SpaceError, match=r"squash_output is for Box actions, the action space is Discrete\(2\)"):
        ActionCodec(spaces.Discrete(2), squash=True)


def test_a_side_without_width_squashes_to_its_only_value() -> None:
    codec = ActionCodec(spaces.Box(2, 2, (1,)), squash=True)

    assert torch.isfinite(codec.encode(np.array([[2.0]], np.float32))).all()
    assert codec.decode_numpy(np.array([[0.3]], np.float32)).tolist() == [[2.0]]


def test_a_codec_first_used_in_inference_mode_still_passes_gradients() -> None:
    codec = ActionCodec(spaces.Box(-2, 2, (1,)), squash=True)
    drawn = torch.zeros(1, 1, requires_grad=True)
    with torch.inference_mode():
        codec.decode(torch.zeros(1, 1))

    torch.autograd.backward(codec.decode(drawn).sum())

    assert drawn.grad is not None
    assert drawn.grad.item() == 2.0


# --- members ----------------------------------------------------------------------------------------------------


def test_integer_boxes_are_rounded_then_clipped_without_wrapping_around() -> None:
    codec = ActionCodec(spaces.Box(0, 255, (4,), np.uint8))

    assert codec.clip(np.array([[-1.0, 0.6, 254.4, 300.0]])).tolist() == [[0, 1, 254, 255]]


def test_the_largest_integers_are_clipped_without_overflow() -> None:
    codec = ActionCodec(spaces.Box(-np.inf, np.inf, (2,), np.int64))

    assert codec.clip(np.array([[1e30, -1e30]])).tolist() == [[2**63 - 1, -(2**63)]]


def test_a_float_box_is_clipped_for_the_environment_but_not_in_forward() -> None:
    """What collection learns from keeps the log-probability of what was drawn, as in SB3."""
    codec = ActionCodec(spaces.Box(-1, 1, (1,)))

    assert codec.decode(torch.tensor([[5.0]])).item() == 5.0
    assert codec.decode_numpy(np.array([[5.0]], np.float32)).item() == 1.0


@pytest.mark.parametrize("act", [3, -1, 0.5])
def test_a_category_that_does_not_exist_is_refused(act: float) -> None:
    with pytest.raises(SpaceError, match=r"in row 1, \[.*\], is not in Discrete\(3\)"):
        ActionCodec(spaces.Discrete(3)).clip(np.array([1, act]))


def test_an_action_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"the policy's action in row 1 is not a number: \[nan\]"):
        ActionCodec(spaces.Box(-1, 1, (1,))).clip(np.array([[0.0], [np.nan]]))
