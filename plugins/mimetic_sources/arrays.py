"""Arrays, trajectories, or a function that makes them, from a Python file or module."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from mimetic.errors import DataError
from mimetic.hookspecs import DataSourceContext
from mimetic.types import Demonstrations, as_demonstrations, from_arrays, n_rows
from mimetic.types.observations import as_observations
from mimetic_sources.config import ArraysConfig
from mimetic_sources.selection import select


def build(config: ArraysConfig, context: DataSourceContext) -> Demonstrations:
    """Import what ``config.path`` names, call it when it can be called, and make demonstrations of what it gives."""
    value = _named(config.path)
    made = _demonstrations(value() if callable(value) else value, config.path)
    return select(replace(made, description=config.path), config)


def _demonstrations(value: Any, where: str) -> Demonstrations:
    if isinstance(value, Mapping):
        known = inspect.signature(from_arrays).parameters
        unknown = sorted(set(value) - set(known))
        if unknown:
            raise DataError(f"{where}: gives a mapping with the keys {', '.join(unknown)}; known: {', '.join(known)}")
        return from_arrays(**value)
    if isinstance(value, list) and value and _is_episode(value[0]):
        return from_arrays(episodes=value)
    return as_demonstrations(value)


def _is_episode(item: Any) -> bool:
    """Tell a pair ``(obs, acts)`` or a mapping with an observation more than actions from a batch."""
    if isinstance(item, Mapping):
        return {"obs", "acts"} <= set(item) and n_rows(as_observations(item["obs"])) == len(item["acts"]) + 1
    return isinstance(item, tuple) and len(item) == 2


def _named(path: str) -> Any:
    """Return the attribute that ``module:attribute`` or ``file.py:attribute`` names."""
    place, _, attribute = path.rpartition(":")
    module = _module_of_file(Path(place)) if place.endswith(".py") else _module(place)
    try:
        return reduce(getattr, attribute.split("."), module)
    except AttributeError as error:
        raise DataError(f"{path}: {error}") from error


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # a module of its own is missing
        raise DataError(f"{name}: no such module; expected 'module:attribute' or 'file.py:attribute'") from error


def _module_of_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise DataError(f"{file}: no such file")
    name = f"mimetic_arrays_{sha256(str(file).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # classes of the file look for their module there
    spec.loader.exec_module(module)
    return module
