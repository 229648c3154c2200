"""From what the user wrote to one validated run, with the origin of every value."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mimetic.config.document import DEFAULT, Document, KeyPath, has_part, key_text, leaves
from mimetic.config.faults import raise_faults
from mimetic.config.overrides import apply_overrides
from mimetic.config.parse import read_document
from mimetic.config.runfile import RunConfig
from mimetic.errors import ConfigError, Fault

FALLBACK_NAME = "run"

Section = TypeVar("Section", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class RunFile:
    """A validated run, and where it was written."""

    config: RunConfig
    path: Path | None  # absolute; None when the run was written in Python
    base_dir: Path  # where relative paths in it start from
    origin: Mapping[str, str]  # by key, e.g. "policy.net_arch": "runs/a.yaml:9", "command line" or "default"


def load_run_file(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> RunFile:
    """Read, override and validate a run file.

    Raises:
        ConfigError: with every fault, each with its place.
    """
    file = Path(path).absolute()
    document = read_document(file, os.fspath(path))
    faults = apply_overrides(document, overrides)
    config = _validated(document, file.parent, _run_name(file.stem), faults)
    return RunFile(config, file, file.parent, _origin(config, document))


def run_config(mapping: Mapping[str, Any], *, base_dir: str | os.PathLike[str] | None = None) -> RunConfig:
    """Validate a run that was written in Python. Relative paths start from ``base_dir``, default the working folder.

    Raises:
        ConfigError: with every fault.
    """
    return _validated(Document(dict(mapping)), Path(base_dir or Path.cwd()).absolute(), FALLBACK_NAME)


def validated(model: type[Section], values: Mapping[str, Any], *, source: str = "") -> Section:
    """Validate a section of a run, e.g. :class:`EvaluationConfig`, that is in no file; ``source`` tells its place.

    Raises:
        ConfigError: with every fault, each under its key.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise_faults(error, Document(dict(values), source))


def _validated(document: Document, base_dir: Path, name: str, faults: Sequence[Fault] = ()) -> RunConfig:
    absent = list(_absent_distributions(document))
    if absent:
        raise ConfigError([*faults, *absent])
    written = {"name": name} | document.value
    try:
        config = RunConfig.model_validate(written, context={"base_dir": base_dir})
    except ValidationError as error:
        raise_faults(error, document, faults)
    if faults:
        raise ConfigError(faults)
    return config


def _run_name(stem: str) -> str:
    """Make a run's name from a file's."""
    return "".join(character if character.isprintable() else "-" for character in stem.strip()) or FALLBACK_NAME


def _absent_distributions(document: Document) -> list[Fault]:
    """Check ``plugins:`` against what is installed, before a missing plugin can make everything else look wrong."""
    if not document.value.get("plugins"):
        return []
    from packaging.requirements import InvalidRequirement, Requirement

    from mimetic.plugins.requirements import faults_of

    wanted = document.value.get("plugins")
    faults = []
    for index, text in enumerate(wanted if isinstance(wanted, list | tuple) else ()):
        try:
            lacking = list(faults_of(Requirement(text)))
        except (InvalidRequirement, TypeError):
            continue  # validation says so
        if lacking:
            message = f"this run needs {'; '.join(lacking)}. Install it: pip install {shlex.quote(text)}"
            faults.append(document.fault(("plugins", index), message))
    return faults


# --- where each value came from ---------------------------------------------------------------------------------


def _origin(config: RunConfig, document: Document) -> dict[str, str]:
    return {key_text(path): _origin_of(path, document) for path, _ in leaves(config.model_dump(mode="json"))}


def _origin_of(path: KeyPath, document: Document) -> str:
    """Find the place of a resolved value: shorthands were written in one word, the rest of them is default."""
    value: object = document.value
    written: KeyPath = ()
    for part in path:
        if has_part(value, part):
            value = value[part]  # type: ignore[index]  # it has it
            written = (*written, part)
        elif isinstance(value, str) and part in ("name", "mode"):
            break
        elif written != ("demonstrations",) or part != 0:
            return str(DEFAULT)
    return str(document.place(written))
