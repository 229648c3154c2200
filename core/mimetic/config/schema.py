"""A JSON schema of run files, made from the installed plugins, for editors that complete and check as one types.

A slot is an ``enum`` of names with one ``if``/``then`` for each component, never a ``oneOf``: so an editor blames the
key that is wrong, not the whole section.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from mimetic.config.runfile import RunConfig
from mimetic.config.slots import ComponentSlot, components_of
from mimetic.errors import PluginError
from mimetic.plugins import Component, registry

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MARK = "x-mimetic-slot"


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a run file, as plain data."""
    definitions = _Definitions()
    schema = definitions.of_model(RunConfig, "")
    demonstrations = schema["properties"]["demonstrations"]
    source = demonstrations["items"]["$ref"]
    alone = {"if": {"type": "array"}, "then": demonstrations, "else": {"$ref": source}}
    schema["properties"]["demonstrations"] = {"description": demonstrations.pop("description"), **alone}
    return {"$schema": _DIALECT, "title": "A run file of mimetic", **schema, "$defs": definitions.schemas}


class _Definitions:
    """Gathers the schemas of all models and slots under names of their own."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}

    def of_model(self, model: type[BaseModel], prefix: str) -> dict[str, Any]:
        """Return a model's schema; the models in it become definitions that start with ``prefix``."""
        schema = model.model_json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
        for name, nested in schema.pop("$defs", {}).items():
            self.schemas[prefix + name] = self._resolved(nested)
        resolved: dict[str, Any] = self._resolved(schema)
        return resolved

    def _resolved(self, schema: Any) -> Any:
        """Replace the marks of slots, and drop titles that only repeat the key."""
        if isinstance(schema, list):
            return [self._resolved(item) for item in schema]
        if not isinstance(schema, Mapping):
            return schema
        if _MARK in schema:
            described = {key: value for key, value in schema.items() if key in ("description", "default")}
            return {**described, "$ref": self._slot(schema[_MARK])}
        return {
            key: {name: self._resolved(item) for name, item in value.items()}
            if key == "properties"
            else value
            if key in ("default", "const", "enum")
            else self._resolved(value)
            for key, value in schema.items()
            if key != "title"
        }

    def _slot(self, slot: ComponentSlot) -> str:
        traits = [*slot.levels, "trainable" if slot.trainable else "", slot.implied]
        name = ".".join(["slot", slot.kind, *filter(None, traits)])
        if name not in self.schemas:
            self.schemas[name] = {}  # a component may have a slot of its own kind
            self.schemas[name] = self._slot_schema(slot)
        return f"#/$defs/{name}"

    def _slot_schema(self, slot: ComponentSlot) -> dict[str, Any]:
        components = components_of(slot)
        settings = {component.name: self._component(component, slot) for component in components}
        mapping = {
            "type": "object",
            "properties": {"name": {"enum": list(settings)}},
            "required": [] if slot.implied else ["name"],
            "allOf": [
                {"if": self._is_named(name, slot), "then": {"$ref": f"#/$defs/{reference}"}}
                for name, reference in settings.items()
                if reference
            ],
        }
        word = {"enum": self._words(slot, settings)}
        return {"type": ["string", "object"], "if": {"type": "string"}, "then": word, "else": mapping}

    def _is_named(self, name: str, slot: ComponentSlot) -> dict[str, Any]:
        required = {} if slot.implied == name else {"required": ["name"]}
        return {"properties": {"name": {"const": name}}, **required}

    def _words(self, slot: ComponentSlot, settings: Mapping[str, str]) -> list[str]:
        """Return the bare words that are enough: names of components that need no settings."""
        if slot.implied:
            mode = self.schemas.get(settings.get(slot.implied, ""), {}).get("properties", {}).get(slot.shorthand, {})
            return ["none", *mode.get("enum", ())]
        return [name for name, reference in settings.items() if not self.schemas.get(reference, {}).get("required")]

    def _component(self, component: Component, slot: ComponentSlot) -> str:
        """Define the schema of a component in a slot; nothing when its settings cannot be imported."""
        name = f"{component.kind}.{component.name}"
        if name in self.schemas:
            return name
        try:
            model = registry().config_model(component)
        except PluginError:
            return ""
        self.schemas[name] = {}
        schema = self.of_model(model, f"{name}.")
        own = self.of_model(slot.keys, f"{name}.")["properties"] if slot.keys else {}
        label = {"const": component.name, "description": component.entry.summary}
        schema["properties"] = {"name": label, **own, **schema.get("properties", {})}
        self.schemas[name] = schema
        return name
