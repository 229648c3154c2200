"""The public surface as text: every name that others may rely on, with its signature.

It is committed as ``tests/core/public_surface.txt``, so that a change is a decision (docs/stability.md). After one::

    python tests/public_surface.py

writes the file anew; what changed shows in the diff.
"""

import dataclasses
import enum
import functools
import importlib
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mimetic import hookspecs
from mimetic.hookspecs import ENTRY_OF_HOOK
from mimetic.plugins import discover
from mimetic.plugins.implementations import HOOK_ARGUMENTS

FILE = Path(__file__).resolve().parent / "core" / "public_surface.txt"

MODULES = (
    "mimetic",
    "mimetic.errors",
    "mimetic.plugins",
    "mimetic.config",
    "mimetic.types",
    "mimetic.spaces",
    "mimetic.seeding",
    "mimetic.policies",
    "mimetic.losses",
    "mimetic.storage",
    "mimetic.logs",
    "mimetic.envs",
    "mimetic.rollout",
    "mimetic.evaluate",
    "mimetic.algorithms",
    "mimetic.run",
    "mimetic.testing",
    "mimetic_bc",
    "mimetic_explore",
    "mimetic_policies",
    "mimetic_render",
    "mimetic_video",
)


def surface() -> str:
    """Return the whole surface, a line a name."""
    sections = [
        ("hooks", _hooks()),
        ("entries and contexts", _entries()),
        *((module, _module(module)) for module in MODULES),
        ("settings of the components in the box", _settings()),
    ]
    return "\n".join("\n".join([f"[{title}]", *lines, ""]) for title, lines in sections)


# --- what plugins are made of -----------------------------------------------------------------------------------


def _hooks() -> Iterator[str]:
    yield f"API_VERSION = {hookspecs.API_VERSION}"
    for hook in HOOK_ARGUMENTS:
        yield f"{hook}{inspect.signature(getattr(hookspecs, hook))}"


def _entries() -> Iterator[str]:
    contexts = [value for name, value in sorted(vars(hookspecs).items()) if name.endswith("Context")]
    for kind in (*ENTRY_OF_HOOK.values(), *contexts):
        for field in dataclasses.fields(kind):
            default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
            yield f"{kind.__name__}.{field.name}: {field.type}{default}"


def _settings() -> Iterator[str]:
    known = discover()
    for component in sorted(known.components(), key=lambda each: (each.kind, each.name)):
        if component.distribution == "mimetic" and component.kind != "command":
            yield f"{component.kind} {component.name}{_signature(known.config_model(component))}"


# --- what can be imported ---------------------------------------------------------------------------------------


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(name)
    for public in sorted(_names(module)):
        yield from _described(public, getattr(module, public))


def _names(module: types.ModuleType) -> list[str]:
    stated = getattr(module, "__all__", None)
    if stated is not None:
        return list(stated)
    own = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    package = module.__name__
    return [
        name
        for name, value in own.items()
        if not isinstance(value, types.ModuleType) and str(getattr(value, "__module__", package)).startswith(package)
    ]


def _described(name: str, value: object) -> Iterator[str]:
    if isinstance(value, type):
        yield from _class(name, value)
    elif callable(value) and str(value.__module__).startswith("mimetic"):
        yield f"{name}{_signature(value)}"
    else:
        is_alias = type(value).__module__ in ("typing", "types", "collections.abc")
        yield f"{name}: {'alias' if is_alias else type(value).__name__}"


def _class(name: str, kind: type[Any]) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield f"{name}: {', '.join(member.name for member in kind)}"
        return
    bases = ", ".join(base.__name__ for base in kind.__bases__ if base is not object)
    yield f"class {name}{f'({bases})' if bases else ''}: {_signature(kind)}"
    for member in sorted(_members(kind)):
        yield from _member(f"{name}.{member}", inspect.getattr_static(kind, member))


def _members(kind: type[Any]) -> set[str]:
    """Return the public members that a class defines, or a base of it that is not public itself."""
    here = [base for base in kind.__mro__ if base.__module__.partition(".")[0].startswith("mimetic")]
    own = [base for base in here if base is kind or base not in _public_classes()]
    fields = set(getattr(kind, "__dataclass_fields__", ())) | set(getattr(kind, "model_fields", ()))
    names = {name for base in own for name in vars(base) if not name.startswith("_")}
    return names - fields - {"model_config", "model_fields", "model_computed_fields"}


@functools.cache
def _public_classes() -> frozenset[type[Any]]:
    modules = [importlib.import_module(name) for name in MODULES]
    values = [getattr(module, name) for module in modules for name in _names(module)]
    return frozenset(value for value in values if isinstance(value, type))


def _member(path: str, value: object) -> Iterator[str]:
    if isinstance(value, property | functools.cached_property):
        yield f"{path} (property)"
    elif isinstance(value, staticmethod | classmethod):
        yield f"{path}{_signature(value.__func__)}"
    elif callable(value) and not isinstance(value, type):
        yield f"{path}{_signature(value)}"
    elif not isinstance(value, types.MemberDescriptorType):
        yield f"{path}: {type(value).__name__}"


def _signature(value: Any) -> str:
    """Return parameters and defaults. Annotations are left out: how they print differs between releases of others."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    bare = [
        each.replace(annotation=inspect.Parameter.empty, default=_Shown.of(each.default))
        for each in parameters
        if each.name != "self"
    ]
    return str(inspect.Signature(bare))


def _is_plain(value: Any) -> bool:
    """Whether a default prints alike everywhere: numbers, text, and settings made of them."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, BaseModel):
        return all(_is_plain(getattr(value, name)) for name in type(value).model_fields)
    return value is None or isinstance(value, bool | int | float | str) or repr(value) == "<factory>"


class _Shown:
    """A default that prints without addresses, or anything else of this machine."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def of(cls, value: Any) -> Any:
        if value is inspect.Parameter.empty:
            return value
        if isinstance(value, type) or callable(value):
            return cls(getattr(value, "__name__", type(value).__name__))
        return cls(repr(value) if _is_plain(value) else type(value).__name__)

    def __repr__(self) -> str:
        return self._text


if __name__ == "__main__":
    FILE.write_text(surface(), encoding="utf-8", newline="\n")
