"""Marks: what an actor noted about an action stands beside that action, whoever else was playing then."""

from typing import Any

import numpy as np

from mimetic.evaluate.marks import Marks, marked
from mimetic.rollout.history import MUCH
from mimetic.types import Trajectory


def of_length(length: int) -> Trajectory:
    return Trajectory(np.zeros((length + 1, 1)), np.zeros(length), None, True)


def taken(marks: Marks, env_index: int, length: int, *, more: bool = True) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in marks.take(env_index, length, more=more).items()}


def test_each_environment_keeps_its_own_marks() -> None:
    marks = Marks(2)
    for step in range(3):
        marks.add({"x": np.array([step, 10 * step])})

    assert taken(marks, 0, 3) == {"x": [0, 1, 2]}
    marks.add({"x": np.array([3, 30])})
    assert taken(marks, 0, 1) == {"x": [3]}
    assert taken(marks, 1, 4) == {"x": [0, 10, 20, 30]}


def test_a_step_that_was_only_a_reset_has_no_mark() -> None:
    """An episode of one step, the reset of environment 0 alone, another episode of one step."""
    marks = Marks(2)
    marks.add({"x": np.array([1, 1])})
    taken(marks, 0, 1)
    marks.add({"x": np.array([2, 2])})
    marks.add({"x": np.array([3, 3])})

    assert taken(marks, 0, 1) == {"x": [3]}
    assert taken(marks, 1, 3) == {"x": [1, 2, 3]}


def test_what_is_noted_now_and_then_is_zero_elsewhere() -> None:
    marks = Marks(1)
    marks.add({})
    marks.add({"x": np.array([7])})
    marks.add({"y": np.array([True])})

    assert taken(marks, 0, 3) == {"x": [0, 7, 0], "y": [False, False, True]}


def test_marks_come_into_the_infos_of_their_steps() -> None:
    (trajectory,) = marked([of_length(2)], {"x": np.array([7, 8])})

    assert trajectory.infos is not None
    assert [dict(info) for info in trajectory.infos] == [{"x": 7}, {"x": 8}]


def test_without_marks_trajectories_stay_as_they_are() -> None:
    marks, given = Marks(1), [of_length(1)]
    marks.add({})

    assert marked(given, marks.take(0, 1, more=True)) is given


def test_marks_are_let_go_with_their_episodes() -> None:
    """Also beside an environment that has played all its episodes."""
    marks = Marks(2)
    marks.add({"x": np.array([0, 0])})
    taken(marks, 1, 1, more=False)
    for step in range(1, 50 * MUCH):
        marks.add({"x": np.array([step, 0])})
        if step % 5 == 0:
            assert taken(marks, 0, 5)["x"][-1] == step

    assert len(marks._columns["x"]) < 4 * MUCH
