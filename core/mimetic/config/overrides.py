"""``KEY=VALUE`` on the command line: changes to a run file before it is validated, so that one validation sees all.

A key is dotted; a list's items are addressed by id or component name, else by number. ``policy.name=cnn`` drops
what the file says about the old policy, and keeps what the command line says.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mimetic.config.document import COMMAND_LINE, DEFAULT, Document, KeyPath, key_text
from mimetic.config.fields import default_at, slot_at
from mimetic.config.slots import ComponentSlot
from mimetic.config.spec import parse_value
from mimetic.errors import ConfigError, Fault, suggestion
from mimetic.plugins.wording import seen


def apply_overrides(document: Document, overrides: Sequence[str]) -> list[Fault]:
    """Change the document in place, one override after the other, and return what is wrong with those that failed."""
    faults: list[Fault] = []
    for text in overrides:
        try:
            _apply(document, text)
        except ConfigError as error:
            faults += error.faults
    return faults


def _apply(document: Document, text: str) -> None:
    key, equals, value = text.partition("=")
    parts = [part.strip() for part in re.sub(r"\[(\w+)\]", r".\1", key).split(".")]
    if not equals or not all(parts):
        raise _fault(f"expected KEY=VALUE such as policy.net_arch=[64,64], seen {seen(text)}")
    _set(document, parts, parse_value(value, key.strip()))


def _set(document: Document, parts: list[str], value: object) -> None:
    """Walk down to the last key, making what is absent on the way, and set it."""
    node: object = document.value
    path: KeyPath = ()
    while True:
        key, n_used = _match(node, parts, path)
        parts = parts[n_used:]
        if not parts:
            break
        node = _opened(document, node, (*path, key), parts)
        path = (*path, key)
    slot = slot_at(path) if key == "name" else None
    if slot is not None and isinstance(node, dict) and node.get("name") != value:
        _drop_old_settings(document, node, path, slot)
    node[key] = value  # type: ignore[index]  # a dict, or a list whose index was checked
    document.move((*path, key), COMMAND_LINE)


def _match(node: object, parts: list[str], path: KeyPath) -> tuple[str | int, int]:
    """Return the next key or list position, and how many parts of the dotted key spell it."""
    if isinstance(node, list):
        return _match_item(node, parts, path)
    assert isinstance(node, dict)
    for n_used in range(len(parts), 1, -1):
        if ".".join(parts[:n_used]) in node:
            return ".".join(parts[:n_used]), n_used
    return parts[0], 1


def _match_item(items: list[Any], parts: list[str], path: KeyPath) -> tuple[int, int]:
    names = [_name(item) for item in items]
    for n_used in range(len(parts), 0, -1):
        wanted = ".".join(parts[:n_used])
        found = [index for index, name in enumerate(names) if name == wanted]
        if len(found) > 1:
            numbers = ", ".join(map(str, found))
            raise _fault(f"several are called {wanted!r}: say which by number ({numbers}), or give them an id", path)
        if found:
            return found[0], n_used
    if parts[0].isdecimal() and int(parts[0]) < len(items):
        return int(parts[0]), 1
    if not items:
        raise _fault(f"the list is empty, so it has no {parts[0]!r}: set it as a whole", path)
    labels = [name or str(index) for index, name in enumerate(names)]
    raise _fault(f"no item is called {parts[0]!r}{suggestion(parts[0], labels)} (items: {', '.join(labels)})", path)


def _name(item: object) -> str:
    """Return what a list's item is called: its id, else its component's name; nothing for a bare value."""
    called = (item.get("id") or item.get("name")) if isinstance(item, Mapping) else item
    return called if isinstance(called, str) else ""


def _opened(document: Document, node: Any, path: KeyPath, rest: list[str]) -> object:
    """Return what lies under a key as something that has keys, made from its default when it is absent."""
    key = path[-1]
    child = node.get(key) if isinstance(node, dict) else node[key]
    slot = slot_at(path)
    if child is None or (slot is not None and slot.implied and child == "none"):
        child = default_at(path)
        document.move(path, DEFAULT if child else COMMAND_LINE)
    if isinstance(child, str) and slot is not None:
        child = {slot.shorthand: child}
    elif path == ("demonstrations",) and not isinstance(child, list):
        child = [child]
        document.indent(path)
    if not isinstance(child, dict | list):
        raise _fault(f"it is {seen(child)}, so it has no {'.'.join(rest)!r}", path)
    node[key] = child
    return child


def _drop_old_settings(document: Document, node: dict[str, object], path: KeyPath, slot: ComponentSlot) -> None:
    """Forget what the file says about a component that is about to be replaced; the slot's own keys stay."""
    kept = slot.keys.model_fields if slot.keys else ()
    for key in [key for key in node if key not in ("name", *kept)]:
        if document.places.get((*path, key)) != COMMAND_LINE:
            del node[key]


def _fault(message: str, path: KeyPath = ()) -> ConfigError:
    return ConfigError(Fault(message, key_text(path), COMMAND_LINE.source))
