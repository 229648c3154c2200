"""Marks: what an actor noted about an action stands beside that action, whoever else was playing then."""

from typing import Any

import numpy as np

from mimetic.evaluate.lanes import Ending
from mimetic.evaluate.rollouts import Marks
from mimetic.rollout.history import MUCH
from mimetic.types import Trajectory


def ending(env_index: int, length: int, *, next_index: int | None = 1, steps_before: Any = None) -> Ending:
    trajectory = Trajectory(np.zeros((length + 1, 1)), np.zeros(length), None, True)
    return Ending(
        env_index=env_index,
        number=0,
        length=length,
        terminated=True,
        truncated=False,
        next_index=next_index,
        trajectories=(trajectory,),
        steps_before=steps_before,
    )


def noted(moved: Ending, name: str = "x") -> list[Any]:
    (trajectory,) = moved.trajectories
    assert trajectory.infos is not None
    return [info[name].item() for info in trajectory.infos]


def test_each_environment_keeps_its_own_marks() -> None:
    marks = Marks(2)
    for step in range(3):
        marks.add({"x": np.array([step, 10 * step])})

    assert noted(marks.move_into(ending(0, 3))) == [0, 1, 2]
    marks.add({"x": np.array([3, 30])})
    assert noted(marks.move_into(ending(0, 1))) == [3]
    assert noted(marks.move_into(ending(1, 4))) == [0, 10, 20, 30]


def test_a_step_that_was_only_a_reset_has_no_mark() -> None:
    marks = Marks(2)
    marks.add({"x": np.array([1, 1])})
    marks.move_into(ending(0, 1))
    marks.add({"x": np.array([2, 2])}, np.array([True, False]))
    marks.add({"x": np.array([3, 3])})

    assert noted(marks.move_into(ending(0, 1))) == [3]
    assert noted(marks.move_into(ending(1, 3))) == [1, 2, 3]


def test_what_is_noted_now_and_then_is_zero_elsewhere() -> None:
    marks = Marks(1)
    marks.add({})
    marks.add({"x": np.array([7])})
    marks.add({"y": np.array([True])})

    moved = marks.move_into(ending(0, 3))

    assert (noted(moved), noted(moved, "y")) == ([0, 7, 0], [False, False, True])


def test_without_marks_trajectories_stay_as_they_are() -> None:
    marks, given = Marks(1), ending(0, 1)
    marks.add({})

    assert marks.move_into(given) is given


def test_marks_are_let_go_with_their_episodes() -> None:
    """Also beside an environment that has played all its episodes."""
    marks = Marks(2)
    marks.add({"x": np.array([0, 0])})
    marks.move_into(ending(1, 1, next_index=None))
    for step in range(1, 50 * MUCH):
        marks.add({"x": np.array([step, 0])})
        if step % 5 == 0:
            assert noted(marks.move_into(ending(0, 5 if step > 5 else 6)))[-1] == step

    assert len(marks._columns["x"]) < 4 * MUCH
