import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

from mimetic.errors import DataError
from mimetic.types import (
    Demonstrations,
    Trajectory,
    TrajectoryDataset,
    Transitions,
    TransitionsMinimal,
    check_demonstrations,
    inspect_demonstrations,
)

BOX = spaces.Box(-np.inf, np.inf, (4,), np.float32)
TWO = spaces.Discrete(2)
RNG = np.random.default_rng(0)


def steps(n: int = 8, obs: Any = None, acts: Any = None) -> TransitionsMinimal:
    obs = RNG.normal(size=(n, 4)).astype(np.float32) if obs is None else obs
    return TransitionsMinimal(obs, np.zeros(n, np.int64) if acts is None else acts)


def checked(data: Any, obs_space: gym.Space[Any] = BOX, act_space: gym.Space[Any] = TWO) -> Any:
    return check_demonstrations(data, obs_space, act_space).data


def with_actions(acts: Any, act_space: gym.Space[Any]) -> Any:
    return checked(steps(len(acts), acts=np.asarray(acts)), BOX, act_space).acts


# --- shapes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "space"),
    [
        ((8,), TWO),
        ((8, 1), TWO),
        ((8,), spaces.Box(-1, 1, (1,))),
        ((8, 1), spaces.Box(-1, 1, (1,))),
        ((8, 1), spaces.Box(-1, 1, ())),
        ((8, 4), spaces.Box(-1, 1, (2, 2))),
        ((8, 2, 2), spaces.Box(-1, 1, (4,))),
        ((8, 1, 3), spaces.MultiBinary(3)),
        ((8, 6), spaces.MultiBinary([2, 3])),
    ],
)
def test_actions_get_the_shape_of_their_space_when_the_size_matches(shape: tuple[int, ...], space: Any) -> None:
    """BC-1: the reference trains a useless policy on (N, 1) instead of (N,)."""
    assert with_actions(np.zeros(shape), space).shape == (8, *space.shape)


