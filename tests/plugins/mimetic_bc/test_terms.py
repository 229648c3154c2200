"""The shipped loss terms: values by thought, spaces that they refuse, and devices that they keep to."""

import math
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from torch.distributions import Distribution

from cloning import OBS, TWO, ignorant_policy, policy_for
from mimetic.config import parse_choice
from mimetic.config.slots import LossChoice
from mimetic.errors import ConfigError, SpaceError
from mimetic.hookspecs import LossContext
from mimetic.losses import LossInputs, LossTerm, build_term, build_terms
from mimetic.plugins import registry
from mimetic.policies import MimeticPolicy

LINE = spaces.Box(-9.0, 9.0, (1,), np.float32)


def term(name: str, action_space: gym.Space[Any] = TWO, **options: Any) -> LossTerm:
    context = LossContext(action_space=action_space, device=torch.device("cpu"))
    built: LossTerm = registry().build("loss", name, options, context)
    return built


def inputs_for(policy: MimeticPolicy, acts: list[Any]) -> LossInputs:
    return LossInputs(policy, torch.zeros(len(acts), 4), torch.tensor(acts))


def with_weights(policy: MimeticPolicy, weights: dict[str, list[float]]) -> MimeticPolicy:
    policy.load_state_dict({**policy.state_dict(), **{name: torch.tensor(w) for name, w in weights.items()}})
    return policy


def with_log_std(value: float) -> MimeticPolicy:
    return with_weights(ignorant_policy(LINE), {"log_std": [value]})


@pytest.mark.parametrize("n_actions", [2, 3, 10])
def test_a_uniform_policy_pays_log_n_actions(n_actions: int) -> None:
    """A policy that knows nothing pays log(n) nats for every action."""
    inputs = inputs_for(ignorant_policy(spaces.Discrete(n_actions)), [0, 1, 0])

    assert term("nll")(inputs).item() == pytest.approx(math.log(n_actions))


def test_a_normal_policy_pays_for_the_squared_distance() -> None:
    inputs = inputs_for(ignorant_policy(LINE), [[0.0], [2.0]])

    assert term("nll", LINE)(inputs).item() == pytest.approx(0.5 * math.log(2 * math.pi) + (0.0 + 2.0) / 2)


def test_entropy_is_rewarded_so_the_term_is_minus_it() -> None:
    assert term("entropy")(inputs_for(ignorant_policy(TWO), [0, 1])).item() == pytest.approx(-math.log(2))


def test_the_entropy_of_a_normal_policy_grows_with_the_log_of_its_width() -> None:
    wide, narrow = (term("entropy", LINE)(inputs_for(with_log_std(s), [[0.0]])).item() for s in (1.0, 0.0))

    assert narrow - wide == pytest.approx(1.0)


def test_the_norm_counts_every_weight_value_network_included() -> None:
    policy = with_weights(ignorant_policy(TWO), {"value_net.bias": [3.0], "action_net.bias": [-1.0, 2.0]})

    expected = 0.5 * (3.0**2 + 1.0**2 + 2.0**2)

    assert term("l2")(inputs_for(policy, [0])).item() == pytest.approx(expected)


def test_the_gradient_of_the_norm_is_the_weights() -> None:
    policy = policy_for(TWO)

    term("l2")(inputs_for(policy, [0])).backward()  # type: ignore[no-untyped-call]  # torch's

    for parameter in policy.parameters():
        torch.testing.assert_close(parameter.grad, parameter.detach())


def test_mse_is_the_mean_square_of_the_distance_of_the_mean_action() -> None:
    assert term("mse", LINE)(inputs_for(ignorant_policy(LINE), [[1.0], [-3.0]])).item() == pytest.approx((1 + 9) / 2)


def test_mse_does_not_care_how_sure_the_policy_is() -> None:
    sure, unsure = (term("mse", LINE)(inputs_for(with_log_std(s), [[1.0]])).item() for s in (-2.0, 2.0))

    assert sure == unsure == pytest.approx(1.0)


def test_huber_is_quadratic_near_and_linear_far() -> None:
    huber = term("huber", LINE, delta=2.0)

    near, far = (huber(inputs_for(ignorant_policy(LINE), [[act]])).item() for act in (1.0, 5.0))

    assert near == pytest.approx(0.5)
    assert far == pytest.approx(2.0 * (5.0 - 1.0))


