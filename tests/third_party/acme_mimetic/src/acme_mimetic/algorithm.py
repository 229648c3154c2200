"""Cloning with all demonstrations in every step."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from acme_mimetic.config import FullBatchConfig
from mimetic import AlgorithmContext, LossInputs, Report
from mimetic.algorithms import make_batches
from mimetic.losses import evaluate_objective


class FullBatchTrainer:
    """Takes ``n_steps`` Adam steps, each over all demonstrations."""

    def __init__(self, config: FullBatchConfig, context: AlgorithmContext) -> None:
        self.policy = context.policy
        self.facts: Mapping[str, str] = {"engine": "full-batch"}
        self._config = config
        self._losses = context.losses
        self._optimizer = torch.optim.Adam(self.policy.parameters(), lr=config.lr)
        batches = make_batches(context.demonstrations, batch_size=2**30, device=context.device, seed=context.seed)
        (self._batch,) = batches.epoch(0)
        self._step = 0

    def train(self) -> Iterator[Report]:
        """Train from where the state stands to the end."""
        mode = self.policy.training
        try:
            yield from self._steps()
        finally:
            self.policy.set_training_mode(mode)

    def _steps(self) -> Iterator[Report]:
        n_rows = len(self._batch.acts)
        while self._step < self._config.n_steps:
            self.policy.set_training_mode(True)
            inputs = LossInputs(self.policy, self._batch.obs, self._batch.acts)
            objective = evaluate_objective(self._losses, inputs, progress=self._step / self._config.n_steps)
            self._optimizer.zero_grad()
            torch.autograd.backward(objective.total)
            self._optimizer.step()
            values = {"acme/loss": objective.total.item()}
            self._step += 1
            yield Report(self._step - 1, self._step, n_rows * self._step, values, epoch_ended=True)

    def state_dict(self) -> dict[str, Any]:
        """Copy the whole state."""
        parts = {"policy": self.policy.state_dict(), "optimizer": self._optimizer.state_dict(), "step": self._step}
        return copy.deepcopy(parts)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put a state back."""
        self.policy.load_state_dict(state["policy"])
        self._optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self._step = state["step"]


def build(config: FullBatchConfig, context: AlgorithmContext) -> FullBatchTrainer:
    """Build the trainer."""
    return FullBatchTrainer(config, context)
