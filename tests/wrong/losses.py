"""Loss terms: right ones, and each with one thing wrong."""

from collections.abc import Callable

import torch

from mimetic.hookspecs import (
    LossContext,
)
from mimetic.losses import LossInputs
from wrong.catalogue import COUNTER, LetsThrough, OneWay, Plain, Silent, Wrong

Term = Callable[[LossInputs], torch.Tensor]


def loss(config: Plain, context: LossContext) -> Term:
    return lambda inputs: -inputs.log_prob.mean()


def loss_of_each_row(config: Plain, context: LossContext) -> Term:
    return lambda inputs: -inputs.log_prob


def loss_without_fractions(config: Plain, context: LossContext) -> Term:
    return lambda inputs: inputs.log_prob.mean().long()


def loss_that_is_no_number(config: Plain, context: LossContext) -> Term:
    return lambda inputs: inputs.log_prob.mean() * float("nan")


def loss_that_is_no_tensor(config: Plain, context: LossContext) -> Term:
    return lambda inputs: inputs.log_prob.mean().item()  # type: ignore[return-value]  # what is wrong with it


def loss_that_lives_elsewhere(config: Plain, context: LossContext) -> Term:
    return lambda inputs: torch.zeros((), device="meta")


def loss_with_tensors_of_the_cpu(config: Plain, context: LossContext) -> Term:
    return lambda inputs: -(inputs.log_prob + torch.zeros(len(inputs.acts))).mean()


def loss_that_is_detached(config: Plain, context: LossContext) -> Term:
    return lambda inputs: -inputs.log_prob.detach().mean()


def loss_without_gradient(config: Plain, context: LossContext) -> Term:
    return lambda inputs: -(inputs.log_prob * 0).mean()


def loss_whose_gradient_is_infinite(config: Plain, context: LossContext) -> Term:
    return lambda inputs: (inputs.log_prob - inputs.log_prob.detach()).abs().sqrt().mean()


def loss_that_needs_gradients(config: Plain, context: LossContext) -> Term:
    def term(inputs: LossInputs) -> torch.Tensor:
        value = -inputs.log_prob.mean()
        torch.autograd.grad(value, list(inputs.policy.parameters()), allow_unused=True, retain_graph=True)
        return value

    return term


def loss_that_remembers(config: Plain, context: LossContext) -> Term:
    return lambda inputs: -inputs.log_prob.mean() * next(COUNTER)


def loss_that_sums(config: Plain, context: LossContext) -> Term:
    return lambda inputs: -inputs.log_prob.sum()


def loss_that_turns_training_off(config: Plain, context: LossContext) -> Term:
    def term(inputs: LossInputs) -> torch.Tensor:
        inputs.policy.set_training_mode(False)
        return -inputs.log_prob.mean()

    return term


def loss_that_writes_into_its_batch(config: Plain, context: LossContext) -> Term:
    def term(inputs: LossInputs) -> torch.Tensor:
        value = -inputs.log_prob.mean()
        inputs.acts.zero_()
        return value

    return term


WRONG = [
    Wrong("its_settings_refuse_unknown_keys", loss, "let 'no_such_key' through", LetsThrough),
    Wrong("its_settings_can_be_written_down_and_read_again", loss, "are not taken again", OneWay),
    Wrong("every_setting_says_what_it_means", loss, "no text stands under the settings size", Silent),
    Wrong("it_gives_one_number_a_batch", loss_of_each_row, r"gave a tensor of shape \(1,\)"),
    Wrong("it_gives_one_number_a_batch", loss_without_fractions, "expected a tensor of floats"),
    Wrong("it_gives_one_number_a_batch", loss_that_is_no_number, "expected a finite number"),
    Wrong("it_gives_one_number_a_batch", loss_that_is_no_tensor, "gave a float; expected a tensor"),
    Wrong("it_lives_on_the_policys_device", loss_that_lives_elsewhere, "is on meta, the policy on cpu"),
    Wrong(
        "it_mixes_no_tensor_of_the_cpu_into_a_batch_that_is_elsewhere",
        loss_with_tensors_of_the_cpu,
        "mixes devices: .*cpu",
    ),
    Wrong("the_policy_gets_a_gradient_from_it", loss_that_is_detached, "is detached"),
    Wrong("the_policy_gets_a_gradient_from_it", loss_without_gradient, "no gradient in any weight"),
    Wrong("the_policy_gets_a_gradient_from_it", loss_whose_gradient_is_infinite, "gradient that is not finite"),
    Wrong("it_can_be_measured_without_gradients", loss_that_needs_gradients, "does not require grad"),
    Wrong("equal_batches_give_equal_losses", loss_that_remembers, "keep nothing from batch to batch"),
    Wrong("a_batch_counts_as_the_mean_of_its_rows", loss_that_sums, "for the same rows twice; take the mean"),
    Wrong("it_changes_nothing", loss_that_turns_training_off, "left the policy in evaluation mode"),
    Wrong("it_changes_nothing", loss_that_writes_into_its_batch, "changed the actions"),
]
