"""Components of every kind that are right, and the same ones with one thing wrong: what contracts are tested with.

Each ``Wrong`` names the fact that it must fail, and what must be said about it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from mimetic.config import ComponentConfig
from mimetic.hookspecs import (
    AlgorithmEntry,
    CommandEntry,
    DataSourceEntry,
    Entry,
    LoggerEntry,
    LossEntry,
    PolicyEntry,
    RewardEntry,
    WrapperEntry,
)

NAME = "wrong.component"


@dataclass(frozen=True)
class Wrong:
    """A component with one thing wrong, the fact that it fails, and a pattern of what is said."""

    fact: str
    factory: Callable[..., Any]
    told: str
    config: type[ComponentConfig] | None = None

    @property
    def id(self) -> str:
        return f"{self.fact}: {self.factory.__name__}"


class Plain(ComponentConfig):
    """No settings."""


def entry_for(
    kind: str, factory: Callable[..., Any], config: type[ComponentConfig] | None = None, level: str = ""
) -> Entry:
    """Return an entry that offers a factory of this module."""
    target = f"{factory.__module__}:{factory.__name__}"
    if kind == "command":
        return CommandEntry(name=NAME, factory=target, summary="Wrong")
    given: dict[str, Any] = {"level": level} if level else {}
    if kind == "policy":
        given["trainable"] = not factory.__name__.startswith("acting")
    config = config or Plain
    given["config"] = f"{config.__module__}:{config.__name__}"
    entry: Entry = ENTRIES[kind](name=NAME, factory=target, summary="Wrong", **given)
    return entry


ENTRIES: Mapping[str, Any] = {
    "algorithm": AlgorithmEntry,
    "policy": PolicyEntry,
    "loss": LossEntry,
    "data-source": DataSourceEntry,
    "wrapper": WrapperEntry,
    "logger": LoggerEntry,
    "reward": RewardEntry,
}


class LetsThrough(ComponentConfig):
    """Drops what it does not know."""

    size: int = 1
    """How large."""

    @model_validator(mode="before")
    @classmethod
    def _drop(cls, data: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in data.items() if key in cls.model_fields}


def _length(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("expected text")
    return len(value)


class OneWay(ComponentConfig):
    """Cannot be written down."""

    size: Annotated[int, BeforeValidator(_length)] = 1
    """How long a text is."""


class Silent(ComponentConfig):
    """Says nothing about its setting."""

    size: int = 1


def _count() -> Iterator[int]:
    number = 1
    while True:
        yield number
        number += 1


COUNTER = _count()
