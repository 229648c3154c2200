"""A component in one word on the command line: ``name`` or ``name:key=value,...``; and values written there."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from mimetic.config.component import is_text
from mimetic.config.document import COMMAND_LINE, CommandLineText, Document
from mimetic.config.faults import raise_faults
from mimetic.config.slots import Choice, ComponentSlot, Level, LossKeys
from mimetic.config.yaml import read_yaml
from mimetic.errors import ConfigError, Fault
from mimetic.hookspecs import Kind
from mimetic.plugins import registry
from mimetic.plugins.wording import seen

_OPENING, _CLOSING, _QUOTES = "[{(", "]})", "\"'"


def parse_value(text: str, key: str = "") -> Any:
    """Read a value as YAML, or as bare text when it is none; ``key`` is its name in messages.

    Raises:
        ConfigError: it starts like a list, a mapping or a quoted text, and is none; or it holds a tag or a date.
    """
    try:
        value, _ = read_yaml(text, COMMAND_LINE.source)
    except ConfigError as error:
        if text.strip()[:1] not in (*_OPENING, *_QUOTES) and is_text(text):
            return CommandLineText(text)
        reason = "; ".join(dict.fromkeys(fault.message for fault in error.faults))
        raise ConfigError(Fault(f"{reason}, seen {seen(text)}", key, COMMAND_LINE.source)) from None
    return _marked(value)


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name:key=value,...`` into name and options. Commas inside brackets or quotes do not split.

    Raises:
        ConfigError: an option is no ``key=value``, or comes twice.
    """
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for part in _split(rest) if rest else ():
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key:
            raise _fault(f"expected key=value after {name!r}, seen {seen(part)} (form: name:key=value,key=value)")
        if key in options:
            raise _fault(f"{key!r} is given twice in {seen(text)}")
        options[key] = parse_value(value, key)
    if not name.strip():
        raise _fault(f"expected name or name:key=value,..., seen {seen(text)}")
    return name.strip(), options


def parse_choice(text: str, kind: Kind, *, levels: tuple[Level, ...] = ()) -> Choice:
    """Turn a SPEC, or a path whose ending belongs to a component, into a validated component of ``kind``.

    Relative paths start from the working folder.

    Raises:
        ConfigError: with every fault; UnknownComponentError when no plugin offers it.
    """
    slot: Any = Annotated[Choice, ComponentSlot(kind, levels=levels, keys=LossKeys if kind == "loss" else None)]
    by_ending = _by_ending(text, kind)
    name, options = (by_ending, {"path": CommandLineText(text)}) if by_ending else parse_spec(text)
    document = Document({"name": name, **options}, COMMAND_LINE.source)
    try:
        choice: Choice = TypeAdapter(slot).validate_python(document.value, context={"base_dir": Path.cwd()})
    except ValidationError as error:
        raise_faults(error, document)
    return choice


def _by_ending(text: str, kind: Kind) -> str | None:
    """Return the component that a bare path stands for; a component's own name comes first."""
    offered = registry().components(kind)
    if any(text.partition(":")[0] == component.name for component in offered):
        return None
    endings = {
        suffix: component.name for component in offered for suffix in getattr(component.entry, "suffixes", ()) if suffix
    }
    longest = max((suffix for suffix in endings if text.endswith(suffix)), key=len, default=None)
    return endings[longest] if longest else None


def _split(text: str) -> Iterator[str]:
    """Split at commas that stand outside of brackets and quotes."""
    depth, quote, start = 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES and text[start:index].rstrip()[-1:] in ("=", *_OPENING, ",", ":"):
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth = max(0, depth - 1)
        elif character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def _marked(value: object) -> object:
    """Mark every text as typed on the command line, so that paths know where they start."""
    if isinstance(value, str):
        return CommandLineText(value)
    if isinstance(value, Mapping):
        return {key: _marked(item) for key, item in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list) else value


def _fault(message: str) -> ConfigError:
    return ConfigError(Fault(message, source=COMMAND_LINE.source))
