"""What are demonstrations? Whatever form they came in, with what is known about them."""

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mimetic.errors import DataError
from mimetic.types.dataset import TrajectoryDataset
from mimetic.types.infos import columns_from_infos, numeric_columns
from mimetic.types.observations import (
    as_array,
    as_observations,
    column_difference,
    concatenate_obs,
    escape_key,
    obs_difference,
    obs_leaves,
)
from mimetic.types.trajectories import Trajectory
from mimetic.types.transitions import Transitions, TransitionsMinimal, TransitionsWithRew

if TYPE_CHECKING:
    import gymnasium as gym

Batches: TypeAlias = Iterable[Mapping[str, Any]]
"""Mappings with at least ``obs`` and ``acts``, one a batch; walked through once an epoch."""

FORMS = (
    "trajectories, transitions (TransitionsMinimal), a pair (obs, acts) of equal length, a TrajectoryDataset, "
    "or an iterable of batches (mappings with 'obs' and 'acts')"
)


@dataclass(frozen=True, slots=True, eq=False)
class Demonstrations:
    """What is imitated, and what is known about it."""

    data: TrajectoryDataset | TransitionsMinimal | Batches
    observation_space: "gym.Space[Any] | None" = None
    action_space: "gym.Space[Any] | None" = None
    description: str = "demonstrations"

    @property
    def n_transitions(self) -> int | None:
        """The number of actions; None for batches, which are not counted before they are used."""
        if isinstance(self.data, TrajectoryDataset):
            return self.data.n_transitions
        return len(self.data) if isinstance(self.data, TransitionsMinimal) else None

    def pairs(self) -> TransitionsMinimal:
        """Return observations and the actions taken in them, without copying where the data allows.

        Raises:
            DataError: the data are batches.
        """
        if isinstance(self.data, TrajectoryDataset):
            return self.data.pairs()
        if isinstance(self.data, TransitionsMinimal):
            return self.data
        raise DataError(f"{self.description}: batches cannot be indexed; expected trajectories or transitions")

    def fingerprint(self) -> str:
        """Return the SHA-256 of the content; empty for batches that can only be known by using them up.

        Names, dtypes, shapes and bytes of the columns count; spaces, file names and infos that are no numbers do not.
        """
        if isinstance(self.data, TrajectoryDataset):
            return _digest(_dataset_columns(self.data))
        if isinstance(self.data, TransitionsMinimal):
            return _digest(_transition_columns(self.data))
        if isinstance(self.data, (list, tuple)):
            return _digest(_batch_columns(self.data))
        return ""


def as_demonstrations(data: Any) -> Demonstrations:
    """Take demonstrations in any form: see :data:`FORMS`. An iterator is read to its end at once.

    Raises:
        DataError: there are none, or the form is not one of these.
    """
    if isinstance(data, Demonstrations):
        return data
    if isinstance(data, TrajectoryDataset):
        return Demonstrations(data, data.observation_space, data.action_space)
    if isinstance(data, TransitionsMinimal):
        return Demonstrations(data)
    if isinstance(data, Trajectory):
        return Demonstrations(TrajectoryDataset.from_trajectories([data]))
    if _is_pair(data):
        return Demonstrations(TransitionsMinimal(*data))
    if isinstance(data, Mapping) or not isinstance(data, Iterable) or isinstance(data, (str, bytes)):
        raise DataError(f"demonstrations: of type {type(data).__name__}; expected {FORMS}")
    return Demonstrations(_from_iterable(list(data) if isinstance(data, Iterator) else data))


def concatenate_demonstrations(demonstrations: Sequence[Demonstrations]) -> Demonstrations:
    """Put demonstrations end to end, after their spaces, shapes and dtypes were compared.

    Trajectories stay trajectories when all are; otherwise single steps remain.

    Raises:
        DataError: there are none, they differ, or batches are among several.
    """
    if not demonstrations:
        raise DataError("no demonstrations; expected at least one source")
    if len(demonstrations) == 1:
        return demonstrations[0]
    description = " + ".join(d.description for d in demonstrations)
    spaces = {role: _common_space(demonstrations, role) for role in ("observation_space", "action_space")}
    datasets = [d.data for d in demonstrations if isinstance(d.data, TrajectoryDataset)]
    if len(datasets) < len(demonstrations):
        return Demonstrations(
            _concatenate_pairs([d.pairs() for d in demonstrations]), **spaces, description=description
        )
    joined = TrajectoryDataset.concatenate(datasets)
    if len({dataset.rews is None for dataset in datasets}) > 1:
        warnings.warn(f"{description}: not all have rewards, so none are kept", stacklevel=2)
    return Demonstrations(joined, **spaces, description=description)


