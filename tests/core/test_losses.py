"""Loss inputs, objectives and schedules: values by thought, one forward pass, and whose fault it is when one raises."""

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from cloning import OBS, TWO, ignorant_policy, policy_for
from mimetic.errors import ComponentFailedError, SpaceError
from mimetic.losses import CosineSchedule, LinearSchedule, LossInputs, WeightedTerm, evaluate_objective

SPACES: dict[str, gym.Space[Any]] = {
    "discrete": spaces.Discrete(3),
    "discrete from one": spaces.Discrete(3, start=1),
    "box": spaces.Box(-2.0, 2.0, (2,), np.float32),
    "box of rank two": spaces.Box(-2.0, 2.0, (2, 3), np.float32),
    "integer box": spaces.Box(0, 5, (2,), np.int64),
    "multi-discrete": spaces.MultiDiscrete([2, 3]),
    "multi-discrete of rank two": spaces.MultiDiscrete(np.array([[2, 3], [4, 2]])),
    "multi-binary": spaces.MultiBinary(3),
}


def batch_for(space: gym.Space[Any], n: int = 6) -> tuple[Tensor, Tensor]:
    space.seed(0)
    obs = torch.from_numpy(np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32))
    return obs, torch.from_numpy(np.stack([np.asarray(space.sample()) for _ in range(n)]))


def inputs_for(policy: ActorCriticPolicy, n: int = 6) -> LossInputs:
    return LossInputs(policy, *batch_for(policy.action_space, n))


# --- what a policy says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_actions", [2, 3, 7])
def test_a_policy_that_knows_nothing_gives_every_action_one_nth(n_actions: int) -> None:
    inputs = inputs_for(ignorant_policy(spaces.Discrete(n_actions)))

    assert inputs.log_prob.tolist() == pytest.approx([-math.log(n_actions)] * 6)
    assert inputs.entropy is not None
    assert inputs.entropy.tolist() == pytest.approx([math.log(n_actions)] * 6)


def test_a_standard_normal_has_its_textbook_density_and_entropy() -> None:
    policy = ignorant_policy(spaces.Box(-9, 9, (1,), np.float32))
    acts = torch.tensor([[0.0], [1.0], [-3.0]])

    inputs = LossInputs(policy, torch.zeros(3, 4), acts)

    normal = 0.5 * math.log(2 * math.pi)
    assert inputs.log_prob.tolist() == pytest.approx([-normal, -normal - 0.5, -normal - 4.5])
    assert inputs.entropy is not None
    assert inputs.entropy.tolist() == pytest.approx([normal + 0.5] * 3)


def test_several_choices_add_up() -> None:
    inputs = inputs_for(ignorant_policy(spaces.MultiDiscrete([2, 5])))

    assert inputs.log_prob.tolist() == pytest.approx([-math.log(10)] * 6)
    assert inputs.entropy is not None
    assert inputs.entropy.tolist() == pytest.approx([math.log(10)] * 6)


def test_a_fair_switch_pays_log_two() -> None:
    inputs = inputs_for(ignorant_policy(spaces.MultiBinary(3)))

    assert inputs.log_prob.tolist() == pytest.approx([-3 * math.log(2)] * 6)
    assert inputs.entropy is not None
    assert inputs.entropy.tolist() == pytest.approx([3 * math.log(2)] * 6)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_the_short_way_says_what_evaluate_actions_says(space: gym.Space[Any]) -> None:
    policy = policy_for(space)
    obs, acts = batch_for(space)

    inputs = LossInputs(policy, obs, acts)
    _, log_prob, entropy = policy.evaluate_actions(obs, acts)

    torch.testing.assert_close(inputs.log_prob, log_prob)
    torch.testing.assert_close(inputs.entropy, entropy)
    torch.testing.assert_close(inputs.distribution.log_prob(inputs.targets), log_prob)


@pytest.mark.parametrize("name", ["discrete", "box", "multi-discrete", "multi-binary"])
def test_the_gradients_of_the_short_way_are_those_of_evaluate_actions(name: str) -> None:
    policy = policy_for(SPACES[name])
    obs, acts = batch_for(SPACES[name])
    _, log_prob, entropy = policy.evaluate_actions(obs, acts)
    assert entropy is not None
    (log_prob.mean() + entropy.mean()).backward()  # type: ignore[no-untyped-call]  # torch's
    expected = {key: p.grad.clone() for key, p in policy.named_parameters() if p.grad is not None}
    policy.zero_grad()

    inputs = LossInputs(policy, obs, acts)
    assert inputs.entropy is not None
    (inputs.log_prob.mean() + inputs.entropy.mean()).backward()  # type: ignore[no-untyped-call]  # torch's

    for key, parameter in policy.named_parameters():
        if key in expected:
            torch.testing.assert_close(parameter.grad, expected[key])


