"""What the pages show is run: Python blocks, run files and commands, page by page, each in an empty folder.

A fenced block is run when its language is ``python`` or ``console`` (lines that begin with ``$ mimetic``), and written
to a file when it has a ``title``. ``<!-- not run: reason -->`` above a block leaves it out.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mimetic.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.yaml"))

_FENCE = re.compile(
    r"""^(?P<skip><!--\ not\ run:[^\n]*-->\n+)?
        ```(?P<language>\w+)(?:\ title="(?P<title>[^"]+)")?[^\n]*\n
        (?P<text>.*?)^```""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Block:
    language: str
    title: str | None
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(each["language"], each["title"], each["text"], text.count("\n", 0, each.start()) + 1)
        for each in _FENCE.finditer(text)
        if not each["skip"]
    ]


def runs(block: Block) -> bool:
    return block.language == "python" or (block.language == "console" and "$ mimetic" in block.text)


PAGES_THAT_RUN = [page for page in PAGES if any(map(runs, blocks(page)))]


@pytest.mark.parametrize("page", PAGES_THAT_RUN, ids=[page.relative_to(ROOT).as_posix() for page in PAGES_THAT_RUN])
@pytest.mark.slow
def test_what_a_page_shows_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        if block.title is not None:
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            code = compile("\n" * block.line + block.text, str(page), "exec")
            exec(code, names)
        elif block.language == "console":
            for line in block.text.splitlines():
                if line.startswith("$ mimetic"):
                    command(line.removeprefix("$ mimetic"), f"{page.name}:{block.line}")


def command(words: str, where: str) -> None:
    """Run what stands after `mimetic`, in this process: importing torch anew for each line takes the longest."""
    assert main(shlex.split(words, comments=True)) == 0, f"{where}: mimetic{words}"


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in target]

    assert not [target for target in targets if not (page.parent / target).exists()]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_an_example_is_a_valid_run_file(example: Path) -> None:
    from mimetic.config import load_run_file

    assert load_run_file(example).config.evaluation is not None


def test_the_demo_that_is_shown_is_the_demo_that_runs() -> None:
    shown = (ROOT / "docs" / "examples" / "demo.yaml").read_text()

    assert shown == (ROOT / "core" / "mimetic" / "cli" / "demo.yaml").read_text()


def test_every_page_is_listed_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.parent != ROOT]

    assert not [page for page in pages if page != "index.md" and f"({page})" not in index]


def test_the_readme_shows_a_result_within_a_screen() -> None:
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:24]

    assert any("mean return" in line for line in first_screen)
    assert "$ make demo" in first_screen
