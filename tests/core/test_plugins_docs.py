"""Each hook has a page that says exactly what its specification says, and whose example is a plugin."""

import dataclasses
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mimetic import hookspecs
from mimetic.hookspecs import ENTRY_OF_HOOK, Entry
from mimetic.plugins import PluginState
from mimetic.plugins.implementations import HOOK_ARGUMENTS
from mimetic.testing import manager_with

PAGES = Path(__file__).resolve().parents[2] / "docs" / "hooks"
OBSERVERS = sorted(set(HOOK_ARGUMENTS) - set(ENTRY_OF_HOOK))


def page(hook: str) -> str:
    return (PAGES / f"{hook}.md").read_text(encoding="utf-8")


def table(text: str, title: str) -> list[tuple[str, ...]]:
    """Return the rows of the table under a heading that starts with ``title``, without backquotes."""
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    [body] = [part for part in section if part.startswith(title)]
    lines = [line for line in body.splitlines() if line.startswith("| `")]
    cells = [[cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [tuple(cell.replace("\\|", "|") for cell in row) for row in cells]


def fields(of: type[Any]) -> list[tuple[str, str, str]]:
    return [
        (field.name, str(field.type), "required" if field.default is dataclasses.MISSING else repr(field.default))
        for field in dataclasses.fields(of)
    ]


def context_of(entry: type[Entry]) -> type[Any]:
    context: type[Any] = getattr(hookspecs, entry.__name__.replace("Entry", "Context"))
    return context


def test_every_hook_has_a_page_and_every_page_a_hook() -> None:
    assert {path.stem for path in PAGES.glob("mimetic_*.md")} == set(HOOK_ARGUMENTS)


def test_the_overview_links_every_page() -> None:
    linked = re.findall(r"\]\((\w+)\.md\)", (PAGES / "README.md").read_text(encoding="utf-8"))

    assert sorted(linked) == sorted(HOOK_ARGUMENTS)


@pytest.mark.parametrize("hook", HOOK_ARGUMENTS)
def test_a_page_shows_the_exact_signature(hook: str) -> None:
    signature = inspect.signature(getattr(hookspecs, hook))
    arguments = ", ".join(f"{name}: {parameter.annotation}" for name, parameter in signature.parameters.items())

    assert f"\ndef {hook}({arguments}) -> {signature.return_annotation}\n" in page(hook)


@pytest.mark.parametrize("hook", ENTRY_OF_HOOK)
def test_a_page_lists_the_fields_of_the_entry(hook: str) -> None:
    entry = ENTRY_OF_HOOK[hook]

    assert [row[:3] for row in table(page(hook), f"The entry: `{entry.__name__}`")] == fields(entry)


@pytest.mark.parametrize("hook", [hook for hook in ENTRY_OF_HOOK if hook != "mimetic_commands"])
def test_a_page_lists_the_fields_of_the_context(hook: str) -> None:
    context = context_of(ENTRY_OF_HOOK[hook])

    assert [row[:3] for row in table(page(hook), f"The context: `{context.__name__}`")] == fields(context)


@pytest.mark.parametrize("hook", OBSERVERS)
def test_a_page_lists_the_arguments_of_an_observer(hook: str) -> None:
    parameters = inspect.signature(getattr(hookspecs, hook)).parameters.values()

    assert [row[:2] for row in table(page(hook), "The arguments")] == [(p.name, str(p.annotation)) for p in parameters]


@pytest.mark.parametrize("hook", HOOK_ARGUMENTS)
def test_the_example_of_a_page_is_a_plugin(hook: str) -> None:
    [example] = re.findall(r"^```python\n(.*?)^```", page(hook), re.MULTILINE | re.DOTALL)
    module = ModuleType("example")
    exec(compile(example, f"docs/hooks/{hook}.md", "exec"), module.__dict__)

    [record] = manager_with(acme=module).plugins

    assert (record.state, record.reason) == (PluginState.ACTIVE, "")
    assert len(record.components) == (1 if hook in ENTRY_OF_HOOK else 0)


def test_every_context_is_some_entrys() -> None:
    contexts = {name for name in vars(hookspecs) if name.endswith("Context")}

    assert contexts == {context_of(entry).__name__ for entry in ENTRY_OF_HOOK.values() if entry.kind != "command"}