@pytest.mark.parametrize(
    ("shape", "space", "message"),
    [
        ((8, 2), TWO, r"action shape \(2,\) != space shape \(\)"),
        ((8, 3), spaces.Box(-1, 1, (2,)), r"action shape \(3,\) != space shape \(2,\)"),
        ((8, 3, 2), spaces.Box(-1, 1, (2, 3)), r"action shape \(3, 2\) != space shape \(2, 3\)"),
    ],
)
def test_actions_of_another_size_or_order_are_refused_with_both_shapes(shape: Any, space: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        with_actions(np.zeros(shape), space)


def test_observations_of_another_width_are_refused_with_both_shapes() -> None:
    """BC-10: not "mat1 and mat2 shapes cannot be multiplied"."""
    with pytest.raises(DataError, match=r"^demonstrations: observation shape \(3,\) != space shape \(4,\)$"):
        checked(steps(obs=np.zeros((8, 3))))


def test_observations_are_reshaped_only_over_dimensions_of_one() -> None:
    """A flat image has no layout, so it is not guessed."""
    flat = steps(obs=np.zeros((8, 4)))

    assert checked(flat, spaces.Box(-1, 1, (4, 1))).obs.shape == (8, 4, 1)
    with pytest.raises(DataError, match=r"observation shape \(4,\) != space shape \(2, 2\)"):
        checked(flat, spaces.Box(-1, 1, (2, 2)))


@pytest.mark.parametrize(
    ("shape", "space_shape", "hint"),
    [
        ((64, 48, 3), (3, 64, 48), "height-width-channel images for a channel-first space"),
        ((3, 64, 48), (64, 48, 3), "channel-first images for a height-width-channel space"),
    ],
)
def test_images_in_the_other_layout_are_named(shape: Any, space_shape: Any, hint: str) -> None:
    """BC-2: sizes match, so a reshape would scramble them in silence."""
    space = spaces.Box(0, 255, space_shape, np.uint8)

    with pytest.raises(DataError, match=hint):
        checked(steps(2, obs=np.zeros((2, *shape), np.uint8)), space)


def test_reshaping_copies_nothing_and_leaves_the_callers_arrays_alone() -> None:
    acts = np.zeros((8, 1))
    fitted = with_actions(acts, spaces.Box(-1, 1, ()))

    assert np.shares_memory(fitted, acts)
    assert acts.shape == (8, 1)


# --- numbers that are none ---------------------------------------------------------------------------------------


def test_a_number_that_is_not_finite_is_named_by_trajectory_and_step() -> None:
    """BC-10: found before torch finds it."""
    obs = np.zeros((320, 4), np.float32)
    obs[5, 0] = np.nan

    with pytest.raises(DataError, match=r"^demonstrations: 1 non-finite observation, first at trajectory 0 step 5$"):
        checked(steps(320, obs=obs))


def test_steps_are_counted_within_their_trajectory() -> None:
    obs = np.zeros((4, 4))
    obs[[2, 3]] = np.inf
    data = [Trajectory(np.zeros((3, 4)), np.zeros(2), None, True), Trajectory(obs, np.zeros(3), None, True)]

    with pytest.raises(DataError, match="2 non-finite observations, first at trajectory 1 step 2"):
        checked(data)


def test_transitions_count_by_their_ending_flags() -> None:
    obs = np.zeros((6, 4))
    obs[5] = np.nan
    dones, truncated = np.zeros((2, 6), bool)
    dones[1], truncated[3] = True, True
    data = Transitions(obs, np.zeros(6), None, np.zeros((6, 4)), dones, truncated=truncated)

    with pytest.raises(DataError, match="first at trajectory 2 step 1"):
        checked(data)


def test_actions_that_are_not_finite_are_refused() -> None:
    with pytest.raises(DataError, match="1 non-finite action, first at trajectory 0 step 2"):
        with_actions([0.0, 0.0, -np.inf], spaces.Box(-1, 1, (1,)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_large_numbers_whose_sum_overflows_are_finite(dtype: Any) -> None:
    """The quick look is at the sum; it must not be the verdict."""
    checked(steps(obs=np.full((8, 4), np.finfo(dtype).max, dtype)))


def test_a_fault_beyond_the_first_piece_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are looked at in pieces."""
    monkeypatch.setattr("mimetic.types.fit.PIECE_BYTES", 64)
    obs = np.zeros((320, 4), np.float32)
    obs[300] = np.nan

    with pytest.raises(DataError, match="first at trajectory 0 step 300"):
        checked(steps(320, obs=obs))


# --- values and dtypes -------------------------------------------------------------------------------------------


def test_actions_outside_their_bounds_are_reported_once_and_kept() -> None:
    """BC-9: people's files are full of them."""
    acts = np.zeros((100, 1))
    acts[:10] = 5.0

    with pytest.warns(UserWarning, match=r"10 of 100 transitions \(10\.0%\) outside action space") as said:
        fitted = with_actions(acts, spaces.Box(-1, 1, (1,)))
    assert len(said) == 1
    assert fitted[0] == 5.0


def test_actions_at_the_bound_are_inside() -> None:
    with_actions(np.array([[-1.0], [1.0]], np.float32), spaces.Box(-1, 1, (1,)))


@pytest.mark.parametrize(
    ("acts", "space", "message"),
    [
        ([0, 1, 2], TWO, r"action 2 at trajectory 0 step 2 is outside; expected whole numbers from 0 to 1"),
        ([0, -1], TWO, "action -1 at trajectory 0 step 1 is outside"),
        ([0, 1], spaces.Discrete(2, start=1), "action 0 at .* expected whole numbers from 1 to 2"),
        ([0.0, 0.5, 0.5], TWO, r"action 0\.5 at trajectory 0 step 1 is not whole \(2 rows in all\)"),
        ([[0, 3]], spaces.MultiDiscrete([2, 3]), r"action \[0 3\] at trajectory 0 step 0 is outside"),
        ([[0, 2]], spaces.MultiBinary(2), r"action \[0 2\] at .* is outside"),
        ([[300]], spaces.Box(0, 255, (1,), np.uint8), r"action \[300\] at .* expected whole numbers that uint8 holds"),
        (["a", "b"], TWO, "actions have dtype <U1; expected numbers"),
        ([1j, 2j], TWO, "actions have dtype complex128; expected numbers"),
    ],
)
def test_actions_that_no_policy_could_take_are_refused(acts: Any, space: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        with_actions(acts, space)


def test_whole_numbers_in_floats_become_integers_for_discrete_spaces() -> None:
    """A CSV file holds nothing else."""
    fitted = with_actions([0.0, 1.0], TWO)

    assert fitted.dtype == np.int64
    assert fitted.tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_images_may_come_in_wider_dtypes_as_long_as_they_are_whole(dtype: Any) -> None:
    """The reference library's files hold uint8 images as int64."""
    space = spaces.Box(0, 255, (2, 2), np.uint8)

    assert checked(steps(1, obs=np.full((1, 2, 2), 255, dtype)), space).obs.dtype == dtype


def test_images_that_were_scaled_already_are_refused() -> None:
    """They would be scaled twice."""
    space = spaces.Box(0, 255, (2, 2), np.uint8)

    with pytest.raises(DataError, match="is not whole"):
        checked(steps(1, obs=np.full((1, 2, 2), 0.5)), space)


# --- Dict observations -------------------------------------------------------------------------------------------

NESTED = spaces.Dict({"a": BOX, "b": spaces.Dict({"c": spaces.Discrete(3), "d": spaces.Box(-1, 1, ())})})


def nested(**changes: Any) -> TransitionsMinimal:
    inner = {"c": np.zeros((2, 1), np.int64), "d": np.zeros(2)} | changes.pop("b", {})
    return TransitionsMinimal({"a": np.zeros((2, 4)), "b": inner, **changes}, np.zeros(2))


def test_nested_dict_observations_are_fitted_leaf_by_leaf() -> None:
    """D-3."""
    fitted = checked(nested(), NESTED)

    assert fitted.obs["b"]["c"].shape == (2,)
    assert fitted.obs["b"]["d"].shape == (2,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": np.zeros((2, 3))}, r"observation 'a' shape \(3,\) != space shape \(4,\)"),
        ({"b": {"d": np.full(2, np.nan)}}, r"2 non-finite observations 'b\.d', first at trajectory 0 step 0"),
        ({"b": {"c": np.full(2, 3)}}, r"observation 'b\.c' 3 at trajectory 0 step 0 is outside \(2 rows in all\)"),
        ({"extra": np.zeros(2)}, r"observations have the keys 'a', 'b\.c', 'b\.d', 'extra'; the space has the keys"),
    ],
)
def test_faults_of_dict_observations_name_the_key(changes: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        checked(nested(**changes), NESTED)


def test_an_array_for_a_dict_space_and_the_reverse_are_refused() -> None:
    with pytest.raises(DataError, match="observations have one array; the space has the keys"):
        checked(steps(), NESTED)
    with pytest.raises(DataError, match="the space has one array"):
        checked(nested(), BOX)


def test_a_space_without_arrays_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="the space is not supported: Tuple"):
        checked(steps(), spaces.Tuple((BOX, BOX)))


# --- the whole ---------------------------------------------------------------------------------------------------


def test_every_fault_is_named_at_once() -> None:
    obs = np.full((8, 3), np.nan)

    with pytest.raises(DataError, match=r"(?s)shape \(3,\).*non-finite observations.*action 2"):
        checked(steps(obs=obs, acts=np.full(8, 2)))


def test_the_description_begins_each_sentence() -> None:
    demonstrations = Demonstrations(steps(obs=np.zeros((8, 3))), description="rollouts.npz")

    with pytest.raises(DataError, match=r"^rollouts\.npz: observation shape"):
        check_demonstrations(demonstrations, BOX, TWO)


def test_nothing_left_of_a_dataset_is_refused() -> None:
    data = TrajectoryDataset.from_trajectories([Trajectory(np.zeros((2, 4)), np.zeros(1), None, True)])

    with pytest.raises(DataError, match="at least one transition"):
        checked(data[:0])


def test_a_dataset_stays_a_dataset_and_learns_its_spaces() -> None:
    data = TrajectoryDataset.from_trajectories([Trajectory(np.zeros((2, 4)), np.zeros((1, 1)), None, True)])
    result = check_demonstrations(data, BOX, TWO)

    assert isinstance(result.data, TrajectoryDataset)
    assert result.data.acts.shape == (1,)
    assert (result.observation_space, result.data.action_space) == (BOX, TWO)


def test_next_observations_are_looked_at_too() -> None:
    data = Transitions(np.zeros((2, 4)), np.zeros(2), None, np.full((2, 4), np.nan), np.zeros(2, bool))

    with pytest.raises(DataError, match="2 non-finite next observations"):
        checked(data)


def test_an_inspection_without_spaces_still_finds_what_is_no_number() -> None:
    rews = np.array([1.0, np.nan])
    data = [Trajectory(np.full((3, 4), np.inf), np.zeros(2), None, True, rews=rews)]

    assert inspect_demonstrations(data).faults == (
        "demonstrations: 3 non-finite observations, first at trajectory 0 step 0",
        "demonstrations: 1 non-finite reward, first at trajectory 0 step 1",
    )


def test_mixed_lengths_need_no_flag() -> None:
    """R-7."""
    checked([Trajectory(np.zeros((n + 1, 4)), np.zeros(n), None, True) for n in (1, 7, 3)])


# --- batches -----------------------------------------------------------------------------------------------------


class Live:
    """Batches that exist only while one walks through them."""

    def __init__(self, *batches: dict[str, Any]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.batches)


def batch(acts: Any = (0, 1), obs_width: int = 4) -> dict[str, Any]:
    return {"obs": torch.zeros(2, obs_width), "acts": torch.tensor(acts)}


@pytest.mark.parametrize("container", [list, tuple])
def test_batches_at_hand_are_checked_at_once(container: Any) -> None:
    with pytest.raises(DataError, match="action 7 at batch 1 row 0 is outside"):
        checked(container([batch(), batch((7, 0))]))


def test_live_batches_are_checked_as_they_come_in_every_epoch() -> None:
    batches = checked(Live(batch(), batch(obs_width=3)))

    for _ in range(2):
        walk = iter(batches)
        assert next(walk)["acts"].tolist() == [0, 1]
        with pytest.raises(DataError, match="observation shape"):
            next(walk)


def test_batches_come_out_in_the_shapes_of_the_spaces() -> None:
    (fitted,) = checked(Live(batch(((0,), (1,)))))

    assert fitted["acts"].shape == (2,)


def test_live_batches_report_bounds_once() -> None:
    batches = checked(Live(*[batch((5.0, 0.0))] * 3), act_space=spaces.Box(-1, 1, ()))

    with pytest.warns(UserWarning, match=r"batch 0 of demonstrations: 1 of 2 transitions \(50\.0%\) outside"):
        next(iter(batches))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(batches)) == 3


def test_a_batch_whose_columns_differ_in_length_is_refused() -> None:
    with pytest.raises(DataError, match="batch 0 has 2 observations and actions of shape"):
        checked([{"obs": np.zeros((2, 4)), "acts": np.zeros(3)}])
