"""YAML 1.2 as plain values with positions: no tags, no dates, no duplicate keys, nothing that could run.

ruamel.yaml reads the text into events; what a plain scalar means is decided here, by the core schema of YAML 1.2
(https://yaml.org/spec/1.2.2/#103-core-schema). So ``1e-4`` is a number everywhere, and ``no`` is text.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mimetic.config.document import KeyPath, Place, key_text
from mimetic.errors import ConfigError, Fault

_NULL = ("", "~", "null", "Null", "NULL")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = (".nan", ".NaN", ".NAN")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")

_MOST_DIGITS = 100
_DEEPEST = 100
_MOST_VALUES = 100_000


def plain_scalar(text: str) -> object:
    """Return what an unquoted scalar means.

    Raises:
        ValueError: for a date, and for a number beyond reason; the message is a sentence for the user.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if len(text) > _MOST_DIGITS and (_INT.fullmatch(text) or _OCTAL_OR_HEX.fullmatch(text) or _FLOAT.fullmatch(text)):
        raise ValueError(f"a number of {len(text)} characters is too long, at most {_MOST_DIGITS} are read")
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL_OR_HEX.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if math.isinf(number):
            raise ValueError(f"{text} is too large for a number of 64 bits (infinity is written .inf)")
        return number
    if infinite := _INFINITE.fullmatch(text):
        return -math.inf if infinite[1] == "-" else math.inf
    if text in _NAN:
        return math.nan
    if _DATE.fullmatch(text):
        raise ValueError(f"dates are not read: put quotes around {text!r} if text is meant")
    return text


def is_plain_text(text: str) -> bool:
    """Say whether an unquoted scalar would be read as text."""
    try:
        return isinstance(plain_scalar(text), str)
    except ValueError:
        return False


# --- from events to nodes ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Node:
    mark: Any  # ruamel's: .line and .column, counted from 0
    kind: str  # "scalar", "list", "mapping"
    text: str = ""
    quoted: bool = False
    tag: str | None = None
    items: list["_Node"] = field(default_factory=list)  # a mapping's are key, value, key, value, ...


def read_yaml(text: str, source: str) -> tuple[object, dict[KeyPath, Place]]:
    """Return the plain value of a text with one document, and where every key stands.

    Raises:
        ConfigError: with every fault that could be found, each with line and column.
    """
    values = _Values(source)
    root = _compose(text, source)
    value = values.build(root, ()) if root is not None else None
    if values.faults:
        raise ConfigError(values.faults)
    return value, values.places


def _compose(text: str, source: str) -> _Node | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.reader import ReaderError

    try:
        return _Composer(source, iter(YAML(typ="safe", pure=True).parse(text))).document()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigError(_fault(_syntax(error), source, mark)) from None
    except ReaderError as error:
        before = text[: error.position]
        message = f"the character U+{error.character:04X} cannot stand in a text file"
        column = len(before) - (before.rfind("\n") + 1) + 1
        raise ConfigError(Fault(message, "", source, before.count("\n") + 1, column)) from None


def _syntax(error: Any) -> str:
    problem = str(error.problem)
    if "'\\t'" in problem:
        return "not valid YAML: a tab cannot indent, use spaces"
    if problem == "mapping values are not allowed here":
        return "not valid YAML: a second ': ' in one line; put quotes around a text that holds one, or start a new line"
    context = f" {error.context}" if error.context else ""
    return f"not valid YAML:{context}{',' if context else ''} {problem}"


