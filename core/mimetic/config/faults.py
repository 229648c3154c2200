"""pydantic's errors as faults of a run file: each under its key, where it was written, in plain words."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NoReturn

from pydantic import ValidationError

from mimetic.config.document import Document, KeyPath, has_part
from mimetic.errors import ConfigError, Fault, MimeticError, UnknownComponentError
from mimetic.plugins.wording import expectation, seen, sentence


def faults_of(error: ValidationError, document: Document) -> list[Fault]:
    """Return every fault that pydantic found in a document, in the order in which they were written."""
    details = [(_written_path(detail, document.value), detail) for detail in _details(error)]
    details.sort(key=lambda pair: _order(pair[0], document))
    groups = groupby(details, key=itemgetter(0))
    return [
        document.fault(path, message)
        for path, group in groups
        for message in _messages([detail for _, detail in group])
    ]


def raise_faults(error: ValidationError | None, document: Document, others: Sequence[Fault] = ()) -> NoReturn:
    """Raise all faults as one error. A lone one that a plugin caused keeps its class.

    Raises:
        ConfigError: always, or the plugin's own error with the place in front.
    """
    faults = [*others, *(faults_of(error, document) if error else ())]
    causes = [(detail.get("ctx") or {}).get("cause") for detail in _details(error)] if error else []
    if len(faults) == 1 and len(causes) == 1 and isinstance(causes[0], MimeticError):
        cause = causes[0]
        if not isinstance(cause, ConfigError):
            raise type(cause)(str(faults[0])) from cause
    if causes and not others and all(isinstance(cause, UnknownComponentError) for cause in causes):
        raise UnknownComponentError(faults) from None
    raise ConfigError(faults) from None


def _written_path(detail: Mapping[str, Any], value: object) -> KeyPath:
    """Drop from pydantic's location what is no key of the file: the names of a union's members."""
    path: list[str | int] = []
    parts = detail["loc"]
    for index, part in enumerate(parts):
        if has_part(value, part):
            value = value[part]  # type: ignore[index]  # it has it
        elif index == 0:
            return tuple(parts)  # a default is at fault
        elif index < len(parts) - 1 or detail["type"] not in ("missing", "unknown_key"):
            continue
        path.append(part)
    return tuple(path)


def _details(error: ValidationError) -> list[Mapping[str, Any]]:
    """List pydantic's errors, without those that follow from others: it leaves wrong items out of a list's length."""
    return [
        detail
        for detail in error.errors(include_url=False)
        if not (detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"])
    ]


def _order(path: KeyPath, document: Document) -> tuple[object, ...]:
    place = document.place(path)
    return (place.line is None, place.line or 0, place.column or 0, tuple(str(part) for part in path))


def _messages(details: list[Mapping[str, Any]]) -> list[str]:
    """Merge what the members of a union expected of one value into one sentence."""
    expected = [expectation(detail) for detail in details]
    if len(details) > 1 and all(expected):
        wanted = " or ".join(dict.fromkeys(text for text in expected if text))
        return [f"expected {wanted}, seen {seen(details[0]['input'])}"]
    return list(dict.fromkeys(sentence(detail) for detail in details))
