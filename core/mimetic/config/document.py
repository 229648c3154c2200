"""What was written, and where: the plain values of a run file, with the place of every key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mimetic.errors import Fault

KeyPath = tuple[str | int, ...]
"""The keys and list positions that lead to a value: ``("losses", 0, "name")``."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written."""

    source: str  # the file as the user named it, or "command line"
    line: int | None = None  # counted from 1
    column: int | None = None  # counted from 1

    def __str__(self) -> str:
        """``runs/a.yaml:3``, or the source alone."""
        return self.source if self.line is None else f"{self.source}:{self.line}"


COMMAND_LINE = Place("command line")
DEFAULT = Place("default")


class CommandLineText(str):
    """Text that was typed on the command line: where it is a relative path, it starts from the working folder."""

    __slots__ = ()


@dataclass(slots=True)
class Document:
    """The top-level mapping of a run file. Overrides change it in place."""

    value: dict[str, object]
    source: str = ""
    places: dict[KeyPath, Place] = field(default_factory=dict)

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key, or of the nearest key above it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return Place(self.source)

    def fault(self, path: KeyPath, message: str) -> Fault:
        """Say what is wrong with the value of a key, and where it was written."""
        place = self.place(path)
        if place == DEFAULT:
            place = Place(self.source)
        return Fault(message, key_text(path), place.source, place.line, place.column)

    def move(self, path: KeyPath, place: Place) -> None:
        """Note that a key and all that lies under it now come from ``place``."""
        for known in [known for known in self.places if known[: len(path)] == path]:
            del self.places[known]
        self.places[path] = place

    def indent(self, path: KeyPath) -> None:
        """Note that the value of a key became the only item of a list."""
        below = [known for known in self.places if known[: len(path)] == path and len(known) > len(path)]
        moved = {(*path, 0, *known[len(path) :]): self.places.pop(known) for known in below}
        self.places |= moved


def key_text(path: KeyPath) -> str:
    """``losses[0].name``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def has_part(value: object, part: str | int) -> bool:
    """Say whether ``value`` is a mapping with this key, or a list with this position."""
    if isinstance(value, Mapping):
        return part in value
    return isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)


def leaves(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Yield what has nothing below it: scalars, and empty lists and mappings."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list | tuple) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value
