"""Which keys does a component have? Read off its config model, for people and for machines."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from mimetic.hookspecs import KINDS

BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "min_length": "length >=", "max_length": "length <="}
PLAIN_NAMES: Mapping[Any, str] = {
    NoneType: "null",
    Any: "anything",
    str: "text",
    bool: "true | false",
    object: "anything",
}


@dataclass(frozen=True, slots=True)
class Key:
    """One setting of a component."""

    name: str  # dotted inside nested settings: "optimizer.lr"
    type: str
    required: bool
    default: object  # plain data; None when required
    doc: str


def keys_of(model: type[BaseModel], prefix: str = "") -> Iterator[Key]:
    """Yield the keys of a model in their order; the keys of nested settings follow the key that holds them."""
    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        yield Key(
            key, _field_type(field), field.is_required(), _default(field), inspect.cleandoc(field.description or "")
        )
        for nested in _nested(field.annotation):
            yield from keys_of(nested, f"{key}.")


def _default(field: FieldInfo) -> object:
    if field.is_required():
        return None
    return to_jsonable_python(field.get_default(call_default_factory=True, validated_data={}), fallback=str)


def _nested(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a field holds directly, or as one of its alternatives."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Union, UnionType, Annotated):
        for part in get_args(annotation):
            yield from _nested(part)


def _field_type(field: FieldInfo) -> str:
    return _component(field.metadata) or _type(field.annotation) + _bounds(field.metadata)


def _type(annotation: Any) -> str:
    """Return a type in the words of a run file: ``list[int >= 1] | null``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _component(arguments[1:]) or _type(arguments[0]) + _bounds(arguments[1:])
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(map(_type, arguments)))
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if isinstance(origin, type) and arguments:
        parts = ", ".join(_type(part) for part in arguments if part is not Ellipsis)
        return f"{'mapping' if issubclass(origin, Mapping) else 'list'}[{parts}]"
    return _plain_type(annotation)


def _plain_type(annotation: Any) -> str:
    if annotation in PLAIN_NAMES:
        return PLAIN_NAMES[annotation]
    if isinstance(annotation, type):
        if issubclass(annotation, PurePath):
            return "path"
        return "settings" if issubclass(annotation, BaseModel) else annotation.__name__
    return str(annotation)


def _component(metadata: Iterable[Any]) -> str:
    """Return what a place for another component takes; its marker says which kind."""
    kinds = [kind for kind in (getattr(item, "kind", None) for item in metadata) if kind in KINDS]
    return f"{kinds[0]} component" if kinds else ""


def _bounds(metadata: Iterable[Any]) -> str:
    found = []
    for item in metadata:
        if isinstance(item, FieldInfo):
            found.append(_bounds(item.metadata).strip())
        found += [
            f"{sign} {getattr(item, name)}" for name, sign in BOUNDS.items() if getattr(item, name, None) is not None
        ]
    return "".join(f" {bound}" for bound in found if bound)
