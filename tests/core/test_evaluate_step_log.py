"""The log of steps: what is cut out of it are the episodes that each environment lived, in whatever order they end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mimetic.evaluate.step_log import Kept, Pile, StepLog, amount_of
from mimetic.types import Trajectory, TrajectoryDataset

LENGTHS = [[1, 1, 2, 5, 1], [3, 3, 4], [10]]
"""The lengths of the episodes of three environments, 10 steps each."""


def seen(i: int, steps: Any, *, is_dict: bool) -> Any:
    """Return what an environment shows after some numbers of steps; a reset takes none and shows nothing new."""
    first = 100.0 * i + np.asarray(steps)
    return {"a": np.stack([first, -first], axis=-1), "b": first} if is_dict else first


def stacked(rows: Sequence[Any]) -> Any:
    if isinstance(rows[0], dict):
        return {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    return np.stack(rows)


def lived(
    *, is_dict: bool = False, cut_every: int = 100, noting: Any = lambda step: {}
) -> tuple[list[Kept], list[Any]]:
    """Log the environments; return what is kept of each episode in the order of their ends, and what they were."""
    log = StepLog(stacked([seen(i, 0, is_dict=is_dict) for i in range(3)]))
    kept: list[Kept] = []
    expected = []
    starts = [0, 0, 0]
    for step in range(1, 11):
        obs = stacked([seen(i, step, is_dict=is_dict) for i in range(3)])
        log.add(np.full(3, step), obs, np.arange(3) + step / 8, noting(step))
        for i, lengths in enumerate(LENGTHS):
            if step in np.cumsum(lengths):
                steps = np.arange(starts[i], step + 1)
                kept.append(log.end(i, starts[i], step, terminated=i == 0))
                obs = seen(i, steps, is_dict=is_dict)
                expected.append(Trajectory(obs, steps[1:], None, i == 0, rews=i + steps[1:] / 8, truncated=i != 0))
                starts[i] = step
        if step % cut_every == 0:
            log.cut()
            log.forget(min(starts))
    return kept, expected


@pytest.mark.parametrize("is_dict", [False, True])
@pytest.mark.parametrize("cut_every", [1, 3, 100])
def test_what_is_cut_out_is_what_was_lived(cut_every: int, is_dict: bool) -> None:
    kept, expected = lived(is_dict=is_dict, cut_every=cut_every)

    assert [each[0] for each in kept] == expected
    assert [amount_of(each) for each in kept] == [amount_of([trajectory]) for trajectory in expected]


@pytest.mark.parametrize("is_dict", [False, True])
@pytest.mark.parametrize("cut_every", [1, 3, 100])
def test_a_pile_has_the_episodes_in_the_order_in_which_they_were_added(cut_every: int, is_dict: bool) -> None:
    kept, expected = lived(is_dict=is_dict, cut_every=cut_every)
    order = np.random.default_rng(0).permutation(len(kept)).tolist()

    pile = Pile()
    for place in order:
        pile.add(kept[place])

    assert pile.data() == TrajectoryDataset.from_trajectories([expected[place] for place in order])


def test_a_pile_takes_trajectories_too() -> None:
    _, expected = lived()

    pile = Pile()
    assert not pile
    pile.add(expected[:2])
    pile.add(expected[2:])

    assert pile
    assert pile.data() == TrajectoryDataset.from_trajectories(expected)


def test_the_last_observation_is_the_one_before_the_reset() -> None:
    """Where the observation after the step is already the next episode's first."""
    log = StepLog(np.zeros((1, 1)))
    log.add(np.zeros(1), np.full((1, 1), 7.0), np.zeros(1), {})
    kept = log.end(0, 0, 1, terminated=True, last_obs=np.ones(1))
    log.add(np.zeros(1), np.full((1, 1), 8.0), np.zeros(1), {})

    assert np.asarray(kept[0].obs).ravel().tolist() == [0.0, 1.0]
    assert np.asarray(log.end(0, 1, 2, terminated=True)[0].obs).ravel().tolist() == [7.0, 8.0]


@pytest.mark.parametrize("cut_every", [1, 100])
def test_what_was_noted_stands_beside_its_steps_and_is_zero_elsewhere(cut_every: int) -> None:
    kept, _ = lived(cut_every=cut_every, noting=lambda step: {"x": np.arange(3) + 10 * step} if step % 2 == 0 else {})

    noted = [[dict(info) for info in infos] for infos in (each[0].infos for each in kept) if infos is not None]

    assert noted[-1] == [{"x": 10 * step + 2 if step % 2 == 0 else 0} for step in range(1, 11)]
    assert len(noted) == len(kept) - (cut_every == 1)  # nothing had been noted yet when the first was cut out
    pile = Pile()
    for each in kept:
        pile.add(each)
    assert (pile.data().infos or {})["x"].tolist()[-10:] == [0, 22, 0, 42, 0, 62, 0, 82, 0, 102]


def test_the_log_copies_what_others_may_write_over() -> None:
    obs, acts = np.zeros((1, 1)), np.zeros(1)
    log = StepLog(obs)
    log.add(acts, obs, np.zeros(1), {"x": acts})
    kept = log.end(0, 0, 1, terminated=True)
    obs[:], acts[:] = 9, 9

    assert np.asarray(kept[0].obs).tolist() == [[0.0], [0.0]]
    assert (kept[0].acts.tolist(), kept[0].infos[0]) == ([0.0], {"x": 0.0})


def test_the_log_forgets_what_no_episode_holds() -> None:
    """1,000 episodes of 5 steps, one environment a step behind the other."""
    log, starts = StepLog(np.zeros((2, 1))), [0, 0]
    for step in range(1, 5001):
        log.add(np.full(2, step), np.full((2, 1), step), np.ones(2), {})
        for i in range(2):
            if step % 5 == i:
                kept = log.end(i, starts[i], step, terminated=True)
                assert kept[0].acts.tolist() == list(range(starts[i] + 1, step + 1))
                starts[i] = step
        log.forget(min(starts))

    assert len(log._acts) < 10
