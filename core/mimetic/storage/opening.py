"""What lies at a path, and how does a word on the command line become demonstrations?"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mimetic.errors import ConfigError, DataError, UnknownComponentError
from mimetic.storage.datasets import INDEX, load_demonstrations
from mimetic.storage.safetensors_file import read_document
from mimetic.types import Demonstrations, as_demonstrations

if TYPE_CHECKING:
    import gymnasium as gym

FileKind = Literal["policy", "dataset", "run"]


def file_kind(path: str | os.PathLike[str]) -> FileKind | None:
    """Look at the content of a file or folder: what did this project write there? None: nothing that it knows."""
    path = Path(path)
    if path.is_dir():
        if _kind_in_index(path) == "dataset":
            return "dataset"
        return "run" if (path / "config.yaml").is_file() and (path / "manifest.json").is_file() else None
    try:
        kind = read_document(path).get("kind")
    except DataError:
        return None
    return kind if kind in ("policy", "dataset") else None


def open_demonstrations(
    source: str | os.PathLike[str],
    *,
    observation_space: "gym.Space[Any] | None" = None,
    action_space: "gym.Space[Any] | None" = None,
) -> Demonstrations:
    """Open what SOURCE names: a native dataset, a path whose ending belongs to a data source, or a SPEC.

    Args:
        source: a path, or ``name:key=value,...`` of a data source. Relative paths start from the working folder.
        observation_space: told to the data source, when it is known.
        action_space: likewise.

    Raises:
        ConfigError: there is no such file and no such source.
        DataError: the data are damaged, or the path holds something else.
    """
    from mimetic.config import parse_choice  # pydantic is not light, and a native dataset needs none
    from mimetic.hookspecs import DataSourceContext

    text = os.fspath(source)
    kind = file_kind(text) if os.path.exists(text) else None
    if kind == "dataset":
        dataset = load_demonstrations(text)
        return Demonstrations(dataset, dataset.observation_space, dataset.action_space, text)
    if kind is not None:
        raise DataError(f"{text}: holds a {kind}; expected demonstrations")
    try:
        choice = parse_choice(text, "data-source")
    except UnknownComponentError as error:
        raise ConfigError(f"{text}: {_why_unknown(text)}; and as a data source: {error}") from error
    context = DataSourceContext(observation_space=observation_space, action_space=action_space, base_dir=Path.cwd())
    return as_demonstrations(choice.build(context))


def _why_unknown(text: str) -> str:
    if os.path.isdir(text):
        return "a folder without a dataset in it"
    if os.path.exists(text):
        return "a file that is no dataset of mimetic, and whose ending belongs to no data source"
    return "no such file or folder"


def _kind_in_index(folder: Path) -> object:
    try:
        document = json.loads((folder / INDEX).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return document.get("kind") if isinstance(document, dict) else None
