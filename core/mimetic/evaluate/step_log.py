"""Where do the steps of gymnasium's environments wait until their episodes are over and become trajectories?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mimetic.types import Trajectory, obs_from_leaves, obs_leaves
from mimetic.types.row_numbers import ranges
from mimetic.types.rows import Rows


class Cut(NamedTuple):
    """An episode that is to be cut out."""

    env_index: int
    start: int  # positions
    stop: int
    terminated: bool
    last_obs: Any  # None where the observation at ``stop`` is its last, and not the next episode's first


class StepLog:
    """The latest steps of all environments in columns, out of which many episodes are cut at once.

    Positions count steps since the reset: position p lies between the first p steps and all later ones.
    """

    def __init__(self, obs: Any) -> None:
        """Begin with the observations that the reset gave."""
        self._obs = {name: Rows(leaf) for name, leaf in obs_leaves(obs).items()}  # one row more than steps
        self._acts: Rows | None = None
        self._rews: Rows | None = None
        self._forgotten = 0  # the position of the first row
        self._see(obs)

    def add(self, acts: np.ndarray, obs: Any, rews: np.ndarray) -> None:
        """Add a step of every environment and the observations after it."""
        self._see(obs)
        if self._acts is None or self._rews is None:
            self._acts, self._rews = Rows(acts), Rows(rews)
        self._acts.append(acts)
        self._rews.append(rews)

    def take(self, cuts: Sequence[Cut]) -> list[Trajectory]:
        """Copy episodes out, each of which is a view of what was copied together."""
        if not cuts:
            return []
        assert self._acts is not None
        assert self._rews is not None
        environments, starts, stops = np.array([(cut.env_index, cut.start, cut.stop) for cut in cuts]).T
        lengths, firsts = stops - starts, starts - self._forgotten
        steps = ranges(firsts, lengths), np.repeat(environments, lengths)
        acts, rews = _rows(self._acts, *steps), _rows(self._rews, *steps)
        lasts = ranges(firsts, lengths + 1), np.repeat(environments, lengths + 1)
        obs = {name: _rows(rows, *lasts) for name, rows in self._obs.items()}
        trajectories = []
        begin = 0
        for place, cut in enumerate(cuts):
            end = begin + cut.stop - cut.start
            own = {name: leaf[begin + place : end + place + 1] for name, leaf in obs.items()}
            if cut.last_obs is not None:
                for name, leaf in obs_leaves(cut.last_obs).items():
                    own[name][-1] = leaf
            trajectories.append(
                Trajectory(
                    obs=own["obs"] if "obs" in own else obs_from_leaves(own),
                    acts=acts[begin:end],
                    infos=None,
                    terminal=cut.terminated,
                    rews=rews[begin:end],
                    truncated=not cut.terminated,
                )
            )
            begin = end
        return trajectories

    def forget(self, position: int) -> None:
        """Drop what lies before a position, once it is the greater part."""
        surplus = position - self._forgotten
        if self._acts is None or self._rews is None or surplus <= len(self._acts) // 2:
            return
        for rows in (*self._obs.values(), self._acts, self._rews):
            rows.forget(surplus)
        self._forgotten = position

    def _see(self, obs: Any) -> None:
        if isinstance(obs, np.ndarray):
            self._obs["obs"].append(obs)
            return
        for name, leaf in obs_leaves(obs).items():
            self._obs[name].append(leaf)


def _rows(rows: Rows, steps: np.ndarray, environments: np.ndarray) -> np.ndarray:
    """Return ``rows[steps[k], environments[k]]`` for each k."""
    held = rows.view()  # (T, n, ...)
    picked: np.ndarray = held.reshape(-1, *held.shape[2:]).take(steps * held.shape[1] + environments, axis=0)
    return picked