class _Composer:
    """Puts one document's events together; aliases become the node that they name."""

    def __init__(self, source: str, events: Iterator[Any]) -> None:
        self._source, self._events, self._anchors = source, events, dict[str, _Node | None]()

    def document(self) -> _Node | None:
        from ruamel.yaml.events import DocumentEndEvent, DocumentStartEvent, StreamEndEvent

        root: _Node | None = None
        n_documents = 0
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                n_documents += 1
                if n_documents > 1:
                    raise ConfigError(_fault("a second document: a run file holds one", self._source, event.start_mark))
                root = self._node(next(self._events), 0)
            elif isinstance(event, StreamEndEvent):
                break
            else:
                assert not isinstance(event, DocumentEndEvent) or n_documents
        return root

    def _node(self, event: Any, depth: int) -> _Node:
        from ruamel.yaml.events import AliasEvent, MappingStartEvent, ScalarEvent

        if depth > _DEEPEST:
            raise ConfigError(_fault(f"nested more than {_DEEPEST} levels deep", self._source, event.start_mark))
        if isinstance(event, AliasEvent):
            return self._alias(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if isinstance(event, ScalarEvent):
            node = _Node(event.start_mark, "scalar", event.value, event.style is not None, _tag(event))
        else:
            kind = "mapping" if isinstance(event, MappingStartEvent) else "list"
            node = _Node(event.start_mark, kind, tag=_tag(event), items=self._items(depth))
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _items(self, depth: int) -> list[_Node]:
        from ruamel.yaml.events import MappingEndEvent, SequenceEndEvent

        items = []
        while not isinstance(event := next(self._events), MappingEndEvent | SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return items

    def _alias(self, event: Any) -> _Node:
        if event.anchor not in self._anchors:
            raise ConfigError(_fault(f"no anchor is called &{event.anchor}", self._source, event.start_mark))
        node = self._anchors[event.anchor]
        if node is None:
            raise ConfigError(_fault(f"&{event.anchor} contains itself", self._source, event.start_mark))
        return node


def _tag(event: Any) -> str | None:
    return None if event.tag is None else str(event.tag)


def _fault(message: str, source: str, mark: Any, path: KeyPath = ()) -> Fault:
    return Fault(message, key_text(path), source, mark and mark.line + 1, mark and mark.column + 1)


# --- from nodes to plain values ---------------------------------------------------------------------------------


class _Values:
    """Builds plain values and notes places and faults on the way."""

    def __init__(self, source: str) -> None:
        self.source, self.places, self.faults = source, dict[KeyPath, Place](), list[Fault]()
        self._n_values = 0

    def build(self, node: _Node, path: KeyPath) -> object:
        self._n_values += 1
        if self._n_values > _MOST_VALUES:
            raise ConfigError(_fault(f"more than {_MOST_VALUES} values, aliases included", self.source, node.mark))
        if node.tag is not None:
            self._complain(f"tags such as {node.tag} are not read", node, path)
            return None
        if node.kind == "scalar":
            return self._scalar(node, path)
        return self._list(node, path) if node.kind == "list" else self._mapping(node, path)

    def _scalar(self, node: _Node, path: KeyPath) -> object:
        if any("\ud800" <= character <= "\udfff" for character in node.text):
            self._complain("half of a surrogate pair is no text", node, path)
            return None
        try:
            return node.text if node.quoted else plain_scalar(node.text)
        except ValueError as error:
            self._complain(str(error), node, path)
            return None

    def _list(self, node: _Node, path: KeyPath) -> list[object]:
        values = []
        for index, item in enumerate(node.items):
            self.places[(*path, index)] = self._place(item)
            values.append(self.build(item, (*path, index)))
        return values

    def _mapping(self, node: _Node, path: KeyPath) -> dict[str, object]:
        written: dict[str, tuple[_Node, _Node]] = {}
        merged: list[_Node] = []
        for key, value in _pairs(node):
            if key.kind == "scalar" and key.text == "<<" and not key.quoted:
                merged += value.items if value.kind == "list" else [value]
            elif (name := self._key(key, path)) is not None:
                if name in written:
                    first = written[name][0].mark.line + 1
                    self._complain(f"written twice, first in line {first}", key, (*path, name))
                else:
                    written[name] = key, value
        for source in merged:
            self._merge(source, written, path)
        values = {}
        for name, (key, value) in written.items():
            self.places[(*path, name)] = self._place(key)
            values[name] = self.build(value, (*path, name))
        return values

    def _merge(self, source: _Node, written: dict[str, tuple[_Node, _Node]], path: KeyPath) -> None:
        if source.kind != "mapping":
            self._complain("'<<' takes the keys of a mapping, or of several", source, path)
            return
        for key, value in _pairs(source):
            if (name := self._key(key, path)) is not None:
                written.setdefault(name, (key, value))

    def _key(self, key: _Node, path: KeyPath) -> str | None:
        """Return the text of a key; None after a complaint."""
        if key.kind != "scalar" or key.tag is not None:
            self._complain("a key is plain text", key, path)
            return None
        name = self._scalar(key, path)
        if isinstance(name, str):
            return str(name)
        if name is not None or key.text in _NULL:
            self._complain(f"the key {key.text or 'null'} is no text: put quotes around it", key, path)
        return None

    def _complain(self, message: str, node: _Node, path: KeyPath) -> None:
        self.faults.append(_fault(message, self.source, node.mark, path))

    def _place(self, node: _Node) -> Place:
        return Place(self.source, node.mark.line + 1, node.mark.column + 1)


def _pairs(mapping: _Node) -> Iterator[tuple[_Node, _Node]]:
    return zip(mapping.items[::2], mapping.items[1::2], strict=True)
