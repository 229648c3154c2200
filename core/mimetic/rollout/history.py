"""How far back are the steps of several environments remembered? As far as an unfinished trajectory reaches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mimetic.types import Trajectory, obs_from_leaves, obs_leaves
from mimetic.types.rows import Rows

MUCH = 64
"""So many steps are forgotten together at least."""


class History:
    """The latest steps of all environments side by side, in columns, taken out a trajectory at a time."""

    def __init__(self, obs: Any, n_envs: int) -> None:
        """Begin with the observations that the reset gave."""
        self._obs = {name: Rows(leaf) for name, leaf in obs_leaves(obs).items()}  # one row more than steps
        self._acts: Rows | None = None
        self._rews: Rows | None = None
        self._infos: list[Sequence[Mapping[str, Any]]] = []
        self._n_steps = 0
        self._next_look = MUCH
        self._starts = [0] * n_envs  # the first step of each running trajectory
        self._append(obs)

    @property
    def lengths(self) -> np.ndarray:
        """(n,) how many steps the running trajectory of each environment has."""
        return self._n_steps - np.array(self._starts)

    def add(
        self, acts: np.ndarray, obs: Any, rews: np.ndarray, infos: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Add a step of every environment; ``obs`` begins the next episode where one has just ended."""
        self._append(obs)
        if self._acts is None or self._rews is None:
            self._acts, self._rews = Rows(acts), Rows(rews)
        self._acts.append(acts)
        self._rews.append(rews)
        if infos is not None:
            self._infos.append(infos)
        self._n_steps += 1

    def replace(self, obs: Any) -> None:
        """Put other observations in place of the newest: environments that have just been reset."""
        for name, leaf in obs_leaves(obs).items():
            self._obs[name].replace_last(leaf)

    def finish(self, index: int, *, terminated: bool, last_obs: Any = None) -> Trajectory:
        """Take an environment's running trajectory out; ``last_obs``: its last observation, where a reset hides it."""
        assert self._acts is not None
        assert self._rews is not None
        start, stop = self._starts[index], self._n_steps
        self._starts[index] = stop
        infos = None
        if self._infos:
            infos = np.empty(stop - start, object)
            infos[:] = [step[index] for step in self._infos[start:]]
        return Trajectory(
            obs=self._own_obs(index, start, last_obs),
            acts=self._acts.view(start)[:, index].copy(),
            infos=infos,
            terminal=terminated,
            rews=self._rews.view(start)[:, index].copy(),
            truncated=not terminated,
        )

    def begin(self, environments: Iterable[int]) -> None:
        """Begin a trajectory in each of these, with the newest observation."""
        for index in environments:
            self._starts[index] = self._n_steps

    def forget(self) -> None:
        """Drop what no running trajectory holds any more."""
        if self._n_steps < self._next_look:
            return
        surplus = min(self._starts)
        self._next_look = self._n_steps + MUCH
        if surplus > max(self._n_steps // 2, MUCH):  # so that a step is moved once, not each time
            for rows in (*self._obs.values(), self._acts, self._rews):
                if rows is not None:
                    rows.forget(surplus)
            del self._infos[:surplus]
            self._starts = [start - surplus for start in self._starts]
            self._n_steps -= surplus
            self._next_look -= surplus

    def _own_obs(self, index: int, start: int, last_obs: Any) -> Any:
        obs = {name: rows.view(start)[:, index].copy() for name, rows in self._obs.items()}
        if last_obs is not None:
            for name, leaf in obs_leaves(last_obs).items():
                obs[name][-1] = leaf
        return obs["obs"] if "obs" in obs else obs_from_leaves(obs)

    def _append(self, obs: Any) -> None:
        if isinstance(obs, np.ndarray):
            self._obs["obs"].append(obs)
            return
        for name, leaf in obs_leaves(obs).items():
            self._obs[name].append(leaf)


def like(row: Any, obs: Any) -> Any:
    """Return ``obs`` with the dtypes of ``row``: an environment's own may differ from what its space declares."""
    if isinstance(row, Mapping):
        return {key: like(row[key], obs[key]) for key in row}
    return np.asarray(obs, dtype=row.dtype)
