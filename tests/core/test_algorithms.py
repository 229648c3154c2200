"""What every algorithm that learns from demonstrations does with its logger and with the lengths of episodes."""

import pickle
from typing import Any

import pytest
from stable_baselines3.common.policies import ActorCriticPolicy

from cloning import Memory, silent
from mimetic.algorithms import DemonstrationAlgorithm, Report
from mimetic.errors import DataError
from mimetic.logs import HierarchicalLogger


class Counting(DemonstrationAlgorithm):
    """Counts what it is given."""

    given: Any = None

    @property
    def policy(self) -> ActorCriticPolicy:
        raise NotImplementedError

    def set_demonstrations(self, demonstrations: Any) -> None:
        self.given = demonstrations


class Messages(Memory):
    """Keeps text too."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def write_message(self, text: str) -> None:
        self.texts.append(text)


def test_demonstrations_are_taken_at_construction_and_none_are_not() -> None:
    assert Counting(demonstrations=[1], custom_logger=silent()).given == [1]
    assert Counting(demonstrations=None, custom_logger=silent()).given is None


def test_the_logger_can_be_replaced() -> None:
    algorithm, other = Counting(demonstrations=None, custom_logger=silent()), silent()

    algorithm.logger = other

    assert algorithm.logger is other


def test_allowing_lengths_that_can_mislead_is_warned_about_once_at_construction() -> None:
    messages = Messages()

    algorithm = Counting(demonstrations=None, custom_logger=HierarchicalLogger([messages]), allow_variable_horizon=True)
    algorithm.check_fixed_horizon([3, 4, 5])

    assert len(messages.texts) == 1
    assert "different lengths" in messages.texts[0]


def test_different_lengths_are_named_as_a_range() -> None:
    algorithm = Counting(demonstrations=None, custom_logger=silent())

    with pytest.raises(DataError, match="episodes have 40 different lengths, from 10 to 49 steps"):
        algorithm.check_fixed_horizon(range(10, 50))


def test_one_length_is_remembered_between_calls() -> None:
    algorithm = Counting(demonstrations=None, custom_logger=silent())
    algorithm.check_fixed_horizon([])
    algorithm.check_fixed_horizon([5, 5])
    algorithm.check_fixed_horizon([5])

    with pytest.raises(DataError, match="2 different lengths, from 5 to 6 steps"):
        algorithm.check_fixed_horizon([6])


def test_a_pickled_algorithm_leaves_its_logger_behind() -> None:
    algorithm = Counting(demonstrations=[1], custom_logger=silent())

    again = pickle.loads(pickle.dumps(algorithm))

    assert again.given == [1]
    assert again._logger is None


def test_a_report_without_values_is_a_report() -> None:
    assert Report(step=3, epoch=1, samples=96).values == {}
