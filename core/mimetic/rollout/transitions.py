"""How do trajectories become single steps, and how does the raw episode come out of their infos?"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from mimetic.errors import DataError
from mimetic.types import Trajectory, Transitions, TransitionsWithRew, concatenate_obs, take_rows

ROLLOUT = "rollout"
"""The key in the last info of an episode that :class:`RolloutInfoWrapper` puts the raw episode under."""


def flatten_trajectories(trajectories: Iterable[Trajectory]) -> Transitions:
    """Put the steps of all trajectories into rows; a generator will do. Infos that are absent become empty.

    Raises:
        DataError: (a ValueError) there is no trajectory, or their observations or actions differ in kind.
    """
    return Transitions(**_columns(list(trajectories)))


def flatten_trajectories_with_rew(trajectories: Iterable[Trajectory]) -> TransitionsWithRew:
    """Put the steps of all trajectories into rows, with their rewards.

    Raises:
        DataError: (a ValueError) as :func:`flatten_trajectories`, or a trajectory has no rewards.
    """
    trajectories = list(trajectories)
    rews: list[np.ndarray] = []
    for number, trajectory in enumerate(trajectories):
        if trajectory.rews is None:
            raise DataError(f"trajectory {number} has no rewards; flatten_trajectories does without")
        rews.append(trajectory.rews)
    return TransitionsWithRew(**_columns(trajectories), rews=np.concatenate(rews))


def unwrap_traj(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with the raw observations and rewards that a RolloutInfoWrapper kept in its last info.

    Raises:
        DataError: (a ValueError) there are no infos, or nothing was kept in them.
    """
    if trajectory.infos is None:
        raise DataError("a trajectory without infos cannot be unwrapped: collect it with exclude_infos=False")
    raw = trajectory.infos[-1].get(ROLLOUT)
    if raw is None:
        raise DataError(
            f"the last info of a trajectory has no {ROLLOUT!r}, so its raw observations are not known: wrap each "
            "environment in mimetic.rollout.RolloutInfoWrapper, or pass unwrap=False"
        )
    return replace(trajectory, obs=raw["obs"], rews=raw["rews"])


def _columns(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    if not trajectories:
        raise DataError("no trajectories to flatten; expected at least one")
    before = [take_rows(each.obs, slice(None, -1)) for each in trajectories]
    after = [take_rows(each.obs, slice(1, None)) for each in trajectories]
    ends = np.cumsum([len(each) for each in trajectories]) - 1
    dones, truncated = np.zeros((2, int(ends[-1]) + 1), bool)
    dones[ends] = [each.terminal for each in trajectories]
    truncated[ends] = [each.truncated for each in trajectories]
    return {
        "obs": concatenate_obs(before),
        "acts": _concatenate_acts([each.acts for each in trajectories]),
        "infos": np.concatenate([_infos_of(each) for each in trajectories]),
        "next_obs": concatenate_obs(after),
        "dones": dones,
        "truncated": truncated,
    }


def _concatenate_acts(acts: Sequence[np.ndarray]) -> np.ndarray:
    for number, each in enumerate(acts):
        if (each.dtype, each.shape[1:]) != (acts[0].dtype, acts[0].shape[1:]):
            raise DataError(
                f"trajectories 0 and {number}: actions of shape {acts[0].shape[1:]} and dtype {acts[0].dtype} against "
                f"{each.shape[1:]} and {each.dtype}"
            )
    return np.concatenate(acts)


def _infos_of(trajectory: Trajectory) -> np.ndarray:
    if trajectory.infos is not None:
        return trajectory.infos
    infos = np.empty(len(trajectory), object)
    infos[:] = [{} for _ in range(len(trajectory))]
    return cast(np.ndarray, infos)
