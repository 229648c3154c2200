import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings, strategies as st
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.errors import SpaceError
from mimetic.policies import FlatFeatures, MimeticPolicy, codec_of
from some_spaces import (
    ACTION_SPACES,
    OBSERVATION_SPACES,
    THREE,
    VECTOR,
    Space,
    action_spaces,
    observation_spaces,
    rows,
    samples,
)


def policy_for(observation_space: Space = VECTOR, action_space: Space = THREE, **options: Any) -> Any:
    torch.manual_seed(0)
    return MimeticPolicy(observation_space, action_space, net_arch=[8], **options)


def single(obs: Any) -> Any:
    return rows(obs, 0)


@pytest.mark.parametrize("name", ACTION_SPACES)
def test_every_action_space_trains_and_predicts_members(name: str) -> None:
    space = ACTION_SPACES[name]
    policy = policy_for(action_space=space)
    acts = torch.as_tensor(samples(space, 6))

    values, log_prob, entropy = policy.evaluate_actions(torch.ones(6, 4), acts)
    (-log_prob.mean()).backward()
    predicted, _ = policy.predict(samples(VECTOR, 6))
    one, _ = policy.predict(samples(VECTOR, 1)[0], deterministic=True)

    assert values.shape == (6, 1)
    assert log_prob.shape == (6,)
    assert entropy is not None
    assert entropy.shape == (6,)
    assert policy.action_net.weight.grad.abs().sum() > 0
    assert all(space.contains(np.asarray(act)) for act in predicted)
    assert space.contains(one)


@pytest.mark.parametrize("name", OBSERVATION_SPACES)
def test_every_observation_space_can_be_predicted_from_alone_and_in_batches(name: str) -> None:
    space = OBSERVATION_SPACES[name]
    policy = policy_for(space)
    obs = samples(space, 3)

    batch, _ = policy.predict(obs, deterministic=True)
    alone, _ = policy.predict(single(obs), deterministic=True)

    assert batch.shape == (3,)
    assert alone.shape == ()
    assert alone == batch[0]


@settings(max_examples=25, deadline=None)
@given(observation_spaces(), action_spaces(), st.booleans())
def test_any_pair_of_spaces_is_predicted_and_evaluated(observed: Space, acted: Space, deterministic: bool) -> None:
    policy = policy_for(observed, acted)
    obs, acts = samples(observed, 2), samples(acted, 2)

    predicted, _ = policy.predict(obs, deterministic=deterministic)
    _, log_prob, _ = policy.evaluate_actions(policy.obs_to_tensor(obs)[0], torch.as_tensor(acts))

    assert all(acted.contains(np.asarray(act)) for act in predicted)
    assert torch.isfinite(log_prob).all()


def test_unsupported_spaces_are_refused_at_construction_by_name() -> None:
    with pytest.raises(SpaceError, match=r"Tuple is not supported as observation space, or inside it.*and Dict"):
        policy_for(spaces.Dict(a=spaces.Tuple((spaces.Discrete(2),))))
    with pytest.raises(SpaceError, match="Text is not supported as action space"):
        policy_for(action_space=spaces.Text(3))


def test_forward_gives_actions_with_the_log_probability_that_they_are_evaluated_to() -> None:
    for space in ACTION_SPACES.values():
        policy = policy_for(action_space=space)

        acts, values, log_prob = policy(torch.ones(5, 4))
        again_values, again, _ = policy.evaluate_actions(torch.ones(5, 4), acts)

        assert acts.shape == (5, *space.shape) if space.shape else (5,)
        torch.testing.assert_close(again, log_prob)
        torch.testing.assert_close(again_values, values)


def test_where_sb3_knows_the_space_numbers_are_its_own() -> None:
    """Same weights, same observation: same log-probability, entropy, value and deterministic action."""
    for space in (spaces.Discrete(3), spaces.Box(-1, 1, (2,)), spaces.MultiDiscrete([2, 3])):
        ours = policy_for(action_space=space)
        theirs = ActorCriticPolicy(VECTOR, space, lambda _: 1e-3, net_arch=[8])
        theirs.load_state_dict(ours.state_dict())
        obs, acts = samples(VECTOR, 4), torch.as_tensor(samples(space, 4))

        for mine, other in zip(
            ours.evaluate_actions(torch.as_tensor(obs), acts),
            theirs.evaluate_actions(torch.as_tensor(obs), acts),
            strict=True,
        ):
            assert other is not None
            assert torch.equal(mine, other)
        mine_act, _ = ours.predict(obs, deterministic=True)
        other_act, _ = theirs.predict(obs, deterministic=True)
        assert np.array_equal(mine_act, other_act)


def test_prediction_leaves_the_training_mode_as_it_was() -> None:
    """BUG-07: a policy that stays in evaluation mode stops learning its statistics."""
    policy = policy_for()

    policy.train()
    policy.predict(samples(VECTOR, 1))
    assert policy.training

    policy.eval()
    policy.predict(samples(VECTOR, 1))
    assert not policy.training


def test_a_biased_policy_sends_actions_within_the_bounds() -> None:
    """BC-9: the mean is at 5, the bound at 1."""
    policy = policy_for(action_space=spaces.Box(-1, 1, (1,)))
    torch.nn.init.constant_(policy.action_net.bias, 5.0)

    assert policy.predict(samples(VECTOR, 3))[0].max() <= 1.0
    assert policy.predict(samples(VECTOR, 3), deterministic=True)[0].tolist() == [[1.0]] * 3


PAIRS = [(observed, "Discrete") for observed in OBSERVATION_SPACES] + [("a flat box", acted) for acted in ACTION_SPACES]


