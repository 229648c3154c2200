"""Policies: right ones, and each with one thing wrong."""

import copy
from typing import Any, ClassVar

import numpy as np
import torch

from mimetic.hookspecs import (
    PolicyContext,
)
from mimetic.policies import Actor, MimeticPolicy
from mimetic.policies.actors import EpisodeStreams
from wrong.catalogue import COUNTER, Plain, Wrong


class Policy(MimeticPolicy):
    def __init__(self, context: PolicyContext) -> None:
        super().__init__(context.observation_space, context.action_space, net_arch=[8])
        self.context_seed = context.seed


def policy(config: Plain, context: PolicyContext) -> Any:
    return Policy(context)


class LogProbabilityColumn(Policy):
    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        values, log_prob, entropy = super().evaluate_actions(obs, actions)
        return values, log_prob[:, None], entropy


class DetachedLogProbability(Policy):
    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        values, log_prob, entropy = super().evaluate_actions(obs, actions)
        return values, log_prob.detach(), entropy


class RelativeLogProbability(Policy):
    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        values, log_prob, entropy = super().evaluate_actions(obs, actions)
        return values, log_prob - log_prob.mean(), entropy


class EvaluatesForGood(Policy):
    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        self.set_training_mode(False)
        return super().evaluate_actions(obs, actions)


class LearnsTheWrongWay(Policy):
    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        values, log_prob, entropy = super().evaluate_actions(obs, actions)
        return values, 2 * log_prob.detach() - log_prob, entropy


class ReadsNumbersBack(Policy):
    """Says that it only calculates, and looks at what it calculated."""

    replayable: ClassVar[bool] = True

    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        values, log_prob, entropy = super().evaluate_actions(obs, actions)
        return values, log_prob / max(1.0, log_prob.abs().max().item()), entropy


class ForgetsAnAttribute(Policy):
    """Acts by a number that no file keeps: it comes from the seed, which is another one when it is loaded."""

    def predict(self, *arguments: Any, **named: Any) -> Any:
        acts, state = super().predict(*arguments, **named)
        return (acts if self.context_seed else np.zeros_like(acts)), state


def policy_with_a_column_of_log_probabilities(config: Plain, context: PolicyContext) -> Any:
    return LogProbabilityColumn(context)


def policy_that_is_detached(config: Plain, context: PolicyContext) -> Any:
    return DetachedLogProbability(context)


def policy_that_compares_rows(config: Plain, context: PolicyContext) -> Any:
    return RelativeLogProbability(context)


def policy_that_reads_numbers_back(config: Plain, context: PolicyContext) -> Any:
    return ReadsNumbersBack(context)


def policy_that_turns_training_off(config: Plain, context: PolicyContext) -> Any:
    return EvaluatesForGood(context)


def policy_that_learns_the_wrong_way(config: Plain, context: PolicyContext) -> Any:
    return LearnsTheWrongWay(context)


def policy_that_no_file_keeps(config: Plain, context: PolicyContext) -> Any:
    return ForgetsAnAttribute(context)


def policy_that_no_component_rebuilds(config: Plain, context: PolicyContext) -> Any:
    made = Policy(context)
    for _ in range(next(COUNTER)):
        made.add_module(f"extra{next(COUNTER)}", torch.nn.Linear(1, 1))
    return made


def policy_with_weights_of_its_own_seed(config: Plain, context: PolicyContext) -> Any:
    made = Policy(context)
    weights = next(made.action_net.parameters())
    weights.data += torch.as_tensor(np.random.default_rng().normal(size=weights.shape), dtype=weights.dtype)
    return made


def policy_that_seeds_everything(config: Plain, context: PolicyContext) -> Any:
    np.random.seed(context.seed)
    return Policy(context)


def policy_that_lives_elsewhere(config: Plain, context: PolicyContext) -> Any:
    return Policy(context).to("meta")


class Acting(Actor):
    """Draws an action from the stream of each episode."""

    def __init__(self, context: PolicyContext) -> None:
        self.space = copy.deepcopy(context.action_space)
        self.streams = EpisodeStreams(context.seed, "acting")

    def begin_episode(self, env_index: int, seed: int) -> None:
        self.streams.begin(env_index, seed)

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        return np.stack([self.act(index) for index in range(len(episode_start))]), state

    def act(self, env_index: int) -> np.ndarray:
        self.space.seed(int(self.streams[env_index].integers(2**31)))
        return np.asarray(self.space.sample())


