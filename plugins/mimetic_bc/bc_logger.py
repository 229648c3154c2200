"""How does ``BC.train`` log? One record a log point, under the reference's keys; docs/metrics.md explains each."""

from collections.abc import Mapping
from dataclasses import fields

from mimetic.logs import HierarchicalLogger
from mimetic_bc.metrics import BCTrainingMetrics


class BCLogger:
    """Writes a record for a batch. Steps count optimiser steps, and go on from one training to the next."""

    def __init__(self, logger: HierarchicalLogger, *, first_step: int = 0) -> None:
        """Write to ``logger``; a training's first batch is logged at ``first_step``."""
        self.logger = logger
        """Where records go; another one takes over from the next record on."""
        self._epoch = 0
        self._first_step = first_step

    def reset_tensorboard_steps(self) -> None:
        """Count steps from 0 again."""
        self._first_step = 0

    def log_epoch(self, epoch_number: int) -> None:
        """Say which pass, from 0, the following batches belong to."""
        self._epoch = epoch_number

    def log_batch(
        self,
        batch_num: int,
        batch_size: int,
        num_samples_so_far: int,
        training_metrics: BCTrainingMetrics,
        rollout_stats: Mapping[str, float],
    ) -> None:
        """Write one record.

        Args:
            batch_num: the batch's number in this training, from 0.
            batch_size: its rows.
            num_samples_so_far: rows of this training up to it and with it.
            training_metrics: what was measured at it.
            rollout_stats: statistics of rollouts; returns and lengths are logged, those of SB3's Monitor are not.
        """
        self.logger.record("batch_size", batch_size)
        self.logger.record("bc/epoch", self._epoch)
        self.logger.record("bc/batch", batch_num)
        self.logger.record("bc/samples_so_far", num_samples_so_far)
        for metric in fields(training_metrics):
            value = getattr(training_metrics, metric.name)
            self.logger.record(f"bc/{metric.name}", None if value is None else float(value))
        for key, value in rollout_stats.items():
            if "monitor" not in key and ("return" in key or key.startswith("len_")):
                self.logger.record(f"rollout/{key}", value)
        self.logger.epoch = self._epoch
        self.logger.dump(self._first_step + batch_num)
