"""Algorithms: right ones, and each with one thing wrong."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mimetic.algorithms import Report, make_batches
from mimetic.hookspecs import (
    AlgorithmContext,
)
from mimetic.losses import LossInputs, evaluate_objective
from mimetic.types import TransitionsMinimal
from wrong.catalogue import Plain, Wrong


class Training:
    """Eight steps of Adam over shuffled batches, with a report a step."""

    direction = 1.0
    facts: Mapping[str, str] = {}

    def __init__(self, context: AlgorithmContext) -> None:
        self.context = context
        self.policy = context.policy
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.step = 0
        self.batches = make_batches(context.demonstrations, batch_size=24, device=context.device, seed=context.seed)

    def train(self) -> Iterator[Report]:
        mode = self.policy.training
        try:
            while self.step < 8:
                epoch, batch = divmod(self.step, 4)
                self.learn(next(iter(self.batches.epoch(epoch, start=batch))))
                self.step += 1
                yield self.report()
        finally:
            self.policy.set_training_mode(mode)

    def learn(self, batch: Any) -> None:
        self.policy.set_training_mode(True)
        objective = evaluate_objective(self.context.losses, LossInputs(self.policy, batch.obs, batch.acts))
        self.optimizer.zero_grad()
        torch.autograd.backward(objective.total * self.direction)
        self.optimizer.step()

    def report(self) -> Report:
        return Report(self.step - 1, self.step // 4, 24 * self.step, {"loss": 1.0}, epoch_ended=self.step % 4 == 0)

    def state_dict(self) -> dict[str, Any]:
        parts = {"policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step}
        return copy.deepcopy(parts)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self.step = state["step"]


class OnACopy(Training):
    def __init__(self, context: AlgorithmContext) -> None:
        super().__init__(context)
        self.policy = copy.deepcopy(context.policy)


class Ascending(Training):
    direction = -1.0


class Mute(Training):
    def train(self) -> Iterator[Report]:
        list(super().train())
        return iter(())


class Backwards(Training):
    def report(self) -> Report:
        return Report(8 - self.step, 0, 24, {})


class NeverEnding(Training):
    def report(self) -> Report:
        return Report(self.step - 1, self.step // 4, 24 * self.step, {})


class Wordy(Training):
    def report(self) -> Report:
        return Report(self.step - 1, 0, 24 * self.step, {"loss": torch.zeros(1)})  # type: ignore[dict-item]  # wrong


class Random(Training):
    def learn(self, batch: Any) -> None:
        rows = torch.as_tensor(np.random.default_rng().permutation(len(batch.acts))[:12])
        super().learn(batch._replace(obs=batch.obs[rows], acts=batch.acts[rows]))


class Distracted(Training):
    """Draws from the generator that the caller draws from."""

    def train(self) -> Iterator[Report]:
        torch.manual_seed(0)
        return super().train()

    def learn(self, batch: Any) -> None:
        rows = torch.randperm(len(batch.acts))[:12]
        super().learn(batch._replace(obs=batch.obs[rows], acts=batch.acts[rows]))


class ModeOnce(Training):
    """Sets the mode at the beginning, and hopes."""

    def train(self) -> Iterator[Report]:
        self.policy.set_training_mode(True)
        yield from super().train()

    def learn(self, batch: Any) -> None:
        objective = evaluate_objective(self.context.losses, LossInputs(self.policy, batch.obs, batch.acts))
        self.optimizer.zero_grad()
        torch.autograd.backward(objective.total)
        self.optimizer.step()


class ModeForGood(Training):
    def train(self) -> Iterator[Report]:
        yield from super().train()
        self.policy.set_training_mode(True)


class Aliasing(Training):
    """Its state goes on changing."""

    def state_dict(self) -> dict[str, Any]:
        return {"policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step}


class WithoutOptimizer(Training):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.policy.load_state_dict(state["policy"])
        self.step = state["step"]


class Editing(Training):
    def __init__(self, context: AlgorithmContext) -> None:
        super().__init__(context)
        assert isinstance(context.demonstrations.data, TransitionsMinimal)
        assert isinstance(context.demonstrations.data.acts, np.ndarray)
        context.demonstrations.data.acts[0] += 1


class OpenFile(Training):
    def train(self) -> Iterator[Report]:
        file = Path(__file__).open(encoding="utf-8")  # noqa: SIM115 - what is wrong with it
        yield from super().train()
        file.close()


def training(config: Plain, context: AlgorithmContext) -> Training:
    return Training(context)


def training_a_copy(config: Plain, context: AlgorithmContext) -> Training:
    return OnACopy(context)


def training_upwards(config: Plain, context: AlgorithmContext) -> Training:
    return Ascending(context)


def training_without_a_word(config: Plain, context: AlgorithmContext) -> Training:
    return Mute(context)


def training_backwards(config: Plain, context: AlgorithmContext) -> Training:
    return Backwards(context)


def training_without_ends_of_passes(config: Plain, context: AlgorithmContext) -> Training:
    return NeverEnding(context)


def training_with_tensors_in_reports(config: Plain, context: AlgorithmContext) -> Training:
    return Wordy(context)


def training_by_chance(config: Plain, context: AlgorithmContext) -> Training:
    return Random(context)


def training_with_the_callers_generator(config: Plain, context: AlgorithmContext) -> Training:
    return Distracted(context)


def training_that_sets_the_mode_once(config: Plain, context: AlgorithmContext) -> Training:
    return ModeOnce(context)


def training_that_sets_the_mode_for_good(config: Plain, context: AlgorithmContext) -> Training:
    return ModeForGood(context)


def training_whose_state_goes_on(config: Plain, context: AlgorithmContext) -> Training:
    return Aliasing(context)


def training_that_forgets_its_optimizer(config: Plain, context: AlgorithmContext) -> Training:
    return WithoutOptimizer(context)


def training_that_edits(config: Plain, context: AlgorithmContext) -> Training:
    return Editing(context)


def training_with_a_file(config: Plain, context: AlgorithmContext) -> Training:
    return OpenFile(context)


WRONG = [
    Wrong("it_trains_the_policy_that_it_is_given", training_a_copy, "is not the policy of its context"),
    Wrong("it_learns", training_upwards, "after; expected less"),
    Wrong("it_reports_how_far_it_is", training_without_a_word, "yielded no report"),
    Wrong("it_reports_how_far_it_is", training_backwards, "`step` goes backwards"),
    Wrong("it_reports_how_far_it_is", training_without_ends_of_passes, "2 passes are done, and said `epoch_ended` 0"),
    Wrong("it_reports_how_far_it_is", training_with_tensors_in_reports, "values must be plain numbers"),
    Wrong("the_seed_decides_what_is_learned", training_by_chance, "two trainings from one seed differ"),
    Wrong("watching_changes_nothing", training_with_the_callers_generator, "changed what was learned"),
    Wrong(
        "it_trains_in_training_mode_and_leaves_the_mode_as_it_was",
        training_that_sets_the_mode_once,
        "asked the policy in evaluation mode while it trained",
    ),
    Wrong(
        "it_trains_in_training_mode_and_leaves_the_mode_as_it_was",
        training_that_sets_the_mode_for_good,
        "found the policy in evaluation mode, left it in training",
    ),
    Wrong("its_state_holds_all_that_it_needs_to_go_on", training_whose_state_goes_on, "ends with other weights"),
    Wrong("its_state_holds_all_that_it_needs_to_go_on", training_that_forgets_its_optimizer, "hold the optimiser"),
    Wrong("it_leaves_the_demonstrations_as_they_are", training_that_edits, "changed the demonstrations"),
    Wrong("it_can_be_left_early", training_with_a_file, "left something open"),
]