def _common_space(demonstrations: Sequence[Demonstrations], role: str) -> Any:
    known = [(d.description, space) for d in demonstrations if (space := getattr(d, role)) is not None]
    for description, space in known[1:]:
        if space != known[0][1]:
            raise DataError(
                f"{known[0][0]} and {description} differ: the {role.replace('_', ' ')} is {known[0][1]} against {space}"
            )
    return known[0][1] if known else None


def _concatenate_pairs(pairs: Sequence[TransitionsMinimal]) -> TransitionsMinimal:
    first = pairs[0]
    for number, other in enumerate(pairs):
        difference = obs_difference(first.obs, other.obs) or column_difference(first.acts, other.acts, "acts")
        if difference:
            raise DataError(f"demonstrations 0 and {number} differ: {difference}")
    return TransitionsMinimal(concatenate_obs([p.obs for p in pairs]), np.concatenate([p.acts for p in pairs]))


def _is_pair(data: Any) -> bool:
    if not isinstance(data, tuple) or len(data) != 2:
        return False
    return not any(isinstance(item, Trajectory) for item in data) and not isinstance(data[1], Mapping)


def _from_iterable(data: Iterable[Any]) -> TrajectoryDataset | Batches:
    if _is_torch_loader(data):  # looking at its first batch would start an epoch and draw random numbers
        return data
    first = next(iter(data), None)
    if first is None:
        raise DataError("demonstrations: empty; expected at least one trajectory or batch")
    if isinstance(first, Trajectory):
        return TrajectoryDataset.from_trajectories(data)
    if isinstance(first, Mapping) and {"obs", "acts"} <= set(first):
        return data
    what = f"a mapping with the keys {sorted(first)}" if isinstance(first, Mapping) else f"a {type(first).__name__}"
    raise DataError(f"demonstrations: the first item is {what}; expected {FORMS}")


def _is_torch_loader(data: object) -> bool:
    torch_data = sys.modules.get("torch.utils.data")  # this module does without torch; nobody else makes its loaders
    return torch_data is not None and isinstance(data, torch_data.DataLoader)


def _dataset_columns(data: TrajectoryDataset) -> dict[str, np.ndarray]:
    columns = obs_leaves(data.obs) | {
        "acts": data.acts,
        "episode_ends": data.episode_ends,
        "terminals": data.terminals,
        "truncations": data.truncations,
    }
    if data.rews is not None:
        columns["rews"] = data.rews
    return columns | {f"infos.{escape_key(key)}": column for key, column in numeric_columns(data.infos).items()}


def _transition_columns(data: TransitionsMinimal) -> dict[str, np.ndarray]:
    columns = obs_leaves(data.obs) | {"acts": data.acts}
    if isinstance(data, Transitions):
        columns |= obs_leaves(data.next_obs, "next_obs") | {"dones": data.dones, "truncated": data.truncated}
    if isinstance(data, TransitionsWithRew):
        columns["rews"] = data.rews
    if data.infos is not None:
        infos = numeric_columns(columns_from_infos(list(data.infos)))
        columns |= {f"infos.{escape_key(key)}": column for key, column in infos.items()}
    return columns


def _batch_columns(batches: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    for number, batch in enumerate(batches):
        columns |= obs_leaves(as_observations(batch["obs"]), f"{number}.obs")
        columns[f"{number}.acts"] = as_array(batch["acts"], "acts")
    return columns


def _digest(columns: Mapping[str, np.ndarray]) -> str:
    digest = sha256()
    for name in sorted(columns):
        column = np.ascontiguousarray(columns[name], dtype=columns[name].dtype.newbyteorder("="))
        digest.update(f"{name} {column.dtype.str} {columns[name].shape}\n".encode())
        digest.update(column.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
