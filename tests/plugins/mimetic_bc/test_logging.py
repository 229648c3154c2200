"""BCLogger, the progress bar and the rollouts beside training."""

import io
import sys

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from cloning import OBS, TWO, Memory, policy_for, sign_demonstrations, silent
from mimetic.logs import HierarchicalLogger
from mimetic_bc import BC, BCLogger, BCTrainingMetrics, RolloutStatsComputer
from worlds import Len


def metrics(entropy: float | None = 0.5) -> BCTrainingMetrics:
    numbers = [torch.tensor(float(i)) for i in range(7)]
    return BCTrainingMetrics(numbers[0], None if entropy is None else torch.tensor(entropy), *numbers[2:])


def test_a_batch_is_one_record() -> None:
    memory = Memory()
    logger = BCLogger(HierarchicalLogger([memory]))

    logger.log_epoch(3)
    logger.log_batch(
        batch_num=40,
        batch_size=32,
        num_samples_so_far=1312,
        training_metrics=metrics(),
        rollout_stats={"return_mean": 1.5},
    )

    (record,) = memory.records
    assert (record.step, record.epoch) == (40, 3)
    assert {key: value for key, value in record.values.items() if not key.startswith("bc/l")} == {
        "batch_size": 32,
        "bc/epoch": 3,
        "bc/batch": 40,
        "bc/samples_so_far": 1312,
        "bc/neglogp": 0.0,
        "bc/entropy": 0.5,
        "bc/ent_loss": 2.0,
        "bc/prob_true_act": 3.0,
        "rollout/return_mean": 1.5,
    }


def test_an_entropy_that_is_not_known_is_logged_as_none() -> None:
    memory = Memory()

    BCLogger(HierarchicalLogger([memory])).log_batch(0, 1, 1, metrics(None), {})

    assert memory.column("bc/entropy") == [None]


def test_of_rollouts_returns_and_lengths_are_logged() -> None:
    memory = Memory()
    stats = {"n_traj": 5, "return_mean": 1.0, "len_max": 9, "monitor_return_mean": 2.0, "monitor_return_len": 5}

    BCLogger(HierarchicalLogger([memory])).log_batch(0, 1, 1, metrics(), stats)

    assert {key for key in memory.records[0].values if "rollout" in key} == {"rollout/return_mean", "rollout/len_max"}


def test_statistics_are_those_of_the_episodes() -> None:
    venv = DummyVecEnv([lambda: Len(3), lambda: Len(3)])
    policy = policy_for(TWO, Len().observation_space)

    stats = RolloutStatsComputer(venv, 4)(policy, np.random.default_rng(0))

    assert (stats["return_mean"], stats["len_min"], stats["len_max"]) == (3.0, 3, 3)
    assert stats["n_traj"] >= 4


@pytest.mark.parametrize("n_episodes", [0, -2])
def test_without_episodes_there_are_no_statistics(n_episodes: int) -> None:
    policy = policy_for(TWO, Len().observation_space)

    assert RolloutStatsComputer(DummyVecEnv([Len]), n_episodes)(policy, np.random.default_rng(0)) == {}
    assert RolloutStatsComputer(None, 5)(policy, np.random.default_rng(0)) == {}


# --- the progress bar -----------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def trained_before(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, progress_bar: bool = True) -> str:
    bc = BC(
        observation_space=OBS,
        action_space=TWO,
        rng=np.random.default_rng(0),
        demonstrations=sign_demonstrations(64),
        custom_logger=silent(),
    )
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        bc.train(n_epochs=2, progress_bar=progress_bar)
    return stream.getvalue()


def test_a_terminal_sees_a_bar_with_the_steps_and_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = trained_before(Terminal(), monkeypatch)

    assert "4/4" in shown
    assert "loss 0.6" in shown


def test_what_is_no_terminal_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trained_before(io.StringIO(), monkeypatch) == ""


def test_a_bar_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trained_before(Terminal(), monkeypatch, progress_bar=False) == ""
