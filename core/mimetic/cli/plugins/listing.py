"""What is installed, and what became of each plugin? As plain data, and as a list for people."""

from collections.abc import Iterator, Mapping
from typing import Any

from mimetic.cli.plugins.tables import aligned, wrapped
from mimetic.plugins import Component, PluginRecord, Registry

Document = Mapping[str, Any]


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
    for head, record in zip(aligned(heads), known.plugins, strict=True):
        yield head
        if record.reason:
            yield from wrapped(record.reason, "    ")
        for remark in record.remarks():
            yield from wrapped(remark, "    ")
        yield from (f"    {line}" for line in aligned([_component_row(c) for c in record.components]))
    yield from known.warnings()


def _component_row(component: Component) -> tuple[str, str, str]:
    return (component.kind, component.name, component.entry.summary)
