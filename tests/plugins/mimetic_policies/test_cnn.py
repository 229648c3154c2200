"""The policy `cnn`: BC-2."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticCnnPolicy

from mimetic.errors import SpaceError
from mimetic.policies import as_actor
from mimetic_policies.nature import NatureFeatures, layout_of
from some_spaces import THREE, made


def image(*shape: int, dtype: Any = np.uint8, high: float = 255) -> spaces.Box:
    return spaces.Box(0, high, shape, dtype)


def frames(n: int = 4) -> np.ndarray:
    """Frames with sides that differ, channels last."""
    return np.random.default_rng(0).integers(0, 256, (n, 64, 48, 3), dtype=np.uint8)


LAST, FIRST = image(64, 48, 3), image(3, 64, 48)


def trained_pair() -> tuple[Any, Any]:
    """A policy for channels last that was trained a little, and one for channels first with its weights."""
    last, first = made("cnn:features_dim=16", LAST, seed=1), made("cnn:features_dim=16", FIRST, seed=2)
    optimizer = torch.optim.Adam(last.parameters(), lr=1e-2)
    obs = torch.as_tensor(frames(12))
    for _ in range(5):
        optimizer.zero_grad()
        (-last.evaluate_actions(obs, torch.arange(12) % 3)[1].mean()).backward()
        optimizer.step()
    first.load_state_dict(last.state_dict())
    return last, first


def test_a_policy_for_channels_last_acts_the_same_on_the_transposed_frame_through_the_other_path() -> None:
    last, first = trained_pair()
    obs = frames(12)
    transposed = np.ascontiguousarray(obs.transpose(0, 3, 1, 2))

    with torch.no_grad():
        features = last.extract_features(torch.as_tensor(obs))
        assert torch.equal(features, first.extract_features(torch.as_tensor(transposed)))
        assert torch.equal(features, last.extract_features(torch.as_tensor(transposed)))
    expected, _ = last.predict(obs, deterministic=True)
    for policy, given in ((first, transposed), (last, transposed), (first, obs)):
        assert np.array_equal(policy.predict(given, deterministic=True)[0], expected)
    assert len(set(expected.tolist())) > 1


@pytest.mark.parametrize("space", [LAST, FIRST], ids=["channels last", "channels first"])
def test_one_raw_frame_is_predicted(space: spaces.Box) -> None:
    policy = made("cnn:features_dim=16", space)
    frame = frames(1)[0] if space is LAST else frames(1)[0].transpose(2, 0, 1)

    act, _ = policy.predict(frame, deterministic=True)

    assert act.shape == ()
    assert act in range(3)


@pytest.mark.parametrize("given", [LAST, FIRST], ids=["channels last", "channels first"])
@pytest.mark.parametrize("own", [LAST, FIRST], ids=["for channels last", "for channels first"])
def test_environments_of_either_layout_can_be_evaluated(own: spaces.Box, given: spaces.Box) -> None:
    actor = as_actor(
        made("cnn:features_dim=16", own),
        observation_space=given,
        action_space=THREE,
        n_envs=2,
        deterministic=True,
        exact=True,
    )

    acts, _ = actor(frames(2) if given is LAST else frames(2).transpose(0, 3, 1, 2), None, np.zeros(2, bool))

    assert acts.shape == (2,)


@pytest.mark.parametrize(
    ("space", "largest"),
    [
        (image(40, 44, 3), 1.0),
        (image(40, 44, 3, dtype=np.float32), 1.0),
        (image(40, 44, 3, dtype=np.float32, high=1.0), 1.0),
        (spaces.Box(-np.inf, np.inf, (40, 44, 3), np.float32), 255.0),
    ],
    ids=["bytes", "floats up to 255", "floats up to 1", "floats without bounds"],
)
def test_pixels_are_divided_by_255_once_and_only_where_they_go_so_far(space: spaces.Box, largest: float) -> None:
    seen: list[torch.Tensor] = []
    features = NatureFeatures(space, 4)
    features.cnn.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    top = min(float(space.high.max()), 255.0)

    features(torch.full((1, *space.shape), top, dtype=torch.uint8 if space.dtype == np.uint8 else torch.float32))

    assert seen[0].max().item() == largest


def test_scaling_can_be_switched_off() -> None:
    seen: list[torch.Tensor] = []
    features = NatureFeatures(image(40, 44, 3), 4, normalize_images=False)
    features.cnn.register_forward_pre_hook(lambda module, args: seen.append(args[0]))

    features(torch.full((1, 40, 44, 3), 255, dtype=torch.uint8))

    assert seen[0].max().item() == 255.0


# --- layouts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((64, 48, 3), "hwc"),
        ((36, 36, 3), "hwc"),
        ((84, 84, 4), "hwc"),
        ((84, 84, 12), "hwc"),
        ((210, 160, 1), "hwc"),
        ((7, 7, 3), "hwc"),
        ((3, 64, 48), "chw"),
        ((4, 84, 84), "chw"),
        ((12, 96, 96), "chw"),
        ((84, 84), "hw"),
    ],
)
def test_a_clear_layout_is_read_off_the_shape(shape: tuple[int, ...], layout: str) -> None:
    assert layout_of(image(*shape)) == layout


@pytest.mark.parametrize("shape", [(3, 64, 3), (64, 3, 64), (10, 12, 16), (8, 8, 8), (2, 3, 4), (16, 3, 64)])
def test_an_ambiguous_layout_is_asked_for_not_guessed(shape: tuple[int, ...]) -> None:
    with pytest.raises(SpaceError, match=r"does not tell where its channels are: set layout to hwc .* or chw"):
        made("cnn", image(*shape))


@pytest.mark.parametrize("layout", ["hwc", "chw"])
def test_an_ambiguous_layout_that_was_told_works(layout: str) -> None:
    policy = made(f"cnn:features_dim=4,layout={layout}", image(3, 64, 3))

    n_channels = policy.features_extractor.cnn[0].in_channels

    assert n_channels == 3
    assert policy.features_extractor.layout == layout
    assert policy.predict(np.zeros((3, 64, 3), np.uint8))[0].shape == ()


@pytest.mark.parametrize("shape", [(36, 36, 3), (35, 40, 3), (16, 16, 3), (7, 7, 3), (5, 5, 1), (4, 20, 20), (24, 24)])
def test_small_images_work(shape: tuple[int, ...]) -> None:
    """The convolutions need 36 pixels a side; less gets a margin of zeros."""
    policy = made("cnn:features_dim=4", image(*shape))

    acts, _ = policy.predict(np.zeros((2, *shape), np.uint8), deterministic=True)

    assert acts.shape == (2,)


def test_every_pixel_of_a_small_image_counts() -> None:
    features = NatureFeatures(image(5, 6, 3), 32)
    frame = torch.zeros(1, 5, 6, 3)
    with torch.no_grad():
        before = features(frame)
        for row in range(5):
            for column in range(6):
                moved = frame.clone()
                moved[0, row, column] = 255.0
                assert not torch.equal(features(moved), before), (row, column)


@pytest.mark.parametrize("space", [spaces.Box(0, 1, (4,)), spaces.Discrete(3)])
def test_what_holds_no_images_is_refused(space: Any) -> None:
    with pytest.raises(SpaceError, match=r"holds no images: expected a Box of shape \(H, W\), \(H, W, C\)"):
        made("cnn", space)


def test_a_frame_of_another_size_is_refused_with_both_shapes() -> None:
    with pytest.raises(SpaceError, match=r"observation shape \(32, 48, 3\) != space shape \(64, 48, 3\)"):
        made("cnn:features_dim=4", LAST).predict(np.zeros((32, 48, 3), np.uint8))


# --- beside SB3 -------------------------------------------------------------------------------------------------


def test_its_weights_go_into_sb3_s_own_image_policy_and_act_the_same() -> None:
    space = image(3, 64, 48)
    ours = made("cnn", space)
    theirs = ActorCriticCnnPolicy(space, THREE, lambda _: 1e-3)

    theirs.load_state_dict(ours.state_dict())

    obs = frames(3).transpose(0, 3, 1, 2)
    assert np.array_equal(ours.predict(obs, deterministic=True)[0], theirs.predict(obs, deterministic=True)[0])