def test_stable_baselines3s_own_policy_is_read_too() -> None:
    space = spaces.Box(-1.0, 1.0, (2, 2), np.float32)
    policy = ActorCriticPolicy(OBS, space, lambda _: 1e-3, net_arch=[8])
    obs, acts = batch_for(space)

    log_prob = LossInputs(policy, obs, acts).log_prob

    torch.testing.assert_close(log_prob, policy.evaluate_actions(obs, acts.flatten(1))[1])


def test_a_space_that_stable_baselines3s_own_policy_gets_wrong_is_refused() -> None:
    policy = ActorCriticPolicy(OBS, spaces.Discrete(3, start=1), lambda _: 1e-3, net_arch=[8])

    with pytest.raises(SpaceError, match=r"own policies do not know Discrete\(3, start=1\)"):
        _ = inputs_for(policy).log_prob


def test_a_policy_with_its_own_evaluate_actions_is_asked_through_it() -> None:
    class Sure(ActorCriticPolicy):
        def evaluate_actions(self, obs: Any, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
            return torch.zeros(len(actions), 1), torch.full((len(actions),), -0.25), None

    inputs = inputs_for(Sure(OBS, TWO, lambda _: 1e-3))

    assert inputs.log_prob.tolist() == [-0.25] * 6
    assert inputs.entropy is None


def test_a_squashed_state_dependent_policy_has_no_entropy_and_still_a_log_probability() -> None:
    policy = ActorCriticPolicy(
        OBS, spaces.Box(-3, 3, (2,), np.float32), lambda _: 1e-3, use_sde=True, squash_output=True
    )

    inputs = inputs_for(policy)

    assert inputs.entropy is None
    assert torch.isfinite(inputs.log_prob).all()


def test_terms_share_one_forward_pass() -> None:
    policy = policy_for(TWO)
    calls = []
    policy.action_net.register_forward_hook(lambda *_: calls.append(1))
    terms = [
        WeightedTerm("a", 1.0, lambda inputs: -inputs.log_prob.mean()),
        WeightedTerm("b", 1.0, lambda inputs: inputs.log_prob.square().mean() - _entropy(inputs).mean()),
        WeightedTerm("c", 1.0, lambda inputs: inputs.distribution.distribution.logits.mean()),
    ]

    evaluate_objective(terms, inputs_for(policy))

    assert len(calls) == 1


def test_what_no_term_asks_for_is_not_computed() -> None:
    policy = policy_for(TWO)
    policy.action_net.register_forward_hook(lambda *_: pytest.fail("the policy was asked"))

    objective = evaluate_objective([WeightedTerm("l1", 1.0, _l1)], inputs_for(policy))

    assert objective.total > 0


def test_the_value_network_is_left_alone() -> None:
    policy = policy_for(TWO)
    policy.value_net.register_forward_hook(lambda *_: pytest.fail("the value network was asked"))

    assert inputs_for(policy).log_prob.shape == (6,)


def test_the_parameters_are_all_of_the_policys() -> None:
    policy = policy_for(TWO)

    assert [p.data_ptr() for p in inputs_for(policy).parameters] == [p.data_ptr() for p in policy.parameters()]


# --- the objective --------------------------------------------------------------------------------------------------


def test_the_objective_is_the_weighted_sum() -> None:
    terms = [WeightedTerm("one", 2.0, _constant(3.0)), WeightedTerm("other", -0.5, _constant(4.0))]

    objective = evaluate_objective(terms, inputs_for(policy_for(TWO)))

    assert objective.total.item() == 2.0 * 3.0 - 0.5 * 4.0
    assert {name: value.item() for name, value in objective.terms.items()} == {"one": 3.0, "other": 4.0}


def test_a_weight_follows_its_schedule() -> None:
    term = WeightedTerm("one", LinearSchedule(4.0, 0.0), _constant(1.0))
    inputs = inputs_for(policy_for(TWO))

    totals = [evaluate_objective([term], inputs, progress).total.item() for progress in (0.0, 0.25, 1.0)]

    assert totals == [4.0, 3.0, 0.0]


def test_a_cosine_schedule_is_flat_at_both_ends_and_half_way_in_the_middle() -> None:
    schedule = CosineSchedule(3.0, 1.0)

    assert [schedule(p) for p in (0.0, 0.5, 1.0)] == pytest.approx([3.0, 2.0, 1.0])
    assert schedule(0.01) > LinearSchedule(3.0, 1.0)(0.01)
    assert schedule(0.99) < LinearSchedule(3.0, 1.0)(0.99)


def test_a_term_without_weight_adds_nothing_even_when_it_is_infinite() -> None:
    terms = [WeightedTerm("one", 1.0, _constant(3.0)), WeightedTerm("other", 0.0, _constant(math.inf))]

    objective = evaluate_objective(terms, inputs_for(policy_for(TWO)))

    assert objective.total.item() == 3.0
    assert objective.terms["other"].item() == math.inf


def test_a_term_without_weight_can_be_left_out() -> None:
    terms = [WeightedTerm("one", 1.0, _constant(3.0)), WeightedTerm("other", 0.0, lambda _: pytest.fail("evaluated"))]

    objective = evaluate_objective(terms, inputs_for(policy_for(TWO)), skip_weightless=True)

    assert set(objective.terms) == {"one"}


def test_a_term_without_weight_takes_no_gradients_from_one_with() -> None:
    terms = [
        WeightedTerm("watched", 0.0, lambda inputs: inputs.log_prob.mean()),
        WeightedTerm("trained", 1.0, lambda inputs: -inputs.log_prob.mean()),
    ]

    objective = evaluate_objective(terms, inputs_for(policy_for(TWO)))

    assert objective.total.requires_grad
    assert not objective.terms["watched"].requires_grad


def test_a_term_that_raises_is_named_with_its_provider() -> None:
    term = WeightedTerm("acme.margin", 1.0, _raise, "acme-mimetic 1.2")

    with pytest.raises(
        ComponentFailedError, match=r"'acme\.margin' of acme-mimetic 1\.2 raised KeyError: 'gone'"
    ) as caught:
        evaluate_objective([term], inputs_for(policy_for(TWO)))

    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("value", "seen"),
    [(torch.zeros(1), r"shape \(1,\)"), (torch.zeros(3, 2), r"shape \(3, 2\)"), (1.5, "1.5 of type float")],
)
def test_a_term_that_is_no_scalar_is_named(value: Any, seen: str) -> None:
    with pytest.raises(ComponentFailedError, match=rf"'wide' gave .*{seen}; expected a tensor with one number"):
        evaluate_objective([WeightedTerm("wide", 1.0, lambda _: value)], inputs_for(policy_for(TWO)))


