"""How is a wrong setting put into words? What was seen and what was expected, in the language of a run file."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from mimetic.errors import suggestion

_LONGEST = 60  # characters of a value that are shown


def seen(value: object) -> str:
    """Return a value as a person would name it: ``'adam'``, ``3``, ``true``, ``null``, ``a list of 2``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    if isinstance(value, str):
        return repr(str(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")
    if isinstance(value, Mapping):
        keys = ", ".join(str(key) for key in value)
        return f"a mapping with {_shortened(keys)}" if value else "an empty mapping"
    if isinstance(value, list | tuple | set | frozenset):
        items = _shortened(", ".join(seen(item) for item in value))
        return f"a list of {len(value)} ({items})" if value else "an empty list"
    if isinstance(value, int) and value.bit_length() > 4 * _LONGEST:
        return f"a number of {value.bit_length()} bits"
    return _shortened(repr(value))


def expectation(detail: Mapping[str, Any]) -> str | None:
    """Return what pydantic expected, as in "expected ..."; None when its error is no mere wrong value."""
    kind, context = detail["type"], detail.get("ctx") or {}
    if kind in ("literal_error", "enum"):
        return f"one of {str(context['expected']).replace(' or ', ', ')}"
    if kind in _BOUNDS:
        return f"{_BOUNDS[kind]} {_number(context)}"
    if kind in ("too_short", "too_long"):
        return _length(kind == "too_short", context, "item")
    if kind in ("string_too_short", "string_too_long"):
        return _length(kind == "string_too_short", context, "character")
    if kind == "string_pattern_mismatch":
        return f"text of the form {context['pattern']}"
    if kind == "multiple_of":
        return f"a multiple of {context['multiple_of']}"
    if kind == "int_from_float":
        return "a whole number"
    for prefix, expected in _TYPES:
        if kind == prefix or kind.startswith(f"{prefix}_"):
            return expected
    return None


def sentence(detail: Mapping[str, Any]) -> str:
    """Restate one of pydantic's errors: ``expected a number, seen 'fast'``."""
    kind, context = detail["type"], detail.get("ctx") or {}
    if kind == "missing":
        return "this key is missing"
    if kind == "invalid_key":
        return "a key is text: put quotes around it"
    if kind in ("value_error", "assertion_error"):
        return str(context.get("error") or "it is refused, and its plugin gives no reason")
    expected = expectation(detail)
    if expected is not None:
        hint = _HINTS.get(kind, _no_hint)(detail["input"], context)
        return f"expected {expected}, seen {seen(detail['input'])}{hint}"
    return str(detail["msg"])


_TYPES = (
    ("int", "a whole number"),
    ("float", "a number"),
    ("finite_number", "a finite number"),
    ("decimal", "a number"),
    ("bool", "true or false"),
    ("string", "text"),
    ("path", "a path"),
    ("list", "a list"),
    ("tuple", "a list"),
    ("set", "a list"),
    ("frozen_set", "a list"),
    ("iterable", "a list"),
    ("dict", "a mapping of keys to values"),
    ("mapping", "a mapping of keys to values"),
    ("model", "a mapping of keys to values"),
    ("dataclass", "a mapping of keys to values"),
    ("none_required", "null"),
)

_BOUNDS = {
    "greater_than": "a number above",
    "greater_than_equal": "at least",
    "less_than": "a number below",
    "less_than_equal": "at most",
}


def _number(context: Mapping[str, Any]) -> object:
    return next(context[key] for key in ("gt", "ge", "lt", "le") if key in context)


def _length(least: bool, context: Mapping[str, Any], noun: str) -> str:
    count = context["min_length" if least else "max_length"]
    return f"{'at least' if least else 'at most'} {count} {noun}{'' if count == 1 else 's'}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


# --- hints: what to do about a common slip ----------------------------------------------------------------------


def _no_hint(value: object, context: Mapping[str, Any]) -> str:
    return ""


def _nearest(value: object, context: Mapping[str, Any]) -> str:
    return suggestion(value, re.findall(r"'([^']*)'", str(context["expected"]))) if isinstance(value, str) else ""


def _quoted_number(value: object, context: Mapping[str, Any]) -> str:
    return " (without quotes it is a number)" if _is_number(value) else ""


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _yes_or_no(value: object, context: Mapping[str, Any]) -> str:
    meant = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(str(value).lower())
    return f" (write {meant})" if meant else ""


_HINTS: Mapping[str, Callable[[object, Mapping[str, Any]], str]] = {
    "literal_error": _nearest,
    "enum": _nearest,
    "int_type": _quoted_number,
    "float_type": _quoted_number,
    "bool_type": _yes_or_no,
}
