"""What must a way of learning do?"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.algorithms import Report, Trainer
from mimetic.algorithms.tensors import to_tensors
from mimetic.hookspecs import AlgorithmContext, Kind
from mimetic.logs import HierarchicalLogger
from mimetic.losses import LossInputs, WeightedTerm
from mimetic.testing.contracts.component import ComponentContract
from mimetic.testing.contracts.facts import closing_what_it_opens, require
from mimetic.testing.contracts.worlds import CHOICE, CPU, VECTOR, Space, small_policy
from mimetic.types import Demonstrations, TransitionsMinimal, as_demonstrations

N_DEMONSTRATIONS = 96


class AlgorithmContract(ComponentContract):
    """The facts of a way of learning; inherit from it, set ``name``, and ``options`` that end in a second or two.

    The demonstrations follow a rule that a small network learns at once: the action is given by the first number of the
    observation.
    """

    kind: ClassVar[Kind] = "algorithm"

    observation_space: ClassVar[Space] = VECTOR
    action_space: ClassVar[Space] = CHOICE

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_trains_the_policy_that_it_is_given(self, tmp_path: Path) -> None:
        """That object, from beginning to end: others hold it too."""
        policy = self.new_policy()
        trainer = self.trainer(tmp_path, policy)
        require(trainer.policy is policy, f"{self._title()}: `policy` is not the policy of its context")
        before = _weights(policy)
        self._finish(trainer)
        require(trainer.policy is policy, f"{self._title()}: `policy` became another object")
        require(_weights(policy) != before, f"{self._title()} trained to the end and changed no weight")

    def test_it_learns(self, tmp_path: Path) -> None:
        """The policy finds the demonstrated actions likelier than before."""
        policy = self.new_policy()
        before = self._surprise(policy)
        self._finish(self.trainer(tmp_path, policy))
        after = self._surprise(policy)
        told = f"{self._title()}: the demonstrated actions cost {before:.4f} nats before training, {after:.4f} after"
        require(after < before, f"{told}; expected less")

    def test_it_reports_how_far_it_is(self, tmp_path: Path) -> None:
        """Steps and rows are counted upwards, and the end of the last pass is told."""
        reports = self._finish(self.trainer(tmp_path))
        require(bool(reports), f"{self._title()}: train() yielded no report")
        strange = {type(each).__name__ for each in reports if not isinstance(each, Report)}
        require(not strange, f"{self._title()}: train() yields {strange}; expected mimetic.Report objects")
        for name in ("step", "epoch", "samples"):
            counts = [getattr(report, name) for report in reports]
            require(counts == sorted(counts), f"{self._title()}: `{name}` goes backwards: {counts}")
        steps = [report.step for report in reports]
        require(len(set(steps)) == len(steps), f"{self._title()}: two reports of one step: {steps}")
        require(reports[-1].samples > 0, f"{self._title()} says that it saw no row")
        ended = sum(report.epoch_ended for report in reports)
        require(
            ended == reports[-1].epoch,
            f"{self._title()} says at the end that {reports[-1].epoch} passes are done, and said `epoch_ended` {ended} "
            "times; evaluations and observers wait for each",
        )
        values = {key: value for report in reports for key, value in report.values.items()}
        wrong = {key: value for key, value in values.items() if not isinstance(value, int | float | None)}
        require(not wrong, f"{self._title()}: values must be plain numbers, got {wrong}")

    def test_the_seed_decides_what_is_learned(self, tmp_path: Path) -> None:
        """Two trainings of one seed end with the same bytes."""
        first, second = (self._trained(tmp_path) for _ in range(2))
        require(first == second, f"{self._title()}: two trainings from one seed differ")

    def test_watching_changes_nothing(self, tmp_path: Path) -> None:
        """Between two reports the caller evaluates, draws random numbers and changes the policy's mode."""
        alone = self._trained(tmp_path)
        policy = self.new_policy()
        for _ in self.trainer(tmp_path, policy).train():
            torch.rand(3)
            np.random.random(3)
            policy.set_training_mode(False)
        require(
            _weights(policy) == alone,
            f"{self._title()}: what the caller did between two reports changed what was learned; draw from generators "
            "seeded by the context's `seed`, and set the training mode after every report",
        )

    def test_it_trains_in_training_mode_and_leaves_the_mode_as_it_was(self, tmp_path: Path) -> None:
        """Whatever the caller did meanwhile: dropout and its kind depend on it."""
        for training in (True, False):
            policy = self.new_policy()
            policy.set_training_mode(training)
            modes: list[bool] = []
            hook = policy.features_extractor.register_forward_pre_hook(lambda *_: modes.append(policy.training))  # noqa: B023
            for _ in self.trainer(tmp_path, policy).train():
                policy.set_training_mode(training)
            hook.remove()
            require(all(modes), f"{self._title()} asked the policy in evaluation mode while it trained it")
            found, left = ("training", "evaluation") if training else ("evaluation", "training")
            require(policy.training == training, f"{self._title()} found the policy in {found} mode, left it in {left}")

    def test_its_state_holds_all_that_it_needs_to_go_on(self, tmp_path: Path) -> None:
        """Stopped at any report and gone on with elsewhere, it ends with the same bytes."""
        whole = self._trained(tmp_path)
        n_reports = len(self._finish(self.trainer(tmp_path)))
        for stop in {0, n_reports // 2, n_reports - 1}:
            state = self._state_at(stop, tmp_path)
            policy = self.new_policy(seed=1)
            trainer = self.trainer(tmp_path, policy)
            trainer.load_state_dict(state)
            self._finish(trainer)
            require(
                _weights(policy) == whole,
                f"{self._title()}: stopped at report {stop + 1} of {n_reports} and gone on from its state_dict(), "
                "it ends with other weights; the state must be a copy, and hold the optimiser and the position too",
            )

    def test_it_leaves_the_demonstrations_as_they_are(self, tmp_path: Path) -> None:
        """They are the caller's."""
        demonstrations = self.demonstrations()
        before = demonstrations.fingerprint()
        self._finish(self.trainer(tmp_path, demonstrations=demonstrations))
        require(demonstrations.fingerprint() == before, f"{self._title()} changed the demonstrations")

    def test_it_can_be_left_early(self, tmp_path: Path) -> None:
        """With nothing left open, and the mode as it was."""
        policy = self.new_policy()
        with closing_what_it_opens(self._title()):
            reports = self.trainer(tmp_path, policy).train()
            next(reports, None)
            _close(reports)
            del reports

    # --- what they build on ---------------------------------------------------------------------------------------

    def demonstrations(self) -> Demonstrations:
        """Return what it learns from."""
        rng = np.random.default_rng(0)
        obs = rng.normal(size=(N_DEMONSTRATIONS, 4)).astype(np.float32)
        acts = (obs[:, 0] > 0).astype(np.int64)
        return as_demonstrations(TransitionsMinimal(obs, acts))

    def new_policy(self, seed: int = 0) -> ActorCriticPolicy:
        """Return a policy that has learned nothing, in evaluation mode as a built one is."""
        return small_policy(self.observation_space, self.action_space, seed=seed)

    def trainer(
        self, tmp_path: Path, policy: ActorCriticPolicy | None = None, demonstrations: Demonstrations | None = None
    ) -> Trainer:
        """Build the trainer, as a run does, for the objective ``nll``."""
        context = AlgorithmContext(
            policy=policy or self.new_policy(),
            losses=(WeightedTerm("nll", 1.0, _negative_log_likelihood),),
            demonstrations=demonstrations or self.demonstrations(),
            seed=3,
            device=CPU,
            logger=HierarchicalLogger([]),
        )
        trainer: Trainer = self.build(context, tmp_path)
        return trainer

    def attempt(self, tmp_path: Path) -> None:
        """Build it once."""
        self.trainer(tmp_path)

    def _finish(self, trainer: Trainer) -> list[Report]:
        return list(trainer.train())

    def _trained(self, tmp_path: Path) -> dict[str, bytes]:
        policy = self.new_policy()
        self._finish(self.trainer(tmp_path, policy))
        return _weights(policy)

    def _state_at(self, stop: int, tmp_path: Path) -> dict[str, Any]:
        """Return the state at a report, taken as a checkpoint takes it: the training goes on to its end."""
        trainer = self.trainer(tmp_path)
        state: dict[str, Any] = {}
        for number, _ in enumerate(trainer.train()):
            if number == stop:
                state = trainer.state_dict()
        return state

    def _surprise(self, policy: ActorCriticPolicy) -> float:
        pairs = self.demonstrations().pairs()
        with torch.no_grad():
            inputs = LossInputs(policy, to_tensors(pairs.obs, CPU), to_tensors(pairs.acts, CPU))
            return -inputs.log_prob.mean().item()

    def _title(self) -> str:
        return f"algorithm {self.name!r}"


def _negative_log_likelihood(inputs: LossInputs) -> torch.Tensor:
    return -inputs.log_prob.mean()


def _weights(policy: torch.nn.Module) -> dict[str, bytes]:
    state = copy.deepcopy(policy.state_dict())
    return {name: value.cpu().numpy().tobytes() for name, value in state.items()}


def _close(reports: Iterator[Report]) -> None:
    close = getattr(reports, "close", None)
    if close is not None:
        close()
