"""How is a suite tried without a test runner? Every fact by itself, with a new instance and an empty folder."""

import inspect
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from unittest import SkipTest

from mimetic.testing.contracts.component import Contract

PREFIX = "test_"


class Verdict(StrEnum):
    """What became of a fact."""

    HOLDS = "holds"
    FAILS = "fails"
    SKIPPED = "skipped"  # it is not about this component


@dataclass(frozen=True, slots=True)
class Outcome:
    """One fact, tried on one component."""

    fact: str  # without its prefix
    verdict: Verdict
    told: str = ""  # why it fails, or was skipped
    error: BaseException | None = None  # what it failed with


def facts_of(suite: type[Contract]) -> list[str]:
    """Return the names of a suite's facts, those of its bases first, in the order in which they stand."""
    names = (name for base in reversed(suite.__mro__) for name in vars(base) if name.startswith(PREFIX))
    return [name.removeprefix(PREFIX) for name in dict.fromkeys(names)]


def outcomes(suite: type[Contract]) -> Iterator[Outcome]:
    """Try every fact of a suite."""
    for fact in facts_of(suite):
        yield outcome(suite, fact)


def outcome(suite: type[Contract], fact: str) -> Outcome:
    """Try one fact of a suite."""
    trial = getattr(suite(), PREFIX + fact)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        wanted = {"tmp_path": Path(folder)} if "tmp_path" in inspect.signature(trial).parameters else {}
        try:
            trial(**wanted)
        except SkipTest as skipped:
            return Outcome(fact, Verdict.SKIPPED, str(skipped))
        except AssertionError as failure:
            return Outcome(fact, Verdict.FAILS, str(failure), failure)
        except Exception as error:
            return Outcome(fact, Verdict.FAILS, f"raised {type(error).__name__}: {error}", error)
    return Outcome(fact, Verdict.HOLDS)
