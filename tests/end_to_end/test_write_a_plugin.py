"""The page "Write a plugin" is carried out as it stands: every command, in a new environment, and what it prints."""

import os
import re
import site
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "write-a-plugin.md"
FENCE = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```', re.MULTILINE | re.DOTALL)
TOOLS = {"pip": "pip", "pytest": "pytest", "mimetic": "mimetic"}


@dataclass(frozen=True)
class Step:
    """A command of the page with what it prints there, or a file that the page says to write."""

    command: str = ""
    printed: str = ""
    file: str = ""
    text: str = ""


def steps() -> Iterator[Step]:
    for block in FENCE.finditer(PAGE.read_text(encoding="utf-8")):
        if block["title"]:
            yield Step(file=block["title"], text=block["text"])
        elif block["language"] == "shell":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, _, printed = part.partition("\n")
                yield Step(command, printed)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Make an environment with pip, pytest and mimetic in it, that sees what this one has installed; no network."""
    pytest.importorskip("pip", reason="installing for real needs pip")
    pytest.importorskip("hatchling", reason="building a plugin needs hatchling")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    [packages] = (tmp_path / "env").glob("lib/python*/site-packages")
    folders = [each for each in [*site.getsitepackages(), *sys.path] if each.endswith("site-packages")]
    lines = [f"import site; site.addsitedir({folder!r})\n" for folder in dict.fromkeys(folders)]
    (packages / "seen.pth").write_text("".join(lines), encoding="utf-8")
    tools = tmp_path / "env" / "bin"
    for tool, module in TOOLS.items():
        (tools / tool).write_text(f'#!/bin/sh\nexec "{tools}/python" -m {module} "$@"\n', encoding="utf-8")
        (tools / tool).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MIMETIC_", "PYTHON", "PIP_"))}
    return kept | {
        "PATH": f"{tools}{os.pathsep}{kept['PATH']}",
        "OMP_NUM_THREADS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this one the wrong way round: no isolation
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def pattern(printed: str) -> str:
    """Turn what the page shows into a pattern: ``...`` stands for anything, runs of blanks for one."""
    words = [re.escape(" ".join(part.split())) for part in printed.split("...")]
    return r"[\s\S]*".join(words)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the commands of a POSIX shell")
def test_the_page_leads_from_nothing_to_a_policy_trained_with_a_loss_term_of_ones_own(
    environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for step in steps():
        if step.file:
            assert (folder / step.file).exists(), f"{step.file} is to be changed, and is not there"
            (folder / step.file).write_text(step.text, encoding="utf-8")
        elif step.command.startswith("cd "):
            folder = folder / step.command.removeprefix("cd ")
        else:
            done = subprocess.run(
                step.command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            said = " ".join((done.stdout + done.stderr).split())
            assert done.returncode == 0, f"$ {step.command}\n{done.stdout}\n{done.stderr}"
            assert re.search(pattern(step.printed), said), f"$ {step.command}\n{step.printed}\n--- said\n{said}"

    assert (folder / "runs" / "example" / "policy.safetensors").is_file()


def test_it_takes_fewer_than_ten_commands() -> None:
    assert len([step for step in steps() if step.command]) < 10


def test_the_policy_is_there_before_half_of_the_page_is_over() -> None:
    commands = [step.command for step in steps() if step.command]

    assert any(command.startswith("mimetic train") for command in commands[:6])
