"""The page about testing says what the suites look at: every fact, and every attribute that can be set."""

import re
from pathlib import Path

import pytest

from mimetic import testing
from mimetic.testing.contracts.component import ComponentContract
from mimetic.testing.contracts.suite import facts_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "testing-plugins.md").read_text(encoding="utf-8")
SUITES = sorted(name for name in testing.__all__ if name.endswith("Contract"))


def section(title: str) -> str:
    [found] = [part for part in re.split(r"^##+ ", PAGE, flags=re.MULTILINE) if title in part.splitlines()[0]]
    return found


def told(text: str) -> list[str]:
    """Return the facts that a section lists, as methods are called."""
    facts = re.findall(r"^\* (.+)$", text, re.MULTILINE)
    return [fact.replace("'", "").replace(" ", "_").lower() for fact in facts]


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_described_with_its_facts(name: str) -> None:
    shared = facts_of(ComponentContract)

    assert told(section(f"`{name}`")) == [fact for fact in facts_of(getattr(testing, name)) if fact not in shared]


def test_the_facts_that_all_share_are_described() -> None:
    assert told(section("Contracts")) == facts_of(ComponentContract)


@pytest.mark.parametrize("name", SUITES)
def test_an_attribute_that_is_described_exists(name: str) -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", section(f"`{name}`"), re.MULTILINE)
    attributes = [attribute for row in rows for attribute in re.findall(r"`(\w+)", row)]

    assert [attribute for attribute in attributes if not hasattr(getattr(testing, name), attribute)] == []
