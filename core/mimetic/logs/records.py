"""What is a record, and what must a logger be able to do with one?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

Value = float | int | str | None

RESERVED_KEYS = ("step", "epoch")
"""Columns that every record has anyway: values cannot take these names."""


@dataclass(frozen=True, slots=True)
class Record:
    """What was measured at one step of training."""

    step: int
    epoch: int | None  # None: no epoch was going on, e.g. before training
    values: Mapping[str, Value]


class Logger(Protocol):
    """A place that records go to. What a logger component's factory gives."""

    def write(self, record: Record) -> None:
        """Take one record. NaN, infinities, None, text and keys never seen before must be survived."""

    def close(self) -> None:
        """Finish every file. Called once; nothing is written afterwards."""


@runtime_checkable
class MessageLogger(Protocol):
    """A logger that takes lines of text as well, such as a console."""

    def write_message(self, message: str) -> None:
        """Take one message, without a line end."""


def plain_value(key: str, value: object) -> Value:
    """Return ``value`` as a plain Python number, text or None; 0-d arrays and tensors are read out.

    Raises:
        TypeError: the value is none of these.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value)  # numpy's float64 is a float that prints otherwise
    try:
        number = value.item()  # type: ignore[attr-defined]  # numpy scalars, 0-d arrays and tensors have it
    except (AttributeError, ValueError, RuntimeError):
        number = None
    if isinstance(number, (bool, int, float, str)):
        return number
    raise TypeError(
        f"record({key!r}, ...): a value must be a number, text or None, or an array or tensor of one number; "
        f"got {type(value).__name__}"
    )
