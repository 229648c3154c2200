"""What a run file's own fields are: which are slots, and what stands in them by default."""

import types
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from mimetic.config.document import KeyPath
from mimetic.config.runfile import RunConfig
from mimetic.config.slots import ComponentSlot


def slot_at(path: KeyPath) -> ComponentSlot | None:
    """Return the slot under a key of a run file; None when that is no component's place."""
    return next((kind for kind in _types_at(path) if isinstance(kind, ComponentSlot)), None)


def default_at(path: KeyPath) -> object:
    """Return what a run file means when it lacks a key, as one would write it; an empty section for nothing."""
    field = RunConfig.model_fields.get(str(path[0])) if len(path) == 1 else None
    default = field.get_default() if field else None
    return default if isinstance(default, str | list) else {}


def _types_at(path: KeyPath) -> list[Any]:
    """Return what may stand under a key: models, other types, and the marks of slots."""
    found: list[Any] = [RunConfig]
    for part in path:
        if isinstance(part, int):
            found = [member for kind in found if get_origin(kind) is tuple for member in _members(get_args(kind)[0])]
        else:
            models = [kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseModel)]
            fields = [model.model_fields[part] for model in models if part in model.model_fields]
            found = [member for field in fields for member in (*_members(field.annotation), *field.metadata)]
    return found


def _members(annotation: Any) -> list[Any]:
    """Flatten unions and annotations."""
    origin = get_origin(annotation)
    if origin is Annotated:
        kind, *marks = get_args(annotation)
        return [*_members(kind), *marks]
    if origin in (Union, types.UnionType):
        return [member for kind in get_args(annotation) for member in _members(kind)]
    return [annotation]
