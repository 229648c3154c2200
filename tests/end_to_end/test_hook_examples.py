"""Each hook's page holds one example that is whole: its files are a plugin, and its contract holds."""

import re
from pathlib import Path
from typing import Any

import pytest

from mimetic.hookspecs import ENTRY_OF_HOOK
from mimetic.plugins import PluginState
from mimetic.testing import discovered, fake_distribution
from mimetic.testing.contracts.component import Contract
from mimetic.testing.contracts.suite import Verdict, outcomes

PAGES = Path(__file__).resolve().parents[2] / "docs" / "hooks"
FENCE = re.compile(r'^```python(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```', re.MULTILINE | re.DOTALL)


def blocks(hook: str) -> dict[str, str]:
    """Return the files that a page shows, by their names; plugin.py is the one without a title."""
    text = (PAGES / f"{hook}.md").read_text(encoding="utf-8")
    return {block["title"] or "plugin.py": block["text"] for block in FENCE.finditer(text)}


@pytest.mark.parametrize("hook", ENTRY_OF_HOOK)
def test_the_example_of_a_page_holds_its_contract(hook: str, tmp_path: Path) -> None:
    shown = blocks(hook)
    [test] = [text for title, text in shown.items() if title.startswith("test_")]
    files = {f"acme_mimetic/{title}": text for title, text in shown.items() if not title.startswith("test_")}
    files["acme_mimetic/__init__.py"] = ""

    with discovered(fake_distribution(tmp_path, files=files), alone=False) as known:
        [record] = [plugin for plugin in known.plugins if plugin.name == "acme"]
        names: dict[str, Any] = {"__name__": "test"}
        exec(compile(test, f"docs/hooks/{hook}.md", "exec"), names)
        [suite] = [each for name, each in names.items() if name.startswith("Test") and issubclass(each, Contract)]
        failed = [each for each in outcomes(suite) if each.verdict == Verdict.FAILS]

    assert (record.state, record.reason) == (PluginState.ACTIVE, "")
    assert [component.name for component in record.components] == [suite.name]
    assert failed == []
