"""How does a dataset become columns of a file, and a file a dataset?

The layout is described in docs/decisions/native-format.md.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from mimetic.errors import DataError
from mimetic.spaces import space_from_json, space_to_json
from mimetic.storage.safetensors_file import SafetensorsFile, require_format
from mimetic.types import TrajectoryDataset, obs_from_leaves, obs_leaves
from mimetic.types.infos import numeric_columns
from mimetic.types.observations import escape_key, unescape_key

KIND = "dataset"
VERSION = 1


def columns_of(dataset: TrajectoryDataset) -> dict[str, np.ndarray]:
    """Return what a file holds, by column name."""
    columns = obs_leaves(dataset.obs) | {
        "acts": dataset.acts,
        "episode_ends": dataset.episode_ends,
        "terminals": dataset.terminals,
        "truncations": dataset.truncations,
    }
    if dataset.rews is not None:
        columns["rews"] = dataset.rews
    return columns | {f"infos.{escape_key(key)}": column for key, column in numeric_columns(dataset.infos).items()}


def document_of(dataset: TrajectoryDataset) -> dict[str, Any]:
    """Return the description that stands beside the columns."""
    infos = dataset.infos or {}
    left_out = set(infos) - set(numeric_columns(infos)) | set(dataset.left_out)
    return {
        "kind": KIND,
        "version": VERSION,
        "infos_left_out": sorted(left_out),
        **spaces_to_document(dataset.observation_space, dataset.action_space),
    }


def spaces_to_document(observation_space: gym.Space[Any] | None, action_space: gym.Space[Any] | None) -> dict[str, Any]:
    """Write spaces as plain data; an unknown one is null."""
    return {
        "observation_space": None if observation_space is None else space_to_json(observation_space),
        "action_space": None if action_space is None else space_to_json(action_space),
    }


def dataset_of(file: SafetensorsFile) -> TrajectoryDataset:
    """View a file's columns as a dataset.

    Raises:
        DataError: the file holds no dataset, or columns are missing, unknown or do not fit together.
    """
    require_format(file.path, file.document, KIND, VERSION)
    columns = dict(file.arrays)
    try:
        return TrajectoryDataset(
            obs=obs_from_leaves({name: columns.pop(name) for name in list(columns) if _is_obs(name)}),
            infos={
                unescape_key(name.removeprefix("infos.")): columns.pop(name)
                for name in list(columns)
                if name.startswith("infos.")
            },
            rews=columns.pop("rews", None),
            **_required(columns),
            observation_space=_space(file.document, "observation_space"),
            action_space=_space(file.document, "action_space"),
            left_out=file.document.get("infos_left_out", ()),
        )
    except DataError as error:
        raise DataError("\n".join(f"{file.path}: {line}" for line in str(error).splitlines())) from error


def _is_obs(name: str) -> bool:
    return name == "obs" or name.startswith("obs.")


def _required(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = ("acts", "episode_ends", "terminals", "truncations")
    missing, unknown = [name for name in names if name not in columns], sorted(set(columns) - set(names))
    if missing or unknown:
        said = [f"no column is called {name!r}" for name in missing]
        raise DataError("\n".join(said + [f"column {name!r} is none of this format" for name in unknown]))
    return dict(columns)


def _space(document: Mapping[str, Any], role: str) -> gym.Space[Any] | None:
    data = document.get(role)
    return None if data is None else space_from_json(data)
