"""What can be set on one component, and who ships it? As plain data, and as a page for people."""

import dataclasses
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mimetic.cli.plugins.tables import aligned, wrapped
from mimetic.errors import ConfigError, UnknownComponentError, nearest
from mimetic.hookspecs import KINDS, CommandEntry
from mimetic.plugins import Component, Registry

FACTS = ("level", "trainable", "suffixes", "requires", "missing", "config", "factory")

Document = Mapping[str, Any]


def chosen(known: Registry, text: str) -> Component:
    """Return the component that ``[KIND:]NAME`` stands for.

    Raises:
        ConfigError: there is none, or several kinds have one of this name.
        ComponentConflictError: two plugins offer it.
    """
    before, separator, after = text.partition(":")
    if separator:
        if before not in KINDS:
            raise ConfigError(f"no kind of component is called {before!r}. Kinds: {', '.join(KINDS)}.")
        return known.find(next(kind for kind in KINDS if kind == before), after)
    offers = [*known.components(), *(offers[0] for offers in known.conflicts())]
    kinds = [offer.kind for offer in offers if offer.name == text]
    if len(kinds) > 1:
        raise ConfigError(f"{text!r} names several components; say one of {', '.join(f'{k}:{text}' for k in kinds)}")
    if not kinds:
        raise UnknownComponentError(_unknown(known, text, [offer.name for offer in offers]))
    return known.find(kinds[0], text)


def _unknown(known: Registry, name: str, names: Sequence[str]) -> str:
    unloaded = "".join(f" Plugin {record} is {record.state}: {record.reason}." for record in known.unloaded())
    near = nearest(name, names)
    meant = f" Did you mean {near!r}?" if near else ""
    return f"no component is called {name!r}.{meant} 'mimetic plugins' lists them all.{unloaded}"


def component_document(known: Registry, component: Component) -> Document:
    """Return one component as plain data: who ships it, what it needs, and each of its keys."""
    from mimetic.plugins.requirements import missing_requirements  # packaging is not light

    entry = component.entry
    record = next(r for r in known.plugins if component in r.components)
    return {
        "kind": component.kind,
        **dataclasses.asdict(entry),
        "plugin": record.name,
        "distribution": record.distribution,
        "version": record.version,
        "entry_point": record.entry_point,
        "missing": [fault for faults in missing_requirements(component).values() for fault in faults],
        **({} if isinstance(entry, CommandEntry) else _settings(known, component)),
    }


def _settings(known: Registry, component: Component) -> Document:
    from mimetic.plugins.keys import keys_of  # pydantic is not light

    model = known.config_model(component)
    own_text = inspect.cleandoc(model.__doc__ or "")
    return {"doc": own_text, "keys": [dataclasses.asdict(key) for key in keys_of(model)]}


def component_text(document: Document) -> Iterator[str]:
    """Yield one component for people."""
    yield f"{document['kind']} {document['name']}: {document['summary']}"
    yield ""
    facts = {
        "plugin": f"{document['plugin']} ({document['distribution']} {document['version']})",
        **{key: _fact(document[key]) for key in FACTS if document.get(key) not in (None, (), [])},
    }
    yield from aligned(list(facts.items()))
    if document.get("doc"):
        yield ""
        yield document["doc"]
    if "keys" in document:
        yield ""
        yield from _keys_text(document["keys"])


def _keys_text(keys: Sequence[Document]) -> Iterator[str]:
    if not keys:
        yield "It has no keys."
    rows = [(key["name"], key["type"], _default_text(key)) for key in keys]
    for row, key in zip(aligned(rows), keys, strict=True):
        yield row
        yield from wrapped(key["doc"], "    ")


def _default_text(key: Document) -> str:
    if key["required"]:
        return "required"
    return "as follows" if key["type"] == "settings" else f"default {_told(key['default'])}"


def _told(value: object) -> str:
    """Return a value as a run file would write it, near enough to copy."""
    return value if isinstance(value, str) and value else json.dumps(value)


def _fact(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple | list) else _told(value)
