"""How are demonstrations saved and loaded? One file, or a folder of files with an index, replaced atomically."""

import json
import os
import re
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mimetic.errors import DataError, TargetExistsError
from mimetic.storage.dataset_layout import KIND, VERSION, columns_of, dataset_of, document_of
from mimetic.storage.safetensors_file import read_safetensors, require_format, write_json, write_safetensors
from mimetic.types import Trajectory, TrajectoryDataset, Transitions, as_demonstrations, obs_leaves
from mimetic.types.arrays import join_transitions
from mimetic.types.likeness import require_alike

if TYPE_CHECKING:
    import gymnasium as gym

INDEX = "index.json"
_SHARD = re.compile(r"[0-9]{5,}\.safetensors")


def save_demonstrations(
    data: Any,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    observation_space: "gym.Space[Any] | None" = None,
    action_space: "gym.Space[Any] | None" = None,
) -> None:
    """Write trajectories into a native dataset; a kill at any moment leaves the old one, the new one or none.

    Args:
        data: trajectories in any form that :func:`mimetic.types.as_demonstrations` takes. Transitions are joined to
            trajectories by their ``next_obs`` and how they ended.
        path: a file. A folder that holds a dataset can be overwritten too, and stays a folder.
        overwrite: replace what is there; it may be the very file that ``data`` was loaded from.
        observation_space: stored with the data; by default the one that the data know.
        action_space: likewise.

    Raises:
        DataError: the data are no trajectories, or a column has a dtype that the format has not.
        TargetExistsError: something is there, and ``overwrite`` is false, or it is a folder of other things.
    """
    dataset = _as_dataset(data).with_spaces(observation_space, action_space)
    path = Path(path)
    if path.is_dir():
        if not overwrite or not (path / INDEX).exists():
            raise TargetExistsError(f"{path} is a folder, and nothing was written; choose another path")
        _replace_shards(path, dataset)
    else:
        _write_file(path, dataset, overwrite=overwrite)


def load_demonstrations(path: str | os.PathLike[str]) -> TrajectoryDataset:
    """Map a native dataset into memory: a file, or a folder with an index.

    Raises:
        DataError: there is no such dataset, it is damaged, or a newer version wrote it. Nothing in it is ever run.
    """
    path = Path(path)
    if not path.is_dir():
        return dataset_of(read_safetensors(path))
    shards = [dataset_of(read_safetensors(path / name)) for name in _listed_shards(path)]
    if not shards:
        raise DataError(f"{path / INDEX}: lists no file")
    return TrajectoryDataset.concatenate(shards)


