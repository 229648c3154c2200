"""A plugin author's first hour: what ``mimetic plugins new`` writes is installed, tested, checked, and used."""

import json
import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["algorithm", "command", "data-source", "logger", "loss", "policy", "reward"]
LEVELS = ["env", "venv", "policy"]
ALL_TOGETHER = """
plugins: [acme-algorithm-mimetic, acme-loss-mimetic>=0.1]
env: {id: CartPole-v1, wrappers: [{name: acme.env-wrapper, scale: 0.01}]}
demonstrations: {name: acme.data-source, path: example.csv}
policy: {name: acme.policy, width: 8}
algorithm: {name: acme.algorithm, n_steps: 20}
losses: [acme.loss]
evaluation:
  n_episodes: 2
  wrappers: [{name: acme.venv-wrapper, factor: 0.5}]
  explore: acme.policy-wrapper
  reward: acme.reward
loggers: [acme.logger]
"""
FLAGS = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MIMETIC_", "PYTHON"))}
    return kept | {"OMP_NUM_THREADS": "1"} | more


def succeed(*command: str | Path, cwd: Path | None = None, **environ: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment(**environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Begin a plugin of every kind."""
    folder = tmp_path_factory.mktemp("projects")
    for kind in KINDS:
        succeed(sys.executable, "-m", "mimetic", "plugins", "new", kind, f"acme.{kind}", cwd=folder)
    for level in LEVELS:
        words = ["plugins", "new", "wrapper", f"acme.{level}-wrapper", "--level", level]
        succeed(sys.executable, "-m", "mimetic", *words, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(projects: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install all of them into a folder, without network."""
    pytest.importorskip("pip", reason="installing for real needs pip")
    target, copies = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("copies")
    shutil.copytree(projects, copies, dirs_exist_ok=True)  # a build leaves files behind
    succeed(sys.executable, "-m", "pip", "install", *FLAGS, "--target", target, *sorted(copies.iterdir()))
    return target


def test_all_of_them_are_listed_and_active(installed: Path) -> None:
    document = json.loads(succeed(sys.executable, "-m", "mimetic", "plugins", "--json", PYTHONPATH=str(installed)))
    own = {plugin["name"]: plugin for plugin in document["plugins"] if plugin["name"].startswith("acme-")}

    assert len(own) == len(KINDS) + len(LEVELS)
    assert {plugin["state"] for plugin in own.values()} == {"active"}
    assert own["acme-loss"]["components"] == [
        {"kind": "loss", "name": "acme.loss", "summary": "Cross-entropy that looks harder at what is unlikely still"}
    ]


@pytest.mark.slow
def test_their_tests_pass_as_they_are_written(projects: Path, installed: Path, tmp_path: Path) -> None:
    """With warnings as errors, in one process for all, which imports torch once."""
    tests = sorted(projects.glob("*/tests"))
    words: list[str | Path] = [
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "-c",
        tmp_path / "pytest.ini",
    ]
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    report = succeed(sys.executable, "-m", "pytest", *words, *tests, PYTHONPATH=str(installed))

    assert "passed" in report
    assert len(tests) == len(KINDS) + len(LEVELS)


@pytest.mark.slow
def test_their_example_run_files_are_right(projects: Path, installed: Path) -> None:
    examples = sorted(projects.glob("*/example.yaml"))

    for example in examples:
        succeed(sys.executable, "-m", "mimetic", "config", "check", example, PYTHONPATH=str(installed))

    assert len(examples) == len(KINDS) + len(LEVELS) - 1  # a command stands in no run file


@pytest.mark.slow
def test_all_of_them_take_part_in_one_run(projects: Path, installed: Path, tmp_path: Path) -> None:
    """What it learns is not the point here."""
    shutil.copy(projects / "acme-data-source-mimetic" / "example.csv", tmp_path)
    (tmp_path / "all.yaml").write_text(ALL_TOGETHER, encoding="utf-8")

    words = ["-m", "mimetic", "train", "all.yaml", "--out", "out"]
    succeed(sys.executable, *words, cwd=tmp_path, PYTHONPATH=str(installed))

    evaluation = json.loads((tmp_path / "out" / "evaluation.json").read_text(encoding="utf-8"))
    assert evaluation["n_traj"] == 2
    assert all(episode["return"] != episode["env_return"] for episode in evaluation["episodes"])
    assert len((tmp_path / "out" / "acme-logger.txt").read_text(encoding="utf-8").splitlines()) == 21
    listed = succeed(sys.executable, "-m", "mimetic", "acme.command", ".", cwd=tmp_path, PYTHONPATH=str(installed))
    assert listed.split()[1] == "out"


@pytest.mark.slow
def test_a_run_that_was_made_with_them_says_what_is_missing_where_they_are_not(
    projects: Path, installed: Path, tmp_path: Path
) -> None:
    words: list[str | Path] = [
        "train",
        projects / "acme-loss-mimetic" / "example.yaml",
        "algorithm.n_epochs=1",
        "evaluation=null",
    ]
    succeed(sys.executable, "-m", "mimetic", *words, "--out", tmp_path / "out", PYTHONPATH=str(installed))

    command = [sys.executable, "-m", "mimetic", "config", "check", str(tmp_path / "out" / "config.yaml")]
    there = succeed(*command, PYTHONPATH=str(installed))
    elsewhere = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)

    assert "plugins, versions and paths are as they were" in there
    assert elsewhere.returncode == 2
    assert "pip install 'acme-loss-mimetic==0.1.0'" in elsewhere.stderr


@pytest.mark.slow
def test_what_is_written_pleases_ruff_and_mypy(projects: Path, installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    pytest.importorskip("numpy", "2.2", "older numpy's types want to know what is in an array")
    for project in sorted(projects.iterdir()):
        succeed(sys.executable, "-m", "ruff", "check", "--no-cache", ".", cwd=project)
        succeed(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", ".", cwd=project)
    tests = [
        shutil.copy(each, tmp_path / f"test_{each.parents[1].name.replace('-', '_')}.py") for each in _tests(projects)
    ]
    words: list[str | Path] = ["--strict", "--cache-dir", tmp_path / "cache", *sorted(projects.glob("*/src/*")), *tests]

    succeed(sys.executable, "-m", "mypy", *words, cwd=tmp_path, MYPYPATH=str(installed))


def _tests(projects: Path) -> list[Path]:
    return sorted(projects.glob("*/tests/test_*.py"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="paths of a POSIX environment")
def test_in_a_fresh_environment_a_new_plugin_installs_passes_its_tests_and_is_in_order(
    projects: Path, tmp_path: Path
) -> None:
    """As its author does it: a new environment, an editable installation, pytest, a check, a run."""
    pytest.importorskip("pip", reason="installing for real needs pip")
    pytest.importorskip("hatchling", reason="building a plugin needs hatchling")
    python = fresh_environment(tmp_path)
    project = tmp_path / "acme-loss-mimetic"
    shutil.copytree(projects / project.name, project)

    succeed(python, "-m", "pip", "install", *FLAGS, "-e", ".", cwd=project)
    succeed(python, "-m", "pytest", "-q", "-W", "error", cwd=project)
    report = json.loads(succeed(python, "-m", "mimetic", "plugins", "check", project.name, "--json", cwd=project))
    words = ["train", "example.yaml", "algorithm.n_epochs=1", "--out", "out"]
    succeed(python, "-m", "mimetic", *words, cwd=project)

    assert [plugin["distribution"] for plugin in report["plugins"]] == ["acme-loss-mimetic"]
    assert report["plugins"][0]["findings"] == []
    manifest = json.loads((project / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["versions"]["acme-loss-mimetic"] == "0.1.0"


def fresh_environment(folder: Path) -> Path:
    """Make an environment that also sees what this one has installed: nobody wants to download torch again."""
    succeed(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    [packages] = (folder / "env").glob("lib/python*/site-packages")
    folders = [*site.getsitepackages(), *sys.path]
    seen = [each for each in folders if each.endswith(("site-packages", "dist-packages"))]
    (packages / "seen.pth").write_text(
        "".join(f"import site; site.addsitedir({each!r})\n" for each in dict.fromkeys(seen)), encoding="utf-8"
    )
    return folder / "env" / "bin" / "python"
