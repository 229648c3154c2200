"""The wrapper ``gymnasium``: any of gymnasium's wrappers, or anyone's, by class name and arguments."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from mimetic.errors import ConfigError, suggestion

if TYPE_CHECKING:
    from mimetic import WrapperContext


def build(config: Any, context: WrapperContext) -> gym.Wrapper[Any, Any, Any, Any]:
    """Put the wrapper around the environment."""
    name = getattr(config, "class")
    kind = _wrapper_class(name)
    arguments = dict(config.kwargs)
    try:
        inspect.signature(kind).bind(context.wrapped, **arguments)
    except TypeError as error:
        known = ", ".join(list(inspect.signature(kind).parameters)[1:]) or "none"
        raise ConfigError(f"wrapper {name}: {error} (its arguments: {known})") from error
    return kind(context.wrapped, **arguments)


def _wrapper_class(name: str) -> type[gym.Wrapper[Any, Any, Any, Any]]:
    module, colon, attribute = name.rpartition(":")
    source = _import(module, name) if colon else gym.wrappers
    kind = getattr(source, attribute, None)
    if kind is None:
        known = [known for known in dir(source) if _is_wrapper(getattr(source, known, None))]
        place = module if colon else "gymnasium.wrappers"
        raise ConfigError(
            f"class: {place} has no {attribute!r}{suggestion(attribute, known)} (it has: {', '.join(known)})"
        )
    if not _is_wrapper(kind):
        raise ConfigError(f"class: {name} is no gymnasium wrapper; expected a subclass of gymnasium.Wrapper")
    return kind  # type: ignore[no-any-return]  # checked above


def _import(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(f"class: {name}: there is no module {error.name!r}") from error


def _is_wrapper(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, gym.Wrapper)