class DatasetWriter:
    """Write trajectories into a folder as they come, in files of a limited size.

    Each file is complete before the index names it, so what was written survives a kill. Leaving the ``with`` block,
    even by an exception, writes the trajectories that are still held.

    Raises:
        TargetExistsError: the folder exists and is not empty.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        shard_transitions: int = 100_000,
        shard_bytes: int = 2**28,
        observation_space: "gym.Space[Any] | None" = None,
        action_space: "gym.Space[Any] | None" = None,
    ) -> None:
        """Make the folder.

        Args:
            path: the folder; it may exist when it is empty.
            shard_transitions: a file is written once this many transitions are held,
            shard_bytes: or observations and actions of this size.
            observation_space: stored with the data.
            action_space: stored with the data.
        """
        if shard_transitions < 1 or shard_bytes < 1:
            raise DataError("shard_transitions and shard_bytes must be at least 1")
        self.shard_transitions, self.shard_bytes = shard_transitions, shard_bytes
        self.path = Path(path)
        self.n_trajectories = 0
        self.n_transitions = 0
        self._n_held = self._n_bytes_held = 0  # transitions, bytes: not yet written
        self._spaces = {"observation_space": observation_space, "action_space": action_space}
        self._first: Trajectory | None = None
        self._held: list[Trajectory] = []
        self._shards: list[str] = []
        self._failed = False
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise TargetExistsError(f"{self.path} exists already, and nothing was written; choose another path")
        self.path.mkdir(parents=True, exist_ok=True)

    def append(self, trajectory: Trajectory) -> None:
        """Take one trajectory; it is on disk once enough have come, or after :meth:`flush`.

        Raises:
            DataError: it differs from the first in structure, shape, dtype or in having rewards.
        """
        self._first = self._first or trajectory
        require_alike(self._first, trajectory, self.n_trajectories)
        self._held.append(trajectory)
        self._n_held += len(trajectory)
        self._n_bytes_held += sum(leaf.nbytes for leaf in obs_leaves(trajectory.obs).values())
        self.n_trajectories += 1
        self.n_transitions += len(trajectory)
        if self._n_held >= self.shard_transitions or self._n_bytes_held >= self.shard_bytes:
            self.flush()

    def append_file(self, dataset: TrajectoryDataset) -> None:
        """Write trajectories into a file of their own, after what is held.

        Raises:
            DataError: they differ from the first in structure, shape, dtype or in having rewards.
        """
        self.flush()
        self._first = self._first or dataset[0]
        require_alike(self._first, dataset[0], self.n_trajectories)
        self._write(dataset.with_spaces(**self._spaces))
        self.n_trajectories += len(dataset)
        self.n_transitions += dataset.n_transitions

    def flush(self) -> None:
        """Write what is held into a file of its own, then name it in the index."""
        if not self._held or self._failed:
            return
        self._write(TrajectoryDataset.from_trajectories(self._held, **self._spaces))
        self._held = []
        self._n_held = self._n_bytes_held = 0

    def close(self) -> None:
        """Write what is held. Does nothing the second time, or after a failure to write."""
        self.flush()

    def _write(self, dataset: TrajectoryDataset) -> None:
        shards = [*self._shards, _shard_name(len(self._shards) + 1)]
        try:
            _write_file(self.path / shards[-1], dataset, overwrite=True)  # of an attempt that was interrupted
            _write_index(self.path, shards)
        except Exception:
            self._failed = True  # what could not be written is not tried again while the error is on its way
            raise
        self._shards = shards

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write what is held, whatever ended the block."""
        self.close()


def _as_dataset(data: Any) -> TrajectoryDataset:
    demonstrations = as_demonstrations(data)
    content = demonstrations.data
    if isinstance(content, Transitions):
        content = join_transitions(content)
    if not isinstance(content, TrajectoryDataset):
        raise DataError(
            "only trajectories can be saved: of single steps nothing says which belong together, and what followed "
            "the last of them; build trajectories of T actions between T+1 observations"
        )
    if not len(content):
        raise DataError("no trajectories to save; expected at least one")
    return content.with_spaces(demonstrations.observation_space, demonstrations.action_space)


def _write_file(path: Path, dataset: TrajectoryDataset, *, overwrite: bool) -> None:
    write_safetensors(path, columns_of(dataset), document_of(dataset), overwrite=overwrite)


def _shard_name(number: int) -> str:
    return f"{number:05d}.safetensors"


def _write_index(folder: Path, shards: list[str]) -> None:
    write_json(folder / INDEX, {"kind": KIND, "version": VERSION, "files": shards}, overwrite=True)


def _replace_shards(folder: Path, dataset: TrajectoryDataset) -> None:
    """Write new files beside the old ones, let the index name them instead, then remove the old ones."""
    old = [path for path in folder.iterdir() if _SHARD.fullmatch(path.name)]
    number = max((int(path.stem) for path in old), default=0)
    names = [_shard_name(number + 1 + part) for part in range(len(dataset.parts))]
    for name, part in zip(names, dataset.parts, strict=True):
        _write_file(folder / name, part, overwrite=False)
    _write_index(folder, names)
    for path in old:
        path.unlink()


def _listed_shards(folder: Path) -> list[str]:
    index = folder / INDEX
    try:
        document = json.loads(index.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{folder}: a folder without {INDEX}; expected a dataset that mimetic wrote") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{index}: cannot be read ({error})") from error
    names = document.get("files") if isinstance(document, dict) else None
    require_format(index, document if isinstance(document, dict) else {}, KIND, VERSION)
    if not isinstance(names, list) or not all(isinstance(n, str) and _SHARD.fullmatch(n) for n in names):
        raise DataError(f"{index}: its list of files is {names!r}; expected names such as {_shard_name(1)}")
    return names
