"""What must a loss term do?"""

from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from mimetic.hookspecs import Kind, LossContext
from mimetic.losses import LossInputs, LossTerm
from mimetic.policies import MimeticPolicy
from mimetic.testing.contracts.component import ComponentContract, skip
from mimetic.testing.contracts.facts import refusals_told, require, unchecked_distributions
from mimetic.testing.contracts.worlds import (
    CHOICE,
    CPU,
    DIRECTION,
    META,
    VECTOR,
    Space,
    devices,
    loss_inputs,
    small_policy,
)

N_ROWS = 6


class LossContract(ComponentContract):
    """The facts of a loss term; inherit from it and set ``name``."""

    kind: ClassVar[Kind] = "loss"

    action_spaces: ClassVar[tuple[Space, ...]] = (CHOICE, DIRECTION)
    """The kinds of action that it is for."""

    is_mean_over_rows: ClassVar[bool] = True
    """Whether a batch counts as the mean of its rows; False for a term that compares rows with each other."""

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_gives_one_number_a_batch(self, tmp_path: Path) -> None:
        """Whatever the size of the batch; the last one of a pass is often shorter."""
        for space in self.action_spaces:
            for n in (1, 2, N_ROWS):
                value = self._value(self.term(space, tmp_path), loss_inputs(self.policy(space), n), space)
                told = f"{self._title(space)} gave {value!r} for a batch of {n}"
                require(value.is_floating_point(), f"{told}; expected a tensor of floats")
                require(bool(torch.isfinite(value)), f"{told}; expected a finite number")

    def test_it_lives_on_the_policys_device(self, tmp_path: Path) -> None:
        """A term that makes tensors of its own must say where: on the CPU is right for some people only."""
        for space in self.action_spaces:
            for device in devices():
                policy = self.policy(space, device)
                term = self.term(space, tmp_path, device)
                value = self._value(term, loss_inputs(policy, N_ROWS, device=device), space)
                require(value.device == device, f"{self._title(space)} is on {value.device}, the policy on {device}")

    def test_it_mixes_no_tensor_of_the_cpu_into_a_batch_that_is_elsewhere(self, tmp_path: Path) -> None:
        """Tried with torch's meta device, which stands for a GPU on machines that have none."""
        with unchecked_distributions():
            for space in self.action_spaces:
                inputs = loss_inputs(self.policy(space, META), N_ROWS, device=META)
                try:
                    value = self.term(space, tmp_path, META)(inputs)
                except Exception as error:  # a term may read values, which a meta tensor refuses and a GPU gives
                    text = " ".join(str(error).split())
                    require(
                        not ("expected device" in text or "same device" in text),
                        f"{self._title(space)} mixes devices: {text}; make tensors where `inputs.acts.device`, or the "
                        "context's `device`, says",
                    )
                else:
                    require(value.device == META, f"{self._title(space)} is on {value.device}, its batch elsewhere")

    def test_the_policy_gets_a_gradient_from_it(self, tmp_path: Path) -> None:
        """A term that is detached from the graph is a number in the log, and trains nothing."""
        for space in self.action_spaces:
            policy = self.policy(space)
            value = self._value(self.term(space, tmp_path), loss_inputs(policy, N_ROWS), space)
            title = self._title(space)
            require(value.requires_grad, f"{title} is detached: its value has no gradient; is it computed from floats?")
            torch.autograd.backward(value)
            gradients = [each.grad for each in policy.parameters() if each.grad is not None]
            require(any(bool(each.any()) for each in gradients), f"{title} has no gradient in any weight of the policy")
            finite = all(bool(each.isfinite().all()) for each in gradients)
            require(finite, f"{title} has a gradient that is not finite")

    def test_it_can_be_measured_without_gradients(self, tmp_path: Path) -> None:
        """A term whose weight is zero is logged all the same."""
        for space in self.action_spaces:
            with torch.no_grad():
                self._value(self.term(space, tmp_path), loss_inputs(self.policy(space), N_ROWS), space)

    def test_equal_batches_give_equal_losses(self, tmp_path: Path) -> None:
        """Under one seed: what a term draws comes from torch's generators, which training seeds."""
        for space in self.action_spaces:
            first, second = (self._seeded_value(space, tmp_path) for _ in range(2))
            require(
                bool(torch.equal(first, second)),
                f"{self._title(space)} gave {first.item()} and then {second.item()} for equal batches and seeds; draw "
                "from torch's generators alone, and keep nothing from batch to batch",
            )

    def test_a_batch_counts_as_the_mean_of_its_rows(self, tmp_path: Path) -> None:
        """Else a short batch would count less, or more, than its share."""
        if not self.is_mean_over_rows:
            raise skip("is_mean_over_rows is False")
        for space in self.action_spaces:
            term, policy = self.term(space, tmp_path), self.policy(space)
            once, twice = (
                self._value(term, loss_inputs(policy, N_ROWS, copies=copies), space).item() for copies in (1, 2)
            )
            require(
                abs(once - twice) <= 1e-4 * max(1.0, abs(once)),
                f"{self._title(space)} is {once} for a batch and {twice} for the same rows twice; take the mean of its "
                "rows, or set is_mean_over_rows = False in this test if it compares them with each other",
            )

    def test_it_changes_nothing(self, tmp_path: Path) -> None:
        """Terms share their inputs: what one changes, the next one sees."""
        for space in self.action_spaces:
            term = self.term(space, tmp_path)
            for training in (True, False):
                policy = self.policy(space)
                policy.set_training_mode(training)
                inputs = loss_inputs(policy, N_ROWS)
                before = _state(inputs)
                self._value(term, inputs, space)
                changed = [name for name, value in _state(inputs).items() if not torch.equal(value, before[name])]
                require(not changed, f"{self._title(space)} changed {', '.join(changed)}")
                require(
                    policy.training == training,
                    f"{self._title(space)} left the policy in {'evaluation' if training else 'training'} mode",
                )

    # --- what they build on ---------------------------------------------------------------------------------------

    def policy(self, action_space: Space, device: torch.device = CPU) -> MimeticPolicy:
        """Return the policy that the term is about; override it when the term needs one of its own kind."""
        return small_policy(VECTOR, action_space, device=device)

    def term(self, action_space: Space, tmp_path: Path, device: torch.device = CPU) -> LossTerm:
        """Build the term."""
        term: LossTerm = self.build(LossContext(action_space=action_space, device=device), tmp_path)
        return term

    def attempt(self, tmp_path: Path) -> None:
        """Build it once."""
        self.term(self.action_spaces[0], tmp_path)

    def _seeded_value(self, space: Space, tmp_path: Path) -> Tensor:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            return self._value(self.term(space, tmp_path), loss_inputs(self.policy(space), N_ROWS), space).detach()

    def _value(self, term: LossTerm, inputs: LossInputs, space: Space) -> Tensor:
        with refusals_told(f"{self._title(space)} fails"):
            value: object = term(inputs)
        told = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
        require(
            isinstance(value, Tensor) and value.dim() == 0,
            f"{self._title(space)} gave {told}; expected a tensor with one number, shape ()",
        )
        assert isinstance(value, Tensor)
        return value

    def _title(self, space: Space) -> str:
        return f"loss term {self.name!r} for {space}"


def _state(inputs: LossInputs) -> dict[str, Tensor]:
    """Copy what a term could change."""
    obs = inputs.obs if isinstance(inputs.obs, dict) else {"": inputs.obs}
    return {
        **{f"the policy's {name}": value.clone() for name, value in inputs.policy.state_dict().items()},
        **{f"the observations {key}".rstrip(): value.clone() for key, value in obs.items()},
        "the actions": inputs.acts.clone(),
    }
