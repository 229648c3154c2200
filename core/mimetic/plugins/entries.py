"""Is what a plugin yields an entry that can be used? Checked field by field, without importing what it names."""

import dataclasses
import re
import types
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mimetic.hookspecs import ENTRY_OF_HOOK, Entry
from mimetic.plugins.records import Refusal

BUILT_IN_COMMANDS = ("demo", "train", "eval", "collect", "data", "plugins", "config")
"""Words after ``mimetic`` that no plugin can take."""

NAME_FORM = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)?")
TARGET_FORM = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def check_entry(hook: str, entry: object) -> Entry:
    """Return ``entry`` when ``hook`` may yield it, or raise :class:`Refusal` saying what is wrong with it."""
    expected = ENTRY_OF_HOOK[hook]
    if not isinstance(entry, expected):
        raise Refusal(f"hook {hook!r} yields {_shown(entry)}, expected {expected.__name__}")
    where = f"hook {hook!r}: {expected.__name__} {entry.name!r}"
    for name, hint in _FIELD_TYPES[expected].items():
        value = getattr(entry, name)
        if not _fits(value, hint):
            raise Refusal(f"{where}: {name} must be {_told(hint)}, got {value!r}")
    _check_forms(where, entry)
    return entry


def _check_forms(where: str, entry: Entry) -> None:
    if not NAME_FORM.fullmatch(entry.name):
        form = "lower-case words joined by '-', with at most one '.' after the vendor"
        raise Refusal(f"{where}: name must be {form}, such as 'mlp' or 'acme.mlp'")
    for field in ("config", "factory"):
        target = getattr(entry, field, None)
        if target is not None and not TARGET_FORM.fullmatch(target):
            raise Refusal(f"{where}: {field} must have the form 'module:attribute', got {target!r}")
    if not entry.summary.strip() or "\n" in entry.summary:
        raise Refusal(f"{where}: summary must be one line, got {entry.summary!r}")
    if entry.kind == "command" and entry.name in BUILT_IN_COMMANDS:
        raise Refusal(f"{where}: 'mimetic {entry.name}' is a built-in command; choose another name")


def _field_types(entry_type: type[Entry]) -> dict[str, Any]:
    hints = get_type_hints(entry_type)
    return {field.name: hints[field.name] for field in dataclasses.fields(entry_type)}


_FIELD_TYPES = {entry_type: _field_types(entry_type) for entry_type in ENTRY_OF_HOOK.values()}


def _fits(value: object, hint: Any) -> bool:
    """Tell whether a value has the type of its field: ``str``, ``bool``, ``tuple[str, ...]`` or a ``Literal``."""
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(isinstance(part, get_args(hint)[0]) for part in value)
    return isinstance(value, hint)


def _told(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    return str(hint) if isinstance(hint, types.GenericAlias) else f"a {hint.__name__}"


def _shown(value: object) -> str:
    """Return a value as a sentence shows it: an entry by its type, anything else by its type and start."""
    if dataclasses.is_dataclass(value) or value is None:
        return str(value if value is None else type(value).__name__)
    try:
        return f"the {type(value).__name__} {repr(value)[:80]}"
    except Exception:
        return f"a {type(value).__name__}"
