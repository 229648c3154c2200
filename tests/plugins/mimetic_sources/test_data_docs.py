"""What docs/data.md shows is run, so that it stays true."""

import re
from pathlib import Path
from typing import Any

import pytest

from mimetic.cli import main
from mimetic.config import run_config
from mimetic.config.parse import parse_document
from mimetic.types import as_demonstrations

PAGE = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_python_of_the_page_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "docs/data.md", "exec"), namespace)

    assert as_demonstrations(namespace["load"]()).n_transitions == 2


@pytest.mark.parametrize("block", blocks("yaml"))
def test_the_run_files_of_the_page_are_valid(block: str) -> None:
    document = parse_document(block, "docs/data.md").value

    assert run_config({**document, "algorithm": {"name": "bc", "n_epochs": 1}}).demonstrations


def test_the_inspection_on_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"^\$ mimetic data inspect demo\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    main(["data", "inspect", "demo"])

    assert capsys.readouterr().out.startswith(shown)