def test_a_policy_that_raises_is_blamed_itself_and_not_the_term_that_asked() -> None:
    class Broken(ActorCriticPolicy):
        def evaluate_actions(self, obs: Any, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
            raise RuntimeError("no weights")

    term = WeightedTerm("nll", 1.0, lambda inputs: -inputs.log_prob.mean())

    with pytest.raises(ComponentFailedError, match=r"^policy .*Broken raised RuntimeError: no weights"):
        evaluate_objective([term], inputs_for(Broken(OBS, TWO, lambda _: 1e-3)))


def test_log_probabilities_that_are_not_one_a_row_are_refused() -> None:
    """Broadcasting (N,) against (N, 1) gives (N, N), whose mean trains a useless policy without a word."""

    class Broadcasting(ActorCriticPolicy):
        def evaluate_actions(self, obs: Any, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
            n = len(actions)
            return torch.zeros(n, 1), torch.zeros(n, n), None

    with pytest.raises(ComponentFailedError, match=r"log-probabilities of shape \(6, 6\) .* expected \(6,\)"):
        _ = inputs_for(Broadcasting(OBS, TWO, lambda _: 1e-3)).log_prob


def _constant(value: float) -> Any:
    return lambda inputs: torch.tensor(value)


def _raise(inputs: LossInputs) -> Tensor:
    raise KeyError("gone")


def _l1(inputs: LossInputs) -> Tensor:
    return torch.stack([parameter.abs().sum() for parameter in inputs.parameters]).sum()


def _entropy(inputs: LossInputs) -> Tensor:
    assert inputs.entropy is not None
    return inputs.entropy
