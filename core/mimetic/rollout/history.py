"""How far back are the steps of several environments remembered? As far as an unfinished trajectory reaches."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mimetic.types import Trajectory, map_obs, stack_obs


class History:
    """The latest steps of all environments side by side, kept a step at a time and taken out an episode at a time."""

    def __init__(self, obs: Any, n_envs: int) -> None:
        """Begin with the observations that the reset gave."""
        self._obs: list[Any] = [map_obs(np.array, obs)]  # one more than steps
        self._acts: list[np.ndarray] = []
        self._rews: list[np.ndarray] = []
        self._infos: list[Sequence[Mapping[str, Any]]] = []
        self.lengths = np.zeros(n_envs, np.int64)  # (n,) steps of each environment's running trajectory

    def add(self, acts: np.ndarray, obs: Any, rews: np.ndarray, infos: Sequence[Mapping[str, Any]]) -> None:
        """Add a step of every environment; ``obs`` begins the next episode where one has just ended."""
        self._acts.append(np.array(acts))
        self._obs.append(map_obs(np.array, obs))
        self._rews.append(np.array(rews))
        self._infos.append(infos)
        self.lengths += 1

    def finish(self, index: int, *, done: bool) -> Trajectory:
        """Take the running trajectory of an environment out; one that is not done was cut by the collector."""
        start = len(self._acts) - int(self.lengths[index])
        self.lengths[index] = 0
        steps = [step[index] for step in self._infos[start:]]
        infos = np.empty(len(steps), object)
        infos[:] = steps
        rows = [row_of(obs, index) for obs in self._obs[start:]]
        if done:
            rows[-1] = like(rows[-1], steps[-1]["terminal_observation"])
        truncated = not done or bool(steps[-1].get("TimeLimit.truncated", False))
        return Trajectory(
            obs=stack_obs(rows),
            acts=np.stack([acts[index] for acts in self._acts[start:]]),
            infos=infos,
            terminal=not truncated,
            rews=np.array([rews[index] for rews in self._rews[start:]]),
            truncated=truncated,
        )

    def forget(self, active: np.ndarray) -> None:
        """Drop what no running trajectory of an active environment holds any more."""
        self.lengths[~active] = 0
        surplus = len(self._acts) - int(self.lengths.max())
        if surplus > len(self._acts) // 2:  # so that a step is moved once, not each time
            for column in (self._obs, self._acts, self._rews, self._infos):
                del column[:surplus]


def row_of(obs: Any, index: int) -> Any:
    """Return the observation of one environment; arrays are views."""
    if isinstance(obs, Mapping):
        return {key: row_of(column, index) for key, column in obs.items()}
    return obs[index]


def like(row: Any, obs: Any) -> Any:
    """Return ``obs`` with the dtypes of ``row``: an environment's own may differ from what its space declares."""
    if isinstance(row, Mapping):
        return {key: like(row[key], obs[key]) for key in row}
    return np.asarray(obs, dtype=row.dtype)