class OutOfBounds(Acting):
    def act(self, env_index: int) -> np.ndarray:
        return np.asarray(super().act(env_index) + 100)


class OneForAll(Acting):
    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        return np.stack([self.act(0)]), state


class Continuing(Acting):
    """Goes on drawing where the last episode ended."""

    def begin_episode(self, env_index: int, seed: int) -> None:
        pass


class Sharing(Acting):
    def act(self, env_index: int) -> np.ndarray:
        np.random.random()
        return super().act(env_index)


class EvaluatingModule(torch.nn.Module):
    def __init__(self, context: PolicyContext) -> None:
        super().__init__()
        self.acting = Acting(context)
        self.layer = torch.nn.Linear(1, 1)

    def forward(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        self.eval()
        return self.acting(obs, state, episode_start)


def acting(config: Plain, context: PolicyContext) -> Any:
    return Acting(context)


def acting_out_of_bounds(config: Plain, context: PolicyContext) -> Any:
    return OutOfBounds(context)


def acting_for_one_environment(config: Plain, context: PolicyContext) -> Any:
    return OneForAll(context)


def acting_on_and_on(config: Plain, context: PolicyContext) -> Any:
    return Continuing(context)


def acting_from_a_shared_generator(config: Plain, context: PolicyContext) -> Any:
    return Sharing(context)


def acting_in_evaluation_mode_for_good(config: Plain, context: PolicyContext) -> Any:
    return EvaluatingModule(context)


def policy_that_is_not_for_training(config: Plain, context: PolicyContext) -> Any:
    return Acting(context)


WRONG = [
    Wrong("its_actions_are_members_of_the_action_space", acting_out_of_bounds, "expected members of Discrete"),
    Wrong("its_actions_are_members_of_the_action_space", acting_for_one_environment, "expected 2 actions"),
    Wrong("the_likeliest_action_is_the_same_twice", acting_on_and_on, "and then .* for one input"),
    Wrong("the_seed_of_an_episode_decides_what_is_drawn_in_it", acting_on_and_on, "from equal seeds"),
    Wrong(
        "acting_draws_nothing_from_generators_that_others_share",
        acting_from_a_shared_generator,
        "moved the random state of numpy.random",
    ),
    Wrong(
        "acting_leaves_training_mode_as_it_is",
        acting_in_evaluation_mode_for_good,
        "acting turned training mode into evaluation mode",
    ),
    Wrong(
        "the_seed_of_its_context_decides_what_it_is",
        policy_with_weights_of_its_own_seed,
        "differs in action_net",
    ),
    Wrong("the_seed_of_its_context_decides_what_it_is", policy_that_seeds_everything, "building it moved .* numpy"),
    Wrong("it_is_where_its_context_says", policy_that_lives_elsewhere, "built for cpu and has .* on meta"),
    Wrong(
        "it_gives_a_log_probability_for_each_row",
        policy_with_a_column_of_log_probabilities,
        r"log-probabilities of shape \(1, 1\), not \(1,\)",
    ),
    Wrong("it_gives_a_log_probability_for_each_row", policy_that_is_detached, "detached from its weights"),
    Wrong(
        "it_gives_a_log_probability_for_each_row", policy_that_is_not_for_training, "or trainable=False in its entry"
    ),
    Wrong("a_row_does_not_depend_on_the_rows_beside_it", policy_that_compares_rows, "for its rows one by one"),
    Wrong(
        "evaluating_actions_leaves_training_mode_as_it_is",
        policy_that_turns_training_off,
        "evaluate_actions turned training mode into evaluation mode",
    ),
    Wrong("training_fits_it_to_a_batch", policy_that_learns_the_wrong_way, "and .* after; expected less"),
    Wrong(
        "what_says_that_it_is_replayable_reads_no_number_back",
        policy_that_reads_numbers_back,
        r"a pass does more than calculate: .*Tensor\.item\(\)",
    ),
    Wrong("saved_and_loaded_it_is_the_same", policy_that_no_component_rebuilds, "cannot be saved"),
    Wrong("saved_and_loaded_it_is_the_same", policy_that_no_file_keeps, "saved and loaded, acts as"),
]
