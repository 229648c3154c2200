"""What an evaluation says: names that people know, an interval that is worth its level, JSON that can be read."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from mimetic.evaluate import EvaluationResult, mean_interval
from mimetic.evaluate.ledger import FinishedEpisode, Ledger
from mimetic.evaluate.result import statistics_of
from mimetic.types import Trajectory


def test_the_statistics_have_the_names_that_people_know() -> None:
    statistics = statistics_of([finished(0, 4.0, 2, own=8.0), finished(1, 6.0, 4, own=10.0)], seed=0)

    assert list(statistics) == [
        "n_traj",
        *(f"return_{what}" for what in ("min", "mean", "std", "max")),
        *(f"len_{what}" for what in ("min", "mean", "std", "max")),
        "monitor_return_len",
        *(f"monitor_return_{what}" for what in ("min", "mean", "std", "max")),
        *(f"env_return_{what}" for what in ("min", "mean", "std", "max")),
        "return_ci_low",
        "return_ci_high",
    ]
    assert (statistics["n_traj"], statistics["return_mean"], statistics["return_std"]) == (2, 5.0, 1.0)
    assert (statistics["len_max"], statistics["env_return_mean"], statistics["monitor_return_len"]) == (4, 9.0, 2)


def test_the_environments_own_return_is_left_out_where_it_is_not_known_everywhere() -> None:
    statistics = statistics_of([finished(0, 1.0, 1, own=None), finished(1, 1.0, 1, own=1.0)], seed=0)

    assert "env_return_mean" not in statistics
    assert statistics["monitor_return_len"] == 1


def test_the_interval_of_a_constant_is_that_constant() -> None:
    assert mean_interval([7.25] * 20, np.random.default_rng(0)) == (7.25, 7.25)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("n", [400, 4_000, 40_000])
def test_the_interval_is_that_of_the_normal_law_for_many_values(n: int, whole: bool) -> None:
    """For n values the mean's standard error is std / sqrt(n), and 95% lie within 1.96 of it."""
    values = np.random.default_rng(1).normal(10.0, 2.0, n)
    values = values.round() if whole else values
    error = values.std() / np.sqrt(n)

    low, high = mean_interval(values.tolist(), np.random.default_rng(0))

    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)


def test_the_interval_contains_the_true_mean_about_as_often_as_it_says() -> None:
    hits = 0
    for seed in range(100):
        values = np.random.default_rng(seed).uniform(0, 1, 50)
        low, high = mean_interval(values.tolist(), np.random.default_rng(seed))
        hits += low <= 0.5 <= high

    assert 88 <= hits <= 100


def test_equal_seeds_give_equal_intervals() -> None:
    values = [finished(k, k**0.5, 1) for k in range(9)]

    first, again, other = (statistics_of(values, seed)["return_ci_low"] for seed in (3, 3, 4))

    assert first == again != other


def test_the_json_object_holds_no_number_that_json_cannot() -> None:
    record = finished(0, float("nan"), 1).record
    result = EvaluationResult({"n_traj": 1, "return_mean": float("inf")}, (record,))

    document = json.loads(json.dumps(result.as_dict(), allow_nan=False))

    assert (document["return_mean"], document["episodes"][0]["return"]) == (None, None)


# --- which episodes count ---------------------------------------------------------------------------------------


@given(strategies.data())
@settings(max_examples=100)
def test_the_order_of_arrival_has_no_say_in_what_counts(data: Any) -> None:
    """Whatever finishes first: the shortest row 0, 1, 2, ... that is long enough counts, in its order."""
    lengths = data.draw(strategies.lists(strategies.integers(1, 9), min_size=1, max_size=12))
    n_timesteps = data.draw(strategies.integers(1, sum(lengths)))
    n_episodes = data.draw(strategies.integers(1, len(lengths)))
    arrival = data.draw(strategies.permutations(range(len(lengths))))
    told: list[int] = []

    ledger = Ledger(n_episodes, n_timesteps, lambda episodes: told.extend(each.number for each in episodes))
    for index in arrival:
        ledger.add([finished(index, 0.0, lengths[index])])

    expected = next(k for k in range(1, len(lengths) + 1) if k >= n_episodes and sum(lengths[:k]) >= n_timesteps)
    assert ledger.complete
    assert told == [each.number for each in ledger.counted] == list(range(expected))


def test_an_episode_counts_once_all_before_it_are_there() -> None:
    ledger = Ledger(3, None)
    ledger.add([finished(2, 0.0, 1), finished(1, 0.0, 1)])

    assert (ledger.counted, ledger.next_index, ledger.complete) == ([], 0, False)

    ledger.add([finished(0, 0.0, 1)])
    assert ([each.number for each in ledger.counted], ledger.complete) == ([0, 1, 2], True)


def test_counted_episodes_do_not_stay_in_memory() -> None:
    """They may be written to the disk one by one because they do not fit."""
    trajectory = Trajectory(np.zeros((2, 1)), np.zeros(1), None, True)
    told: list[FinishedEpisode] = []
    ledger = Ledger(1, None, told.extend)

    ledger.add([finished(0, 0.0, 1)._replace(trajectories=(trajectory,))])

    assert (told[0].trajectories, ledger.counted[0].trajectories) == ((trajectory,), ())


def test_when_nothing_more_will_come_all_that_is_there_counts() -> None:
    ledger = Ledger(5, None)
    for index in (3, 0, 2):
        ledger.add([finished(index, 0.0, 1)])

    ledger.settle()

    assert [each.number for each in ledger.counted] == [0, 2, 3]


def finished(number: int, total: float, length: int, *, own: float | None = 1.0) -> FinishedEpisode:
    return FinishedEpisode(
        number=number,
        seed=number,
        env_index=0,
        episode_return=total,
        env_return=own,
        monitor_return=own,
        length=length,
        terminated=True,
        truncated=False,
    )
