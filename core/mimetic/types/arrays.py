"""How do plain arrays become demonstrations? One constructor, from ``(obs, acts)`` or from episodes."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mimetic.errors import DataError
from mimetic.types.dataset import TrajectoryDataset
from mimetic.types.demonstrations import Demonstrations
from mimetic.types.equality import same_array
from mimetic.types.infos import columns_from_infos
from mimetic.types.observations import (
    Observations,
    as_array,
    as_observations,
    map_obs,
    n_rows,
    obs_from_leaves,
    obs_leaves,
    take_rows,
)
from mimetic.types.trajectories import Trajectory
from mimetic.types.transitions import Transitions, TransitionsMinimal, TransitionsWithRew

if TYPE_CHECKING:
    import gymnasium as gym

Episode = Trajectory | Sequence[Any] | Mapping[str, Any]
"""A trajectory, a pair ``(obs, acts)`` of T+1 and T rows, or a mapping with these and what else is known."""

_EPISODE_KEYS = ("obs", "acts", "infos", "terminal", "rews", "truncated")


def from_arrays(
    obs: Any = None,
    acts: Any = None,
    *,
    episodes: Iterable[Episode] | None = None,
    episode_ends: Any = None,
    terminals: Any = None,
    truncations: Any = None,
    next_obs: Any = None,
    dones: Any = None,
    truncated: Any = None,
    rews: Any = None,
    infos: Mapping[str, np.ndarray] | None = None,
    observation_space: "gym.Space[Any] | None" = None,
    action_space: "gym.Space[Any] | None" = None,
    description: str = "arrays",
) -> Demonstrations:
    """Make demonstrations from arrays, without a copy: from ``obs`` and ``acts``, or from ``episodes``.

    What ``obs`` and ``acts`` of N actions mean depends on what stands beside them:

    * nothing: N observations and the actions taken in them (single steps);
    * nothing, and N+1 observations: one trajectory;
    * ``episode_ends``: E trajectories end to end, with N+E observations (each has the one after its last action);
    * ``next_obs`` and ``dones``: single steps with what followed and whether the task ended.

    Args:
        obs: an array, or a mapping of arrays.
        acts: an array.
        episodes: trajectories, pairs ``(obs, acts)`` of T+1 and T rows, or mappings with the keys ``obs``, ``acts``
            and optionally ``rews``, ``infos``, ``terminal``, ``truncated``; then no other array may be given.
        episode_ends: ``(E,)`` cumulative counts of actions.
        terminals: ``(E,)`` bool, whether the task ended with the trajectory; left out: nowhere.
        truncations: ``(E,)`` bool, whether the clock or the collector cut it; left out: nowhere.
        next_obs: as ``obs``, the observation after each action.
        dones: ``(N,)`` bool, whether the task ended with the step.
        truncated: ``(N,)`` bool, whether the clock or the collector cut the trajectory after the step.
        rews: ``(N,)``; left out with a warning when there are only single steps.
        infos: ``(N, ...)`` by key; they have a place in trajectories only, as rewards.
        observation_space: the space of one observation, when it is known.
        action_space: the space of one action, when it is known.
        description: what errors call these demonstrations.

    Raises:
        DataError: lengths do not fit together; the message has the numbers.
    """
    columns = {
        "episode_ends": episode_ends,
        "terminals": terminals,
        "truncations": truncations,
        "next_obs": next_obs,
        "dones": dones,
        "truncated": truncated,
        "rews": rews,
        "infos": infos,
    }
    given = {name: column for name, column in columns.items() if column is not None}
    data: TrajectoryDataset | TransitionsMinimal
    if episodes is not None:
        if obs is not None or acts is not None or given:
            raise DataError(f"{description}: episodes hold all arrays; expected nothing beside them")
        data = TrajectoryDataset.from_trajectories([_trajectory(e, number) for number, e in enumerate(episodes)])
    elif obs is None or acts is None:
        raise DataError(f"{description}: expected obs and acts, or episodes")
    else:
        data = _from_columns(as_observations(obs), as_array(acts, "acts"), given)
    if isinstance(data, TrajectoryDataset):
        data = data.with_spaces(observation_space, action_space)
    return Demonstrations(data, observation_space, action_space, description)


def join_transitions(transitions: Transitions) -> TrajectoryDataset:
    """Put single steps, in the order of time, together to trajectories; what has no end is truncated.

    Raises:
        DataError: a step is not followed by the observation that its ``next_obs`` says.
    """
    n = len(transitions)
    is_end = transitions.dones | transitions.truncated
    is_end[-1:] = True
    ends = np.flatnonzero(is_end) + 1
    _require_in_order(transitions, is_end)
    obs_rows = np.arange(n) + np.searchsorted(ends, np.arange(n), side="right")
    after = obs_leaves(transitions.next_obs)

    def merge(name: str, leaf: np.ndarray) -> np.ndarray:
        merged = np.empty((n + len(ends), *leaf.shape[1:]), leaf.dtype)
        merged[obs_rows] = leaf
        merged[ends + np.arange(len(ends))] = after[name][ends - 1]
        return merged

    return TrajectoryDataset(
        obs=obs_from_leaves({name: merge(name, leaf) for name, leaf in obs_leaves(transitions.obs).items()}),
        acts=transitions.acts,
        episode_ends=ends,
        terminals=transitions.dones[ends - 1],
        truncations=transitions.truncated[ends - 1] | ~transitions.dones[ends - 1],
        rews=transitions.rews if isinstance(transitions, TransitionsWithRew) else None,
        infos=None if transitions.infos is None else columns_from_infos(list(transitions.infos)),
    )


def _from_columns(obs: Observations, acts: np.ndarray, given: dict[str, Any]) -> TrajectoryDataset | TransitionsMinimal:
    rows, n = n_rows(obs), len(acts) if acts.ndim else 0
    if n == 0:
        raise DataError(f"acts has shape {acts.shape}; expected at least one action, one row each")
    if "next_obs" in given:
        return _transitions(obs, acts, given)
    _refuse(given, ("dones", "truncated"), "need next_obs: what followed the last action of a trajectory is not known")
    if "episode_ends" in given:
        return _dataset(obs, acts, given)
    if rows == n + 1:
        return _dataset(obs, acts, {**given, "episode_ends": [n]})
    if rows != n:
        raise DataError(
            f"obs has {rows} rows and acts {n}; expected {n} (an observation an action), {n + 1} (one trajectory, "
            "with the state after the last action), or episode_ends that say where trajectories end"
        )
    _refuse(given, ("terminals", "truncations"), "need episode_ends, and an observation more for each trajectory")
    if given:
        warnings.warn(f"{' and '.join(given)}: left out, because single steps have no place for them", stacklevel=4)
    return TransitionsMinimal(obs, acts)


def _dataset(obs: Observations, acts: np.ndarray, given: dict[str, Any]) -> TrajectoryDataset:
    ends = as_array(given["episode_ends"], "episode_ends")
    nowhere = np.zeros(ends.shape, bool)
    flags = {name: np.atleast_1d(given.pop(name, nowhere)) for name in ("terminals", "truncations")}
    return TrajectoryDataset(obs=obs, acts=acts, **{**given, **flags, "episode_ends": ends})


def _transitions(obs: Observations, acts: np.ndarray, given: dict[str, Any]) -> Transitions:
    _refuse(given, ("episode_ends", "terminals", "truncations"), "go with trajectories, not with next_obs; use dones")
    if "dones" not in given:
        raise DataError("next_obs needs dones: whether the task ended with the step")
    rest = {name: given[name] for name in ("next_obs", "dones", "truncated") if name in given}
    if "rews" in given:
        return TransitionsWithRew(obs, acts, None, **rest, rews=given["rews"])
    return Transitions(obs, acts, None, **rest)


def _refuse(given: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    seen = [name for name in names if name in given]
    if seen:
        raise DataError(f"{' and '.join(seen)} {why}")


def _trajectory(episode: Episode, number: int) -> Trajectory:
    if isinstance(episode, Trajectory):
        return episode
    if not isinstance(episode, Mapping):
        if len(episode) != 2:
            raise DataError(f"episode {number} has {len(episode)} parts; expected a pair (obs, acts), or a mapping")
        episode = dict(zip(("obs", "acts"), episode, strict=True))
    unknown = sorted(set(episode) - set(_EPISODE_KEYS))
    if unknown or not {"obs", "acts"} <= set(episode):
        raise DataError(f"episode {number} has the keys {sorted(episode)}; expected {', '.join(_EPISODE_KEYS)}")
    try:
        return Trajectory(**{"infos": None, "terminal": False, **episode})
    except DataError as error:
        raise DataError(f"episode {number}: {error}") from error


def _require_in_order(transitions: Transitions, is_end: np.ndarray) -> None:
    inner = np.flatnonzero(~is_end)
    before, after = take_rows(transitions.next_obs, inner), take_rows(transitions.obs, inner + 1)
    same = obs_leaves(map_obs(_row_bytes, before)), obs_leaves(map_obs(_row_bytes, after))
    for name, rows in same[0].items():
        if same_array(rows, same[1][name]):
            continue
        step = int(inner[np.flatnonzero((rows != same[1][name]).any(axis=1))[0]])
        raise DataError(
            f"transition {step}: its next_{name} is not the {name} of transition {step + 1}, and no flag says that a "
            "trajectory ended there; expected steps in the order of time"
        )


def _row_bytes(leaf: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(leaf).view(np.uint8).reshape(len(leaf), -1)
