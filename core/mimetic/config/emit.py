"""Plain data as YAML 1.2 that reads back as the same data, with room for comments."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from mimetic.config.document import KeyPath
from mimetic.config.yaml import is_plain_text

_SIMPLE = re.compile(r"[A-Za-z_/.][A-Za-z0-9_/.+-]*(:[A-Za-z0-9_/.+-]+)*")
_OLD_BOOLEANS = frozenset({"y", "n", "yes", "no", "on", "off"})  # YAML 1.1 reads them as true and false
_WIDEST = 100  # characters of a list in one line

Comment = Callable[[KeyPath], str]
"""Returns what is said about a key; nothing for none."""


def emit(value: Mapping[str, object], *, above: Comment | None = None, beside: Comment | None = None) -> str:
    """Write a mapping, one key a line; ``above`` gives the lines over a key, ``beside`` what ends its line."""
    lines = list(_mapping(value, (), 0, above or _nothing, beside or _nothing))
    width = min(max((len(text) for text, note in lines if note), default=0), 60)
    return "".join(f"{text:<{width}}  # {note}\n" if note else f"{text}\n" for text, note in lines)


_Lines = Iterator[tuple[str, str]]


def _nothing(path: KeyPath) -> str:
    return ""


def _mapping(value: Mapping[str, object], path: KeyPath, indent: int, above: Comment, beside: Comment) -> _Lines:
    for key, item in value.items():
        here = (*path, key)
        for line in above(here).splitlines():
            yield (f"{' ' * indent}# {line}".rstrip() if line.strip() else ""), ""
        label = f"{' ' * indent}{scalar(key)}:"
        if _is_one_line(item):
            yield f"{label} {inline(item)}", beside(here)
        else:
            yield label, ""
            yield from _block(item, here, indent + 2, above, beside)


def _block(value: object, path: KeyPath, indent: int, above: Comment, beside: Comment) -> _Lines:
    if isinstance(value, Mapping):
        yield from _mapping(value, path, indent, above, beside)
        return
    assert isinstance(value, Sequence)
    for index, item in enumerate(value):
        here = (*path, index)
        if _is_one_line(item):
            yield f"{' ' * indent}- {inline(item)}", beside(here)
            continue
        dash = f"{' ' * indent}- "
        for text, note in _block(item, here, indent + 2, above, beside):
            if dash and text.lstrip().startswith("#"):
                yield f"{' ' * indent}{text.lstrip()}", note
                continue
            yield (dash + text[indent + 2 :] if dash else text), note
            dash = ""


def _is_one_line(value: object) -> bool:
    if isinstance(value, Mapping):
        return not value
    if isinstance(value, list | tuple):
        flat = all(not isinstance(item, Mapping | list | tuple) or not item for item in value)
        return (flat and len(inline(value)) <= _WIDEST) or not value
    return True


def inline(value: object) -> str:
    """Write a value in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return scalar(value)


def scalar(value: object) -> str:
    """Write one value so that YAML 1.2 and 1.1 both read it as what it is."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int):
        return str(int(value))
    assert isinstance(value, str), f"{value!r} is no plain data"
    simple = _SIMPLE.fullmatch(value) and is_plain_text(value) and value.lower() not in _OLD_BOOLEANS
    return str(value) if simple else _quoted(value)


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    mantissa, e, exponent = repr(float(value)).partition("e")
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{e}{exponent}"


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
