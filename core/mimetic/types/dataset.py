"""Where do many trajectories live? In columns, so that millions of steps are a handful of arrays.

Several parts (files of one folder, sources of one run) are put end to end only when a whole column is asked for;
trajectories and slices are views of the part that they are in.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from mimetic.errors import DataError
from mimetic.types.columns import Columns
from mimetic.types.equality import same_array, same_obs, same_value
from mimetic.types.infos import columns_from_infos, concatenate_columns, infos_from_columns
from mimetic.types.likeness import columns_difference, require_alike
from mimetic.types.observations import Observations, concatenate_obs, take_rows
from mimetic.types.row_numbers import as_indices, ranges
from mimetic.types.trajectories import Trajectory
from mimetic.types.transitions import Transitions, TransitionsMinimal, TransitionsWithRew

if TYPE_CHECKING:
    import gymnasium as gym


class TrajectoryDataset(Sequence[Trajectory]):
    """A sequence of trajectories that is a handful of arrays underneath. Read it as a list, or column by column.

    A number gives a trajectory and a slice a dataset, both as views. Equality compares the content of the columns and
    the spaces.
    """

    def __init__(
        self,
        *,
        obs: Observations,
        acts: np.ndarray,
        episode_ends: np.ndarray,
        terminals: np.ndarray,
        truncations: np.ndarray,
        rews: np.ndarray | None = None,
        infos: Mapping[str, np.ndarray] | None = None,
        observation_space: "gym.Space[Any] | None" = None,
        action_space: "gym.Space[Any] | None" = None,
        left_out: Iterable[str] = (),
    ) -> None:
        """Take columns as they are, without a copy.

        Args:
            obs: ``(N + E, *O)``: the observations of all E episodes, each with the one after its last action.
            acts: ``(N, *A)``.
            episode_ends: ``(E,)`` cumulative counts of actions; the last is N.
            terminals: ``(E,)`` bool, whether the task ended with the episode.
            truncations: ``(E,)`` bool, whether the clock or the collector cut it.
            rews: ``(N,)``.
            infos: ``(N, ...)`` each, by key.
            observation_space: the space of one observation, when it is known.
            action_space: the space of one action, when it is known.
            left_out: keys of infos that a file could not hold.

        Raises:
            DataError: names everything that does not fit together.
        """
        columns = Columns(obs, acts, episode_ends, terminals, truncations, rews, infos or {})
        self._set((columns,), observation_space, action_space, left_out)

    @classmethod
    def from_trajectories(
        cls,
        trajectories: Iterable[Trajectory],
        *,
        observation_space: "gym.Space[Any] | None" = None,
        action_space: "gym.Space[Any] | None" = None,
    ) -> Self:
        """Copy trajectories into columns, in their order.

        Raises:
            DataError: there are none, or one differs from the first in structure, shape, dtype or in having rewards.
        """
        trajectories = list(trajectories)
        if not trajectories:
            raise DataError("no trajectories; expected at least one")
        for number, trajectory in enumerate(trajectories):
            require_alike(trajectories[0], trajectory, number)
        with_rews = [t.rews for t in trajectories if t.rews is not None]
        return cls(
            obs=concatenate_obs([t.obs for t in trajectories]),
            acts=np.concatenate([t.acts for t in trajectories]),
            episode_ends=np.cumsum([len(t) for t in trajectories]),
            terminals=np.array([t.terminal for t in trajectories]),
            truncations=np.array([t.truncated for t in trajectories]),
            rews=np.concatenate(with_rews) if with_rews else None,
            infos=concatenate_columns(
                ({} if t.infos is None else columns_from_infos(list(t.infos)), len(t)) for t in trajectories
            ),
            observation_space=observation_space,
            action_space=action_space,
        )

    @classmethod
    def concatenate(cls, datasets: Sequence["TrajectoryDataset"]) -> Self:
        """Put datasets end to end; nothing is copied before a whole column is asked for.

        Rewards stay only when every dataset has them.

        Raises:
            DataError: there are none, or one differs from the first in spaces, structure, shape or dtype.
        """
        if not datasets:
            raise DataError("no datasets; expected at least one")
        for number, other in enumerate(datasets):
            _require_compatible(datasets[0], other, number)
        return cls._of(
            tuple(part for dataset in datasets for part in dataset._parts),
            next((d.observation_space for d in datasets if d.observation_space is not None), None),
            next((d.action_space for d in datasets if d.action_space is not None), None),
            {key for dataset in datasets for key in dataset.left_out},
        )

    # --- columns ------------------------------------------------------------------------------------------------

    @property
    def obs(self) -> Observations:
        """``(N + E, *O)``, or a mapping of such arrays."""
        obs: Observations = self._column("obs", lambda: concatenate_obs([part.obs for part in self._parts]))
        return obs

    @property
    def acts(self) -> np.ndarray:
        """``(N, *A)``."""
        acts: np.ndarray = self._column("acts", lambda: np.concatenate([part.acts for part in self._parts]))
        return acts

    @property
    def rews(self) -> np.ndarray | None:
        """``(N,)``, the environment's own reward; None when it was not recorded everywhere."""
        rews: np.ndarray | None = self._column("rews", self._concatenate_rewards)
        return rews

    @property
    def infos(self) -> Mapping[str, np.ndarray] | None:
        """``(N, ...)`` by key; None when there are none. Object arrays hold what is no number, or not at every step."""
        infos: Mapping[str, np.ndarray] = self._column(
            "infos", lambda: concatenate_columns((part.infos, len(part.acts)) for part in self._parts)
        )
        return infos or None

    @property
    def parts(self) -> tuple["TrajectoryDataset", ...]:
        """The pieces that lie in one array a column each: what to walk through when not all fits into memory."""
        return tuple(
            self._of((part,), self.observation_space, self.action_space, self.left_out) for part in self._parts
        )

    # --- counts -------------------------------------------------------------------------------------------------

    @property
    def n_transitions(self) -> int:
        """The number of actions, N."""
        return int(self.episode_ends[-1]) if len(self) else 0

    @property
    def lengths(self) -> np.ndarray:
        """``(E,)`` int64: the number of actions of each trajectory."""
        return np.diff(self.episode_ends, prepend=0)

    @property
    def returns(self) -> np.ndarray | None:
        """``(E,)`` float64: the undiscounted sum of each trajectory's rewards; None without rewards."""
        if self.rews is None or not len(self):
            return None if self.rews is None else np.zeros(0)
        return np.add.reduceat(self.rews, self.episode_ends - self.lengths, dtype=np.float64)

    @property
    def obs_index(self) -> np.ndarray:
        """``(N,)`` int64: the row of ``obs`` that each action was taken in; the row after it is what followed."""
        return np.arange(self.n_transitions) + np.repeat(np.arange(len(self)), self.lengths)

    # --- as a sequence ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Count the trajectories."""
        return len(self.episode_ends)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Trajectory: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | np.integer[Any] | slice) -> Trajectory | Self:
        """Give a trajectory, or a dataset of several; views but for slices with a step."""
        if isinstance(index, slice):
            return self.select(range(*index.indices(len(self))))
        number = int(index) + (len(self) if index < 0 else 0)
        if not 0 <= number < len(self):
            raise IndexError(f"trajectory {index} of {len(self)}")
        part = int(np.searchsorted(self._first, number, side="right")) - 1
        return self._parts[part].trajectory(number - int(self._first[part]))

    def __eq__(self, other: object) -> bool:
        """Compare dtypes, shapes and bytes of every column, and the spaces."""
        if not isinstance(other, TrajectoryDataset):
            return NotImplemented
        return (
            same_array(self.episode_ends, other.episode_ends)
            and same_array(self.terminals, other.terminals)
            and same_array(self.truncations, other.truncations)
            and same_array(self.acts, other.acts)
            and same_array(self.rews, other.rews)
            and same_obs(self.obs, other.obs)
            and same_value(self.infos or {}, other.infos or {})
            and self.observation_space == other.observation_space
            and self.action_space == other.action_space
        )

    def __repr__(self) -> str:
        """Say how much is in it."""
        return f"<{type(self).__name__}: {len(self)} trajectories, {self.n_transitions} transitions>"

    # --- other datasets from it ---------------------------------------------------------------------------------

    def select(self, indices: Iterable[int] | np.ndarray) -> Self:
        """Keep some trajectories, in the order given: numbers, or a bool for each. Neighbours in order are views."""
        chosen = as_indices(indices, len(self))
        start = int(chosen[0]) if len(chosen) else 0
        if np.array_equal(chosen, np.arange(start, start + len(chosen))):
            return self._with(self._slice(start, start + len(chosen)))
        return self._with((self._gather(chosen, self.lengths[chosen]),))

    def filter(self, keep: Callable[[Trajectory], bool]) -> Self:
        """Keep the trajectories for which ``keep`` is true."""
        return self.select(np.array([bool(keep(trajectory)) for trajectory in self], dtype=bool))

    def cut(self, max_steps: int) -> Self:
        """Keep at most the first ``max_steps`` steps of each trajectory; one that is cut is truncated."""
        if max_steps < 1:
            raise DataError(f"max_steps is {max_steps}; expected at least 1")
        if not len(self) or self.lengths.max() <= max_steps:
            return self
        return self._with((self._gather(np.arange(len(self)), np.minimum(self.lengths, max_steps)),))

    def with_spaces(
        self, observation_space: "gym.Space[Any] | None" = None, action_space: "gym.Space[Any] | None" = None
    ) -> Self:
        """Say what the spaces are; None leaves what is known."""
        known = (
            self.observation_space if observation_space is None else observation_space,
            self.action_space if action_space is None else action_space,
        )
        return self._of(self._parts, *known, self.left_out)

    def with_columns(self, obs: Observations, acts: np.ndarray) -> Self:
        """Put other observations and actions in the place of these, row for row."""
        return self._with((self._merged(obs=obs, acts=acts),))

    def with_endings(self, terminals: np.ndarray, truncations: np.ndarray) -> Self:
        """Say how each trajectory ended."""
        return self._with((self._merged(terminals=terminals, truncations=truncations),))

    # --- single steps -------------------------------------------------------------------------------------------

    def pairs(self) -> TransitionsMinimal:
        """Return observations and the actions taken in them, all that cloning needs. A single trajectory is a view."""
        return TransitionsMinimal(take_rows(self.obs, self._step_rows()), self.acts)

    def transitions(self) -> Transitions:
        """Return every step with what followed, with rewards when they are known. A single trajectory is a view."""
        ends = self.episode_ends - 1
        dones, truncated = np.zeros((2, self.n_transitions), bool)
        dones[ends], truncated[ends] = self.terminals, self.truncations
        rows, n = self._step_rows(), self.n_transitions
        after = slice(1, n + 1) if isinstance(rows, slice) else rows + 1
        obs, next_obs = take_rows(self.obs, rows), take_rows(self.obs, after)
        infos = infos_from_columns(self.infos, n) if self.infos else None
        if self.rews is None:
            return Transitions(obs, self.acts, infos, next_obs, dones, truncated=truncated)
        return TransitionsWithRew(obs, self.acts, infos, next_obs, dones, self.rews, truncated=truncated)

    # --- inside -------------------------------------------------------------------------------------------------

    @classmethod
    def _of(cls, parts: tuple[Columns, ...], obs_space: Any, act_space: Any, left_out: Iterable[str]) -> Self:
        dataset = cls.__new__(cls)
        dataset._set(parts, obs_space, act_space, left_out)
        return dataset

    def _set(self, parts: tuple[Columns, ...], obs_space: Any, act_space: Any, left_out: Iterable[str]) -> None:
        counts = [len(part.acts) for part in parts]
        shifts = np.cumsum([0, *counts])[:-1]
        self._parts = parts
        self._first = np.cumsum([0, *(len(part.episode_ends) for part in parts)])[:-1]
        self._cache: dict[str, Any] = {}
        self.observation_space: gym.Space[Any] | None = obs_space
        self.action_space: gym.Space[Any] | None = act_space
        self.left_out: tuple[str, ...] = tuple(sorted(set(left_out)))
        self.episode_ends = np.concatenate([p.episode_ends + shift for p, shift in zip(parts, shifts, strict=True)])
        self.terminals = np.concatenate([part.terminals for part in parts])
        self.truncations = np.concatenate([part.truncations for part in parts])

    def _with(self, parts: tuple[Columns, ...]) -> Self:
        return self._of(parts, self.observation_space, self.action_space, self.left_out)

    def _column(self, name: str, concatenate: Callable[[], Any]) -> Any:
        if len(self._parts) == 1:
            return getattr(self._parts[0], name)
        if name not in self._cache:
            self._cache[name] = concatenate()
        return self._cache[name]

    def _concatenate_rewards(self) -> np.ndarray | None:
        rews = [part.rews for part in self._parts if part.rews is not None]
        return np.concatenate(rews) if len(rews) == len(self._parts) else None

    def _merged(self, **replaced: Any) -> Columns:
        names = ("obs", "acts", "episode_ends", "terminals", "truncations", "rews")
        columns = {name: getattr(self, name) for name in names if name not in replaced}
        return Columns(**columns, **replaced, infos=self.infos or {})

    def _slice(self, start: int, stop: int) -> tuple[Columns, ...]:
        kept = []
        for part, first in zip(self._parts, self._first.tolist(), strict=True):
            low, high = max(start - first, 0), min(stop - first, len(part.episode_ends))
            if low < high:
                kept.append(part.slice(low, high))
        return tuple(kept) or (self._parts[0].slice(0, 0),)

    def _gather(self, chosen: np.ndarray, lengths: np.ndarray) -> Columns:
        """Copy the first ``lengths`` steps of the chosen trajectories; what is cut is truncated."""
        cut = lengths < self.lengths[chosen]
        starts = (self.episode_ends - self.lengths)[chosen]
        acts = ranges(starts, lengths)
        return Columns(
            obs=take_rows(self.obs, ranges(starts + chosen, lengths + 1)),
            acts=self.acts[acts],
            episode_ends=np.cumsum(lengths),
            terminals=self.terminals[chosen] & ~cut,
            truncations=self.truncations[chosen] | cut,
            rews=None if self.rews is None else self.rews[acts],
            infos={key: column[acts] for key, column in (self.infos or {}).items()},
        )

    def _step_rows(self) -> Any:
        return slice(0, self.n_transitions) if len(self) == 1 else self.obs_index


def _require_compatible(first: TrajectoryDataset, other: TrajectoryDataset, number: int) -> None:
    difference = columns_difference(first._parts[0], other._parts[0])
    for role in ("observation_space", "action_space"):
        spaces = getattr(first, role), getattr(other, role)
        if not difference and None not in spaces and spaces[0] != spaces[1]:
            difference = f"the {role.replace('_', ' ')} is {spaces[0]} against {spaces[1]}"
    if difference:
        raise DataError(f"demonstrations 0 and {number} differ: {difference}")
