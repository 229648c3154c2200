"""Which plugins are installed? Read from metadata alone: nothing is imported here.

The standard library's ``entry_points()`` answers for one copy of each distribution and drops the others without
a word, and one unreadable file ends it. This loop reads distribution by distribution, so that each is judged by
itself and a hidden copy is named.
"""

import importlib.metadata
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint
from typing import Any

from mimetic.hookspecs import PROJECT
from mimetic.plugins.reasons import describe

GROUP = PROJECT
UNKNOWN = "unknown"
_OBJECT = re.compile(r"\w+(\.\w+)*(\s*:\s*\w+(\.\w+)*)?(\s*\[.*\])?")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One entry point that may become a plugin."""

    name: str
    value: str  # "module" or "module:attribute"
    distribution: str
    version: str
    load: Callable[[], object]
    fault: str = ""  # why it cannot even be tried
    hidden_by: str = ""  # the copy of the same distribution that hides this one

    @property
    def module(self) -> str:
        """The module that the entry point names."""
        return self.value.partition(":")[0].strip()

    @property
    def rank(self) -> tuple[bool, bool, str, str]:
        """Who wins a name: the core's own distribution, else the alphabetically first; never the path's order."""
        name = normalised(self.distribution)
        return (bool(self.hidden_by), name != PROJECT, name, self.value)


def installed_candidates(path: Sequence[str] | None = None) -> list[Candidate]:
    """Return every entry point of the group, from every distribution on ``path`` (default: ``sys.path``)."""
    where: dict[str, Any] = {} if path is None else {"path": list(path)}
    offering: dict[tuple[str, str], list[Distribution]] = {}
    for distribution in importlib.metadata.distributions(**where):
        if f"[{GROUP}]" in _entry_point_text(distribution):
            offering.setdefault(_key(distribution), []).append(distribution)
    return [
        candidate
        for (name, _), copies in offering.items()
        for distribution, hidden_by in _judged(copies, list(importlib.metadata.distributions(name=name, **where)))
        for candidate in _candidates(distribution, hidden_by)
    ]


def normalised(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _judged(offering: Sequence[Distribution], copies: Sequence[Distribution]) -> Iterator[tuple[Distribution, str]]:
    """Pair each copy of one distribution that offers plugins with the copy that hides it, if one does."""
    chosen = _chosen(copies or offering)
    different = {
        _fingerprint(distribution): distribution for distribution in reversed(offering)
    }  # a link shows one twice
    for fingerprint, distribution in different.items():
        is_chosen = fingerprint == _fingerprint(chosen)
        yield distribution, "" if is_chosen else f"{_field(chosen, 'Name')} {_version(chosen)} in {_folder(chosen)}"


def _chosen(copies: Sequence[Distribution]) -> Distribution:
    """Return the copy that an import finds first; of several in one folder, the highest version."""
    first = [copy for copy in copies if _folder(copy) == _folder(copies[0])]
    return first[0] if len(first) == 1 else max(first, key=_version_order)


def _key(distribution: Distribution) -> tuple[str, str]:
    """Return what the copies of one distribution have in common; one without a name is a copy of nothing."""
    name = _field(distribution, "Name")
    return (normalised(name), _folder(distribution) + _entry_point_text(distribution) if name == UNKNOWN else "")


def _candidates(distribution: Distribution, hidden_by: str) -> list[Candidate]:
    name, version = _field(distribution, "Name"), _version(distribution)
    try:
        points = [point for point in distribution.entry_points if point.group == GROUP]
    except Exception as error:
        fault = f"its entry_points.txt cannot be read: {describe(error)}"
        return [Candidate(name, "(unreadable)", name, version, _nothing, fault, hidden_by)]
    return [Candidate(p.name, p.value, name, version, p.load, _fault(p), hidden_by) for p in points]


def _fault(point: EntryPoint) -> str:
    form = "is neither 'module' nor 'module:attribute'"
    return "" if _OBJECT.fullmatch(point.value) else f"its entry point {point.value!r} {form}"


def _nothing() -> None:
    """Load nothing: stands in for an entry point that could not be read."""


def _entry_point_text(distribution: Distribution) -> str:
    try:
        return distribution.read_text("entry_points.txt") or ""
    except Exception:  # whatever is wrong with somebody's metadata, it offers no plugin that could be read
        return ""


def _field(distribution: Distribution, name: str) -> str:
    """Return one field of the metadata, or ``unknown`` when the file is gone or has none."""
    try:
        return distribution.metadata[name] or UNKNOWN
    except Exception:  # the standard library raises differently from version to version
        return UNKNOWN


def _version(distribution: Distribution) -> str:
    return _field(distribution, "Version")


def _folder(distribution: Distribution) -> str:
    return str(distribution.locate_file(""))


def _fingerprint(distribution: Distribution) -> tuple[str, str]:
    return (_version(distribution), _entry_point_text(distribution))


def _version_order(distribution: Distribution) -> tuple[bool, Any]:
    from packaging.version import InvalidVersion, Version  # only when one folder holds several copies

    try:
        return (True, Version(_version(distribution)))
    except InvalidVersion:
        return (False, _version(distribution))
