"""Where a setting's documentation comes from."""

import sys
from types import ModuleType

import pytest

from mimetic.config import ComponentConfig
from mimetic.config.docstrings import field_docstrings


class Outer(ComponentConfig):
    """A model."""

    first: int = 1
    """The first
    of two."""
    second: int = 2
    third: int = 3
    """The third."""

    def method(self) -> int:
        """No field."""
        return 0


class Inner(Outer):
    """Another, which documents what it adds."""

    fourth: int = 4
    """The fourth."""


def test_the_text_under_a_field_is_found_without_its_indentation() -> None:
    assert field_docstrings(Outer) == {"first": "The first\nof two.", "third": "The third."}


def test_a_class_documents_what_it_adds_and_keeps_what_it_inherits() -> None:
    assert field_docstrings(Inner) == {"fourth": "The fourth."}
    assert Inner.model_fields["first"].description == "The first\nof two."


def test_a_class_inside_a_function_is_documented_too() -> None:
    class Local(ComponentConfig):
        """A model."""

        size: int = 1
        """How large."""

    assert Local.model_fields["size"].description == "How large."


def test_of_two_classes_of_one_name_each_has_its_own_texts() -> None:
    def make(large: bool) -> type[ComponentConfig]:
        if large:

            class Twin(ComponentConfig):
                """A model."""

                height: int = 1
                """How high."""

        else:

            class Twin(ComponentConfig):  # type: ignore[no-redef]  # the point
                """A model."""

                width: int = 1
                """How wide."""

        return Twin

    assert field_docstrings(make(True)) == {"height": "How high."}
    assert field_docstrings(make(False)) == {"width": "How wide."}


def test_the_schema_shows_the_text() -> None:
    assert Outer.model_json_schema()["properties"]["third"]["description"] == "The third."


def test_a_class_without_a_source_has_no_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typed_in", ModuleType("typed_in"))
    kind = type("Typed", (), {"__module__": "typed_in", "__annotations__": {"size": int}})

    assert field_docstrings(kind) == {}
