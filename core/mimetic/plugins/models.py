"""What may be set on a component? Its config model is imported here, and settings become an instance of it.

The only layer that needs pydantic; it is imported when the first model is.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from mimetic.errors import ConfigError, Fault, PluginError, suggestion
from mimetic.plugins.factories import import_target
from mimetic.plugins.records import Component
from mimetic.plugins.wording import sentence

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from mimetic.config import ComponentConfig

UNKNOWN_KEY = ("extra_forbidden", "unknown_key")  # as pydantic and as ComponentConfig call it


def config_model(component: Component) -> "type[ComponentConfig]":
    """Import a component's config model; its module must be light, and the model must refuse unknown keys.

    Raises:
        PluginError: it cannot be imported, is no pydantic model, or would let a misspelt key through.
    """
    from pydantic import BaseModel

    target = getattr(component.entry, "config", None)
    if target is None:
        raise PluginError(f"{component} has no settings: a command reads its own words")
    model = import_target(component, "config", target, PluginError)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise PluginError(f"{component}: its config {target!r} is no pydantic model; derive it from ComponentConfig")
    for lax in _models_in(model, set()):
        if lax.model_config.get("extra") != "forbid":
            reason = f"{lax.__name__} lets unknown keys through, so a misspelt one would pass unseen"
            raise PluginError(f"{component}: its config {target!r}: {reason}; derive it from mimetic's ComponentConfig")
    return cast("type[ComponentConfig]", model)


def validated(component: Component, options: Mapping[str, object], base_dir: Path | None) -> "ComponentConfig":
    """Turn settings into an instance of the component's model. Relative paths start from ``base_dir``.

    Raises:
        ConfigError: with every fault, not only the first.
    """
    from pydantic import ValidationError

    model = config_model(component)
    try:
        return model.model_validate(dict(options), context={"base_dir": base_dir or Path.cwd()})
    except ValidationError as error:
        raise ConfigError(_faults(error, component, model)) from error


def _faults(error: "ValidationError", component: Component, model: "type[BaseModel]") -> list[Fault]:
    return [
        Fault(_message(detail, component, model), path=".".join(map(str, detail["loc"])))
        for detail in error.errors(include_url=False)
    ]


def _message(detail: Any, component: Component, model: "type[BaseModel]") -> str:
    loc = detail["loc"]
    if detail["type"] not in UNKNOWN_KEY or len(loc) != 1:
        return f"{component.kind} {component.name!r}: {sentence(detail)}"
    keys = sorted(field.alias or name for name, field in model.model_fields.items())
    told = f"keys: {', '.join(keys)}" if keys else "it has no keys"
    return f"unknown key for {component.kind} {component.name!r}{suggestion(str(loc[0]), keys)} ({told})"


def _models_in(model: "type[BaseModel]", seen: "set[type[BaseModel]]") -> "Iterator[type[BaseModel]]":
    """Yield a model and every model among the types of its fields, however deep."""
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        for part in _types_in(field.annotation):
            yield from _models_in(part, seen)


def _types_in(annotation: Any) -> "Iterator[type[BaseModel]]":
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _types_in(part)
