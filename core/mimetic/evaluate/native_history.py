"""How are episodes of gymnasium's vectorised environments recorded? In columns that hold the latest steps of all."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mimetic.types import Trajectory, obs_from_leaves, obs_leaves

_FIRST_ROWS = 64


class NativeHistory:
    """The latest steps of environments side by side, taken out an episode at a time."""

    def __init__(self, obs: Any, n_envs: int) -> None:
        """Begin with the observations that the reset gave."""
        self._obs = {name: _Rows(leaf) for name, leaf in obs_leaves(obs).items()}  # one row more than steps
        self._acts: _Rows | None = None
        self._rews: _Rows | None = None
        self._n_steps = 0
        self._starts = np.zeros(n_envs, np.int64)  # (n,) the first step of each running episode

    def add(self, acts: np.ndarray, obs: Any, rews: np.ndarray) -> None:
        """Add a step of every environment."""
        for name, leaf in obs_leaves(obs).items():
            self._obs[name].append(leaf)
        if self._acts is None or self._rews is None:
            self._acts, self._rews = _Rows(acts), _Rows(rews.astype(np.float64))
        else:
            self._acts.append(acts)
            self._rews.append(rews)
        self._n_steps += 1

    def replace(self, obs: Any) -> None:
        """Put other observations in place of the newest: environments that have just been reset."""
        for name, leaf in obs_leaves(obs).items():
            self._obs[name].replace(leaf)

    def finish(self, index: int, *, terminated: bool, last_obs: Any = None) -> Trajectory:
        """Take an environment's running episode out; ``last_obs``: its last observation, when a reset wrote over it."""
        assert self._acts is not None
        assert self._rews is not None
        steps = slice(int(self._starts[index]), self._n_steps)
        obs = obs_from_leaves({name: rows.of(index, steps.start, steps.stop + 1) for name, rows in self._obs.items()})
        if last_obs is not None:
            _put_last(obs, last_obs)
        return Trajectory(
            obs=obs,
            acts=self._acts.of(index, steps.start, steps.stop),
            infos=None,
            terminal=terminated,
            rews=self._rews.of(index, steps.start, steps.stop),
            truncated=not terminated,
        )

    def begin(self, begun: np.ndarray, forgotten: np.ndarray) -> None:
        """Begin episodes with the newest observation where ``begun``; drop what nothing but ``forgotten`` needs."""
        self._starts[begun | forgotten] = self._n_steps
        surplus = int(self._starts.min())
        if surplus > max(self._n_steps // 2, _FIRST_ROWS):  # so that a step is moved once, not each time
            for rows in (*self._obs.values(), self._acts, self._rews):
                if rows is not None:
                    rows.forget(surplus)
            self._starts -= surplus
            self._n_steps -= surplus


class _Rows:
    """Rows of one shape in one array that has room for more."""

    def __init__(self, first: np.ndarray) -> None:
        self._array = np.empty((_FIRST_ROWS, *first.shape), first.dtype)
        self._array[0] = first
        self._n = 1

    def append(self, row: np.ndarray) -> None:
        if self._n == len(self._array):
            self._array = np.concatenate([self._array, np.empty_like(self._array)])
        self._array[self._n] = row
        self._n += 1

    def replace(self, row: np.ndarray) -> None:
        self._array[self._n - 1] = row

    def of(self, index: int, start: int, stop: int) -> np.ndarray:
        return self._array[start:stop, index].copy()

    def forget(self, n: int) -> None:
        self._array[: self._n - n] = self._array[n : self._n].copy()
        self._n -= n


def _put_last(obs: Any, last: Any) -> None:
    if isinstance(obs, Mapping):
        for key, column in obs.items():
            _put_last(column, last[key])
    else:
        obs[-1] = last
