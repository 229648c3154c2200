"""Where do the steps of environments wait until their episodes are over, and how do they become data many at a time?"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from mimetic.types import Trajectory, TrajectoryDataset, obs_from_leaves, obs_leaves
from mimetic.types.infos import infos_from_columns
from mimetic.types.row_numbers import ranges

ROOM = 512
"""Episodes are cut out after so many steps,"""

ROOM_BYTES = 2**20
"""or observations of this size."""


class _Block:
    """Episodes that are cut out together, when the first of them is looked at or the log has become long."""

    def __init__(self, log: "StepLog") -> None:
        self.log = log
        self.environments: list[int] = []  # of each episode; plain lists, since tens of thousands of objects would
        self.starts: list[int] = []  # keep the garbage collector busy
        self.stops: list[int] = []
        self.terminals: list[bool] = []
        self.last_obs: dict[int, Any] = {}  # where the observation at its end is the next episode's first
        self.ends: list[int] = []  # in the columns, in steps
        self._columns: dict[str, np.ndarray] = {}

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """All episodes end to end, named as in a file."""
        if not self._columns:
            self.log.cut()
        return self._columns

    def length(self, place: int) -> int:
        """Return how many steps an episode has."""
        return self.stops[place] - self.starts[place]

    def fill(self, columns: dict[str, np.ndarray], ends: list[int]) -> None:
        """Take the columns and the end of each episode in them."""
        self._columns, self.ends = columns, ends


class Kept(Sequence[Trajectory]):
    """The trajectory of an episode, as a row of one: it is made when it is looked at."""

    __slots__ = ("block", "n_steps", "place")

    def __init__(self, block: _Block, place: int) -> None:
        """Point at an episode of a block."""
        self.block, self.place = block, place
        self.n_steps = block.stops[place] - block.starts[place]

    def __len__(self) -> int:
        """One."""
        return 1

    def __getitem__(self, index: Any) -> Any:
        """Give it."""
        columns = self.block.columns
        stop = self.block.ends[self.place]
        start = stop - self.n_steps
        first, last = start + self.place, stop + self.place + 1  # every episode has an observation more
        infos = {name: column[start:stop] for name, column in _infos_in(columns).items()}
        terminal = self.block.terminals[self.place]
        trajectory = Trajectory(
            obs=obs_from_leaves({name: column[first:last] for name, column in columns.items() if _is_obs(name)}),
            acts=columns["acts"][start:stop],
            infos=infos_from_columns(infos, stop - start) if infos else None,
            terminal=terminal,
            rews=columns["rews"][start:stop],
            truncated=not terminal,
        )
        return [trajectory][index]


class StepLog:
    """The latest steps of all environments in columns, out of which many episodes are cut at once.

    Positions count steps since the reset: position p lies between the first p steps and all later ones.
    """

    def __init__(self, obs: Any) -> None:
        """Begin with the observations that the reset gave."""
        leaves = obs_leaves(obs)
        self._obs: dict[str, list[np.ndarray]] = {name: [np.array(leaf)] for name, leaf in leaves.items()}
        self._one_array = self._obs.get("obs")
        self._acts: list[np.ndarray] = []  # one fewer than observations
        self._rews: list[np.ndarray] = []
        self._noted: dict[str, list[np.ndarray]] = {}
        self._forgotten = 0  # the position of the first
        self._n_new = 0  # steps since something was forgotten
        self._block = _Block(self)
        self.row_nbytes = sum(leaf[0].nbytes for leaf in leaves.values())  # of one observation
        self.room = max(1, min(ROOM, ROOM_BYTES // sum(leaf.nbytes for leaf in leaves.values())))  # in steps

    @property
    def is_full(self) -> bool:
        """Whether it is time to cut out what has ended, and to forget."""
        return self._n_new >= self.room

    def add(self, acts: np.ndarray, obs: Any, rews: np.ndarray, noted: Mapping[str, np.ndarray]) -> None:
        """Add a step of every environment, the observations after it, and what the actor noted about the actions.

        ``rews`` are kept as they are, all else is copied: others may write over it.
        """
        if self._one_array is not None:
            self._one_array.append(obs.copy())
        else:
            for name, leaf in obs_leaves(obs).items():
                self._obs[name].append(leaf.copy())
        if noted or self._noted:
            self._note(noted)
        self._acts.append(np.array(acts))
        self._rews.append(rews)
        self._n_new += 1

    def end(self, env_index: int, start: int, stop: int, *, terminated: bool, last_obs: Any = None) -> Kept:
        """Keep what an environment did between two positions.

        ``last_obs`` is its last observation, where the one at ``stop`` is already the next episode's first.
        """
        block, place = self._block, len(self._block.starts)
        block.environments.append(env_index)
        block.starts.append(start)
        block.stops.append(stop)
        block.terminals.append(terminated)
        if last_obs is not None:
            block.last_obs[place] = last_obs
        return Kept(block, place)

    def cut(self) -> None:
        """Copy what has ended out of the log."""
        block, self._block = self._block, _Block(self)
        if not block.starts:
            return
        environments, starts, stops = np.array([block.environments, block.starts, block.stops])
        lengths, firsts = stops - starts, starts - self._forgotten
        ends = np.cumsum(lengths)
        steps = ranges(firsts, lengths), np.repeat(environments, lengths)
        seen = ranges(firsts, lengths + 1), np.repeat(environments, lengths + 1)
        columns = {n: _picked(rows, *(seen if n in self._obs else steps)) for n, rows in self._columns().items()}
        for place, last_obs in block.last_obs.items():
            for name, leaf in obs_leaves(last_obs).items():
                columns[name][ends[place] + place] = leaf
        block.fill(columns, ends.tolist())

    def forget(self, position: int) -> None:
        """Drop what lies before a position; what has ended there was cut out."""
        surplus = position - self._forgotten
        for rows in self._columns().values():
            del rows[:surplus]
        self._forgotten = position
        self._n_new = 0

    def _columns(self) -> dict[str, list[np.ndarray]]:
        infos = {f"infos.{name}": rows for name, rows in self._noted.items()}
        return {**self._obs, "acts": self._acts, "rews": self._rews, **infos}

    def _note(self, noted: Mapping[str, np.ndarray]) -> None:
        """Add what was noted; it is zero where it was not noted."""
        for name, column in noted.items():
            if name not in self._noted:
                self._noted[name] = [np.zeros_like(column)] * len(self._acts)
        for name, rows in self._noted.items():
            rows.append(np.array(noted[name]) if name in noted else np.zeros_like(rows[-1]))


def amount_of(kept: Sequence[Trajectory]) -> tuple[int, int]:
    """Return how many steps were kept of an episode, and how many bytes their observations have."""
    if isinstance(kept, Kept):
        return kept.n_steps, (kept.n_steps + 1) * kept.block.log.row_nbytes
    return sum(map(len, kept)), sum(leaf.nbytes for each in kept for leaf in obs_leaves(each.obs).values())


class Pile:
    """What was kept of many episodes, in their order."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._blocks: list[_Block] = []  # of each episode that is to be cut out,
        self._places: list[int] = []  # and its place there
        self._others: list[Trajectory] = []
        self._n_steps = self._n_bytes = 0

    def __bool__(self) -> bool:
        """Whether there is something."""
        return bool(self._places or self._others)

    def add(self, kept: Sequence[Trajectory]) -> None:
        """Take what was kept of an episode."""
        n_steps, n_bytes = amount_of(kept)
        self._n_steps += n_steps
        self._n_bytes += n_bytes
        if isinstance(kept, Kept):
            self._blocks.append(kept.block)
            self._places.append(kept.place)
        else:
            self._others.extend(kept)

    def is_at_least(self, n_steps: int, n_bytes: int) -> bool:
        """Whether it has so many steps, or observations of so many bytes."""
        return self._n_steps >= n_steps or self._n_bytes >= n_bytes

    def data(self) -> TrajectoryDataset:
        """Put all of it end to end."""
        names = {tuple(block.columns) for block in set(self._blocks)}
        if self._others or len(names) > 1:
            kept = chain.from_iterable(map(Kept, self._blocks, self._places))
            return TrajectoryDataset.from_trajectories([*kept, *self._others])
        lengths, stops, terminals = (
            np.array(column)
            for column in (
                [block.length(place) for block, place in zip(self._blocks, self._places, strict=True)],
                [block.ends[place] for block, place in zip(self._blocks, self._places, strict=True)],
                [block.terminals[place] for block, place in zip(self._blocks, self._places, strict=True)],
            )
        )
        places = np.array(self._places)
        steps = (stops - lengths).tolist(), stops.tolist()
        seen = (stops - lengths + places).tolist(), (stops + places + 1).tolist()  # each has an observation more
        columns = [block.columns for block in self._blocks]
        whole = {name: _end_to_end(name, columns, *(seen if _is_obs(name) else steps)) for name in names.pop()}
        return TrajectoryDataset(
            obs=obs_from_leaves(whole),
            acts=whole["acts"],
            episode_ends=np.cumsum(lengths),
            terminals=terminals,
            truncations=~terminals,
            rews=whole["rews"],
            infos=_infos_in(whole),
        )


def _end_to_end(
    name: str, columns: Sequence[Mapping[str, np.ndarray]], starts: Sequence[int], stops: Sequence[int]
) -> np.ndarray:
    return np.concatenate([each[name][start:stop] for each, start, stop in zip(columns, starts, stops, strict=True)])


def _is_obs(name: str) -> bool:
    return name == "obs" or name.startswith("obs.")


def _infos_in(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix("infos."): column for name, column in columns.items() if name.startswith("infos.")}


def _picked(rows: list[np.ndarray], steps: np.ndarray, environments: np.ndarray) -> np.ndarray:
    """Return ``rows[steps[k]][environments[k]]`` for each k."""
    first, last = int(steps.min()), int(steps.max()) + 1
    held = np.concatenate(rows[first:last])  # (T * n, ...)
    picked: np.ndarray = held.take((steps - first) * len(rows[first]) + environments, axis=0)
    return picked