@pytest.mark.parametrize(("observed", "acted"), PAIRS)
def test_every_tensor_of_a_loss_is_on_the_policy_s_device(
    observed: str, acted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BC-5, on torch's meta device: a tensor left on the CPU would not go together with the others."""
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", False)  # it would look at values
    policy = policy_for(OBSERVATION_SPACES[observed], ACTION_SPACES[acted]).to("meta")
    obs, _ = policy.obs_to_tensor(samples(OBSERVATION_SPACES[observed], 3))
    acts = torch.as_tensor(samples(ACTION_SPACES[acted], 3)).to("meta")

    values, log_prob, entropy = policy.evaluate_actions(obs, acts)
    drawn, _, _ = policy(obs)

    assert {tensor.device.type for tensor in (values, log_prob, entropy, drawn)} == {"meta"}


# --- squashed policies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_sde", [False, True])
def test_a_squashed_policy_fits_the_environment_s_actions(use_sde: bool) -> None:
    """BUG-18: the reference fits raw actions while prediction rescales, so the two disagree."""
    space = spaces.Box(np.array([10.0], np.float32), np.array([20.0], np.float32))
    policy = policy_for(action_space=space, squash_output=True, use_sde=use_sde)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
    obs = torch.zeros(16, 4)

    for _ in range(150):
        _, log_prob, entropy = policy.evaluate_actions(obs, torch.full((16, 1), 18.0))
        optimizer.zero_grad()
        (-log_prob.mean()).backward()
        optimizer.step()

    assert entropy is None
    assert policy.predict(np.zeros(4, np.float32), deterministic=True)[0].item() == pytest.approx(18.0, abs=0.3)


def test_a_squashed_policy_learns_from_demonstrations_at_the_bound() -> None:
    """BC-9: SB3's own log-probability there was seen at -3.5e7."""
    policy = policy_for(action_space=spaces.Box(-1, 1, (1,)), squash_output=True)

    _, log_prob, _ = policy.evaluate_actions(torch.zeros(2, 4), torch.tensor([[1.0], [-1.0]]))

    assert log_prob.min() > -50.0


def test_squashed_actions_leave_the_policy_in_the_environment_s_bounds() -> None:
    """So SB3 must not rescale them again."""
    policy = policy_for(action_space=spaces.Box(10, 20, (2,)), squash_output=True)

    acts, _, _ = policy(torch.zeros(50, 4))

    assert acts.min() >= 10.0
    assert acts.max() <= 20.0
    assert policy.squash_output is False


def test_state_dependent_noise_is_for_boxes() -> None:
    with pytest.raises(SpaceError, match="use_sde is for Box actions"):
        policy_for(use_sde=True)


# --- what comes in ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 5, 4), ()])
def test_a_wrong_shape_is_refused_with_both_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(SpaceError, match=r"observation shape .* != space shape \(4,\)"):
        policy_for().predict(np.zeros(shape, np.float32))


def test_parts_must_all_be_single_or_all_be_batches() -> None:
    policy = policy_for(OBSERVATION_SPACES["Dict"])

    with pytest.raises(SpaceError, match="some parts of the observation are single and some are batches"):
        policy.predict({"position": np.zeros((2, 2), np.float32), "room": np.array(1)})


def test_a_category_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"an observation \[\[9\]\] is not in Discrete\(4, start=2\)"):
        policy_for(OBSERVATION_SPACES["Discrete that starts at 2"]).predict(np.array(9))


def test_what_gymnasium_s_reset_returns_is_refused_with_a_hint() -> None:
    with pytest.raises(ValueError, match="pass its first part"):
        policy_for().predict((np.zeros(4, np.float32), {}))


def test_an_author_s_own_extractor_gets_what_sb3_makes_of_observations() -> None:
    from stable_baselines3.common.torch_layers import FlattenExtractor

    policy = policy_for(spaces.Discrete(5), features_extractor_class=FlattenExtractor)

    assert policy.predict(np.array([1, 4]), deterministic=True)[0].shape == (2,)


def test_actor_and_critic_may_have_extractors_of_their_own() -> None:
    policy = policy_for(
        features_extractor_kwargs={"normalize": True},
        features_extractor_class=FlatFeatures,
        share_features_extractor=False,
    )

    acts, values, log_prob = policy(torch.zeros(3, 4))

    assert (acts.shape, values.shape, log_prob.shape) == ((3,), (3, 1), (3,))
    assert policy.predict_values(torch.zeros(3, 4)).shape == (3, 1)


def test_uniform_logits_pay_log_n_for_every_action() -> None:
    policy = policy_for(action_space=spaces.Discrete(3, start=-7))
    torch.nn.init.zeros_(policy.action_net.weight)

    _, log_prob, _ = policy.evaluate_actions(torch.randn(3, 4), torch.tensor([-7, -6, -5]))

    assert log_prob.tolist() == pytest.approx([-math.log(3)] * 3)


# --- SB3's own policies -----------------------------------------------------------------------------------------


def test_the_codec_of_sb3_s_own_policy_is_made_from_its_space() -> None:
    policy = ActorCriticPolicy(VECTOR, spaces.Box(0, 10, (1,)), lambda _: 1e-3, use_sde=True, squash_output=True)

    assert codec_of(policy).encode(np.array([[5.0]])).item() == 0.0


@pytest.mark.parametrize("space", [spaces.Discrete(3, start=1), spaces.MultiDiscrete([2, 3], start=[1, 0])])
def test_what_sb3_s_own_policies_do_not_know_is_refused(space: Space) -> None:
    with pytest.raises(SpaceError, match="stable-baselines3's own policies do not know"):
        codec_of(ActorCriticPolicy(VECTOR, space, lambda _: 1e-3))