def test_a_squashed_policy_is_compared_where_its_distribution_lives() -> None:
    """Action 9 of [-9, 9] is 1 in [-1, 1]; a policy of zeros sits in the middle."""
    policy = MimeticPolicy(OBS, LINE, net_arch=[8], squash_output=True)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()

    assert term("mse", LINE)(inputs_for(policy, [[9.0], [0.0]])).item() == pytest.approx(0.5, abs=1e-5)


def test_cross_entropy_without_smoothing_is_the_negative_log_likelihood() -> None:
    space = spaces.MultiDiscrete([2, 3])
    inputs = inputs_for(policy_for(space), [[0, 2], [1, 1]])

    torch.testing.assert_close(term("cross-entropy", space)(inputs), term("nll", space)(inputs))


def test_label_smoothing_spreads_a_share_of_the_target_over_all_choices() -> None:
    policy = with_weights(ignorant_policy(TWO), {"action_net.bias": [math.log(3.0), 0.0]})  # probabilities 3/4 and 1/4
    smooth = term("cross-entropy", TWO, label_smoothing=0.2)

    loss = smooth(inputs_for(policy, [0])).item()

    assert loss == pytest.approx(-0.9 * math.log(0.75) - 0.1 * math.log(0.25))


@pytest.mark.parametrize("name", ["mse", "huber"])
@pytest.mark.parametrize("space", [TWO, spaces.MultiDiscrete([2, 2]), spaces.MultiBinary(2)], ids=str)
def test_a_distance_is_refused_for_actions_without_one(name: str, space: gym.Space[Any]) -> None:
    with pytest.raises(SpaceError, match=rf"loss term '{name}' is for Box actions, the action space is "):
        term(name, space)


@pytest.mark.parametrize("space", [LINE, spaces.MultiBinary(2)], ids=str)
def test_cross_entropy_is_refused_for_actions_that_are_no_choice(space: gym.Space[Any]) -> None:
    with pytest.raises(SpaceError, match="'cross-entropy' is for Discrete and MultiDiscrete actions"):
        term("cross-entropy", space)


@pytest.fixture
def _unchecked_distributions() -> Iterator[None]:
    """As in training; the checks read values back, which a tensor on the meta device does not have."""
    Distribution.set_default_validate_args(False)
    yield
    Distribution.set_default_validate_args(True)


@pytest.mark.usefixtures("_unchecked_distributions")
@pytest.mark.parametrize("name", ["nll", "entropy", "l2", "mse", "huber"])
def test_every_term_stays_on_the_device_of_the_policy(name: str) -> None:
    """The meta device stands for a GPU: whatever makes a tensor on the CPU cannot be mixed with it."""
    policy = policy_for(LINE).to("meta")
    inputs = LossInputs(policy, torch.zeros(3, 4, device="meta"), torch.zeros(3, 1, device="meta"))

    assert term(name, LINE)(inputs).device.type == "meta"


@pytest.mark.usefixtures("_unchecked_distributions")
def test_a_policy_without_entropy_gets_a_zero_on_its_own_device() -> None:
    """The reference made it on the CPU, with shape (1,), so that training on a GPU failed."""

    class NoEntropy(MimeticPolicy):
        def evaluate_actions(self, obs: Any, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
            values, log_prob, _ = super().evaluate_actions(obs, actions)
            return values, log_prob, None

    policy = NoEntropy(OBS, LINE, net_arch=[8]).to("meta")
    inputs = LossInputs(policy, torch.zeros(3, 4, device="meta"), torch.zeros(3, 1, device="meta"))

    zero = term("entropy", LINE)(inputs)

    assert (zero.device.type, zero.shape) == ("meta", ())


# --- as parts of a run file -----------------------------------------------------------------------------------------


def choice(name: str, weight: Any) -> LossChoice:
    chosen = parse_choice(name, "loss")
    return LossChoice("loss", chosen.name, chosen.config, weight, chosen.name)


def test_a_term_of_a_run_file_knows_its_provider() -> None:
    built = build_term(choice("nll", 1.0), LossContext(action_space=TWO, device=torch.device("cpu")))

    assert built.name == "nll"
    assert built.provider.startswith("mimetic ")


def test_an_objective_in_which_nothing_counts_is_refused() -> None:
    context = LossContext(action_space=TWO, device=torch.device("cpu"))

    with pytest.raises(ConfigError, match=r"losses: every weight is zero \(nll 0\.0, l2 0\.0\)"):
        build_terms([choice("nll", 0.0), choice("l2", 0.0)], context)
