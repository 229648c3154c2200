"""A run file's text, YAML or TOML, as a Document."""

import datetime
import re
import tomllib
from pathlib import Path

from mimetic.config.document import Document, KeyPath, Place, leaves
from mimetic.config.yaml import read_yaml
from mimetic.errors import ConfigError, Fault, suggestion

_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_document(path: Path, source: str) -> Document:
    """Read a run file. ``source`` is its name in messages; ``.toml`` is TOML, all else is YAML.

    Raises:
        ConfigError: it cannot be read, or is not one mapping of keys.
    """
    return parse_document(_text(path, source), source, toml=path.suffix.lower() == ".toml")


def parse_document(text: str, source: str, *, toml: bool = False) -> Document:
    """Parse the text of a run file; ``source`` is its name in messages.

    Raises:
        ConfigError: it is not one mapping of keys.
    """
    value, places = _read_toml(text, source) if toml else read_yaml(text, source)
    if value is None:
        raise ConfigError(Fault("nothing is in it: a run needs `demonstrations` and an `algorithm`", source=source))
    if not isinstance(value, dict):
        seen = "a list" if isinstance(value, list) else repr(value)
        raise ConfigError(Fault(f"expected keys and values (`seed: 0`), seen {seen}", source=source))
    return Document(value, source, places)


def _text(path: Path, source: str) -> str:
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        hint = f"; did you mean {source.rstrip('/')}/config.yaml?" if (path / "config.yaml").is_file() else ""
        raise ConfigError(Fault(f"this is a folder, a run file is expected{hint}", source=source)) from None
    except FileNotFoundError:
        raise ConfigError(Fault(f"no such file{_near(path)}", source=source)) from None
    except (OSError, ValueError) as error:
        raise ConfigError(Fault(f"it cannot be read: {error}", source=source)) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"the byte 0x{raw[error.start]:02x} is no UTF-8: save the file as UTF-8"
        raise ConfigError(Fault(message, "", source, line, column)) from None


def _near(path: Path) -> str:
    try:
        return suggestion(path.name, [other.name for other in path.parent.iterdir() if other.is_file()])
    except OSError:
        return f": there is no folder {str(path.parent)!r}"


def _read_toml(text: str, source: str) -> tuple[object, dict[KeyPath, Place]]:
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place and place[1] else (None, None)
        message = f"not valid TOML: {_TOML_PLACE.sub('', str(error))}"
        raise ConfigError(Fault(message, "", source, line, column)) from None
    document = Document(value, source)
    dates = [
        document.fault(path, f"dates are not read: put quotes around {leaf} if text is meant")
        for path, leaf in leaves(value)
        if isinstance(leaf, datetime.date | datetime.time)
    ]
    if dates:
        raise ConfigError(dates)
    return value or None, {}
