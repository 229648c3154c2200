"""The policy ``function``, and how a function is found that a run file names."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mimetic.errors import ConfigError
from mimetic.policies import Actor
from mimetic.policies.acting import CallableActor
from mimetic.spaces import ActionCodec
from mimetic.types.observations import take_rows

if TYPE_CHECKING:
    from types import ModuleType

    from mimetic import PolicyContext
    from mimetic_policies.config import FunctionPolicyConfig


class FunctionActor(Actor):
    """A function of one observation, called for each environment in turn; what it gives is checked and clipped."""

    def __init__(self, function: Callable[[Any], Any], codec: ActionCodec, *, seeded: bool) -> None:
        self._function, self._codec = function, codec
        self.seeded = seeded

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Ask the function once for each environment."""
        acts = [np.asarray(self._function(take_rows(obs, row))) for row in range(len(episode_start))]
        return self._codec.clip(np.stack(acts)), state


def build_policy(config: FunctionPolicyConfig, context: PolicyContext) -> Actor:
    """Build the policy ``function``."""
    function = find_function(config.path)
    codec = ActionCodec(context.action_space)
    call = _call_of(function, config.path) if config.call == "auto" else config.call
    if call == "single":
        return FunctionActor(function, codec, seeded=not config.stochastic)
    return CallableActor(function, codec, seeded=not config.stochastic)


def find_function(path: str) -> Callable[..., Any]:
    """Import what ``module:name`` or ``file.py:name`` names.

    Raises:
        ConfigError: there is no such file, module or name, or it cannot be called.
    """
    target, _, name = path.rpartition(":")
    module = _module_of_file(Path(target)) if target.endswith(".py") else _module(target, path)
    try:
        function = getattr(module, name)
    except AttributeError:
        raise ConfigError(f"path: {path}: {target} has no {name!r}") from None
    if not callable(function):
        raise ConfigError(f"path: {path}: is a {type(function).__name__}; expected a function")
    return function  # type: ignore[no-any-return]  # a callable


def _module(target: str, path: str) -> ModuleType:
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name is not None and (target == error.name or target.startswith(f"{error.name}.")):
            raise ConfigError(
                f"path: {path}: there is no module {error.name!r}; a file is named file.py:name"
            ) from error
        raise


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"path: there is no file {path}")
    name = f"mimetic_function_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses in the file look for their module there
    spec.loader.exec_module(module)
    return module


def _call_of(function: Callable[..., Any], path: str) -> str:
    """Tell by its signature how a function wants to be called."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    if len(required) == 1:
        return "single"
    if len(required) == 3 or (not required and len(positional) >= 3):
        return "batch"
    raise ConfigError(
        f"path: {path}: takes {len(required)} arguments; expected one (an observation) or three (obs, state, "
        "episode_start); say `call: single` or `call: batch` when it takes them in another way"
    )
