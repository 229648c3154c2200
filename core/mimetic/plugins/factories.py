"""How is a component made? Its factory is imported, called, and what it gives is looked at once."""

import importlib
from collections.abc import Mapping
from functools import reduce
from typing import Any

from mimetic.errors import ComponentFailedError, MimeticError, PluginError
from mimetic.hookspecs import WrapperEntry
from mimetic.plugins.reasons import describe
from mimetic.plugins.records import Component

PROMISED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "algorithm": (("train", "policy", "state_dict", "load_state_dict"),),
    "policy": (("__call__",), ("predict",)),
    "loss": (("__call__",),),
    "data-source": (("__iter__",), ("__getitem__",), ("data",), ("obs", "acts")),
    "env wrapper": (("reset", "step"),),
    "venv wrapper": (("reset", "step_async", "step_wait"),),
    "policy wrapper": (("__call__",),),
    "logger": (("write", "close"),),
    "reward": (("__call__",),),
}
"""What the thing that a factory gives must have: all the names of one of the alternatives."""


def import_target(component: Component, role: str, target: str, failure: type[PluginError]) -> Any:
    """Import ``"module:attribute"``, or raise ``failure`` naming the component and its provider."""
    module, _, attribute = target.partition(":")
    try:
        return reduce(getattr, attribute.split("."), importlib.import_module(module))
    except (KeyboardInterrupt, MimeticError):
        raise
    except BaseException as error:
        raise failure(f"{component}: its {role} {target!r} cannot be imported: {describe(error)}") from error


def call_factory(component: Component, *arguments: object) -> Any:
    """Import a component's factory, after its libraries were looked for, and call it.

    Raises:
        MissingDependencyError: a library that it needs is not installed; holds the pip command.
        ComponentFailedError: the factory cannot be imported or called, or raised something of its own.
    """
    if component.entry.requires:
        from mimetic.plugins.requirements import check_requirements  # packaging is not light

        check_requirements(component)
    factory = import_target(component, "factory", component.entry.factory, ComponentFailedError)
    if not callable(factory):
        told = f"is of type {type(factory).__name__}, which cannot be called"
        raise ComponentFailedError(f"{component}: its factory {component.entry.factory!r} {told}")
    try:
        return factory(*arguments)
    except (KeyboardInterrupt, MimeticError):
        raise
    except BaseException as error:
        if isinstance(error, SystemExit) and component.kind == "command":
            raise  # how a command line ends
        raise ComponentFailedError(f"{component} raised {describe(error)}") from error


def check_made(component: Component, made: object) -> None:
    """Raise :class:`ComponentFailedError` when what a factory gave is plainly not of its kind."""
    kind = " ".join([*([component.entry.level] if isinstance(component.entry, WrapperEntry) else []), component.kind])
    alternatives = PROMISED[kind]
    if not any(all(hasattr(made, name) for name in names) for names in alternatives):
        expected = " or ".join(", ".join(names) for names in alternatives)
        gave = f"its factory {component.entry.factory!r} gave an object of type {type(made).__name__}"
        raise ComponentFailedError(f"{component}: {gave}; a {kind} must have {expected}")
