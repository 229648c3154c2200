"""What does a pickle say? It is read as data: nothing is imported, nothing is called, no object of its is made.

A pickle is a program for a small machine with a stack. The part of it that moves plain data is followed here; where
it names a class, a name is left, and where it would call something, a record of what and with what.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mimetic.errors import DataError

MAX_BYTES = 64 * 2**20
"""Of a whole pickle: statistics of 84x84x4 images take a hundredth of it."""

MAX_OPCODES = 1_000_000
"""Statistics have a few hundred; a hostile file can let each make a new object."""


@dataclass(frozen=True, slots=True)
class Name:
    """A class or function that the pickle names; it was never looked for."""

    module: str
    attribute: str

    def __str__(self) -> str:
        """``module.attribute``, as a terminal can show it: somebody may have made it long or strange."""
        text = f"{self.module}.{self.attribute}"
        text = text if len(text) <= 100 else f"{text[:100]}..."
        return text if text.isprintable() else ascii(text)


@dataclass(slots=True, eq=False)
class Call:
    """A call that the pickle would have made, and the state that it would have set on the result."""

    function: object
    arguments: object
    state: object = None


def read_pickle(data: bytes) -> object:
    """Return what a pickle says: numbers, text, bytes, lists, tuples, mappings with text keys, names and calls.

    Raises:
        DataError: it is cut off or no pickle, too large, or points to objects outside of itself.
    """
    if len(data) > MAX_BYTES:
        raise DataError(f"a pickle of {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    machine = _Machine(len(data))
    try:
        for count, (opcode, argument, position) in enumerate(pickletools.genops(data)):
            if count >= MAX_OPCODES:
                raise DataError(f"a pickle of more than {MAX_OPCODES:,} instructions; statistics have a few hundred")
            machine.follow(opcode.name, argument, position)
        return machine.result()
    except (ValueError, TypeError, LookupError, OverflowError, struct.error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"no complete pickle ({error})") from error


class _Machine:
    """The stack of a pickle, the marks on it, and what it keeps for later."""

    def __init__(self, n_bytes: int) -> None:
        self._n_bytes = n_bytes
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stacks under the marks
        self._memo: dict[int, Any] = {}

    def follow(self, opcode: str, argument: Any, position: int | None) -> None:
        """Do what one instruction says, as far as it moves data."""
        if opcode in _PUSH:
            self._stack.append(argument)
        elif opcode in _NEW:
            self._stack.append(_NEW[opcode]())
        elif opcode in _ACTIONS:
            _ACTIONS[opcode](self, argument)
        elif opcode not in _NOTHING:
            raise DataError(f"instruction {opcode} at byte {position}, which points to an object outside of the pickle")

    def result(self) -> object:
        """Return what is on top at the end."""
        return self._stack.pop()

    # --- marks, and what is kept ------------------------------------------------------------------------------

    def mark(self, _: object) -> None:
        self._below.append(self._stack)
        self._stack = []

    def since_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._below.pop()
        return items

    def pop(self, _: object) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self.since_mark()

    def pop_mark(self, _: object) -> None:
        self.since_mark()

    def duplicate(self, _: object) -> None:
        self._stack.append(self._stack[-1])

    def put(self, index: int) -> None:
        if not 0 <= index < self._n_bytes:  # each takes an instruction, so there are never more than bytes
            raise DataError(f"a memo index of {index:,} in a pickle of {self._n_bytes:,} bytes")
        self._memo[index] = self._stack[-1]

    def memoize(self, _: object) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    # --- containers -------------------------------------------------------------------------------------------

    def make_list(self, _: object) -> None:
        items = self.since_mark()
        self._stack.append(items)

    def make_tuple(self, _: object) -> None:
        items = tuple(self.since_mark())
        self._stack.append(items)

    def make_short_tuple(self, size: int) -> None:
        items = tuple(self._stack[-size:])
        if len(items) < size:
            raise DataError("fewer values on its stack than it takes from there")
        self._stack[-size:] = [items]

    def make_dict(self, _: object) -> None:
        items = self.since_mark()
        self._stack.append(_with_text_keys({}, items))

    def append(self, _: object) -> None:
        item = self._stack.pop()
        _extend(self._stack[-1], [item])

    def extend(self, _: object) -> None:
        items = self.since_mark()
        _extend(self._stack[-1], items)

    def set_item(self, _: object) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        _set_items(self._stack[-1], [key, value])

    def set_items(self, _: object) -> None:
        items = self.since_mark()
        _set_items(self._stack[-1], items)

    # --- what it would call -----------------------------------------------------------------------------------

    def name(self, argument: str) -> None:
        module, _, attribute = argument.partition(" ")
        self._stack.append(Name(module, attribute))

    def name_from_stack(self, _: object) -> None:
        attribute, module = self._stack.pop(), self._stack.pop()
        if not isinstance(module, str) or not isinstance(attribute, str):
            raise DataError("a class whose name is no text")
        self._stack.append(Name(module, attribute))

    def call(self, _: object) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        self._stack.append(Call(function, arguments))

    def call_with_keywords(self, _: object) -> None:
        keywords, arguments, function = self._stack.pop(), self._stack.pop(), self._stack.pop()
        self._stack.append(Call(function, (arguments, keywords)))

    def call_named(self, argument: str) -> None:
        arguments = tuple(self.since_mark())
        self.name(argument)
        self._stack.append(Call(self._stack.pop(), arguments))

    def call_since_mark(self, _: object) -> None:
        function, *arguments = self.since_mark()
        self._stack.append(Call(function, tuple(arguments)))

    def set_state(self, _: object) -> None:
        state = self._stack.pop()
        if isinstance(self._stack[-1], Call):
            self._stack[-1].state = state


def _extend(target: object, items: list[Any]) -> None:
    """Append to a list; what would be appended to another object is dropped."""
    if isinstance(target, list):
        target.extend(items)


def _set_items(target: object, items: list[Any]) -> None:
    if isinstance(target, dict):
        _with_text_keys(target, items)


def _with_text_keys(target: dict[str, Any], items: list[Any]) -> dict[str, Any]:
    """Set the pairs whose key is text: to hash any other key could already be made costly."""
    pairs = zip(items[::2], items[1::2], strict=True)
    target.update({key: value for key, value in pairs if isinstance(key, str)})
    return target


_NUMBERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT")
_TEXTS = ("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
_BYTES = ("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8")
_PUSH = frozenset((*_NUMBERS, *_TEXTS, *_BYTES))
_NOTHING = frozenset(("PROTO", "FRAME", "STOP"))
_NEW: Mapping[str, Callable[[], object]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
}
_ACTIONS: Mapping[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": _Machine.pop_mark,
    "DUP": _Machine.duplicate,
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Machine.put),
    "MEMOIZE": _Machine.memoize,
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.get),
    **dict.fromkeys(("LIST", "FROZENSET"), _Machine.make_list),
    "TUPLE": _Machine.make_tuple,
    "TUPLE1": lambda machine, _: machine.make_short_tuple(1),
    "TUPLE2": lambda machine, _: machine.make_short_tuple(2),
    "TUPLE3": lambda machine, _: machine.make_short_tuple(3),
    "DICT": _Machine.make_dict,
    "APPEND": _Machine.append,
    **dict.fromkeys(("APPENDS", "ADDITEMS"), _Machine.extend),
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "GLOBAL": _Machine.name,
    "STACK_GLOBAL": _Machine.name_from_stack,
    **dict.fromkeys(("REDUCE", "NEWOBJ"), _Machine.call),
    "NEWOBJ_EX": _Machine.call_with_keywords,
    "INST": _Machine.call_named,
    "OBJ": _Machine.call_since_mark,
    "BUILD": _Machine.set_state,
}
