"""``mimetic plugins``: what is installed, what became of it, and what can be set on it."""

import argparse
import dataclasses
import inspect
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mimetic.errors import ConfigError, UnknownComponentError, nearest
from mimetic.hookspecs import KINDS, CommandEntry
from mimetic.plugins import Component, PluginRecord, Registry, registry

WIDTH = 100  # of running text
FACTS = ("level", "trainable", "suffixes", "requires", "missing", "config", "factory")

Document = Mapping[str, Any]


def run(argv: list[str]) -> int:
    """Run ``mimetic plugins`` and return its exit status."""
    arguments = _parser().parse_args(argv)
    known = registry()
    if arguments.action == "show":
        document = component_document(known, chosen(known, arguments.component))
        text = component_text(document)
    else:
        document = list_document(known)
        text = list_text(known)
    lines = [json.dumps(document, indent=2)] if arguments.json else text
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("mimetic plugins", description="List installed plugins, or show one component.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    actions = parser.add_subparsers(dest="action", metavar="{list,show}")
    listing = actions.add_parser("list", help="every plugin with its state and components (the default)")
    show = actions.add_parser("show", help="one component with its keys, types and defaults")
    show.add_argument("component", metavar="[KIND:]NAME", help=f"kinds: {', '.join(KINDS)}")
    for action in (listing, show):  # `--json` may stand before or after the action
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON document")
    return parser


# --- the list ---------------------------------------------------------------------------------------------------


def list_document(known: Registry) -> Document:
    """Return every plugin as plain data, and the names that two of them offer."""
    return {
        "plugins": [_plugin_document(record) for record in known.plugins],
        "conflicts": [
            {"kind": offers[0].kind, "name": offers[0].name, "plugins": [offer.plugin for offer in offers]}
            for offers in known.conflicts()
        ],
    }


def _plugin_document(record: PluginRecord) -> Document:
    return {
        "name": record.name,
        "state": str(record.state),
        "reason": record.reason,
        "distribution": record.distribution,
        "version": record.version,
        "entry_point": record.entry_point,
        "components": [{"kind": c.kind, "name": c.name, "summary": c.entry.summary} for c in record.components],
    }


def list_text(known: Registry) -> Iterator[str]:
    """Yield one line a plugin, then its components or the reason why it has none."""
    if not known.plugins:
        yield "no plugin is installed"
    heads = [(r.name, str(r.state), f"{r.distribution} {r.version}", r.entry_point) for r in known.plugins]
    for head, record in zip(_aligned(heads), known.plugins, strict=True):
        yield head
        if record.reason:
            yield from _wrapped(record.reason, "    ")
        yield from (f"    {line}" for line in _aligned([_component_row(c) for c in record.components]))
    yield from known.warnings()


def _component_row(component: Component) -> tuple[str, str, str]:
    return (component.kind, component.name, component.entry.summary)


# --- one component ----------------------------------------------------------------------------------------------


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
    yield from _aligned(list(facts.items()))
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
    for row, key in zip(_aligned(rows), keys, strict=True):
        yield row
        yield from _wrapped(key["doc"], "    ")


def _default_text(key: Document) -> str:
    if key["required"]:
        return "required"
    return "as follows" if key["type"] == "settings" else f"default {_told(key['default'])}"


def _told(value: object) -> str:
    """Return a value as a run file would write it, near enough to copy."""
    return value if isinstance(value, str) and value else json.dumps(value)


def _fact(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple | list) else _told(value)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Pad every column but the last to its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()
