"""The built distribution: what is in it, and that it runs where no checkout is."""

import configparser
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from the sdist, with the build backend that is installed."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def names_in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, and nothing else, into a folder."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(folder)]
    subprocess.run([*command, str(wheel)], capture_output=True, text=True, check=True)
    return folder


def run_installed(installed: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def sources(root: str) -> set[str]:
    folder = ROOT / root
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_core_and_plugins(names_in_wheel: set[str]) -> None:
    missing = (sources("core") | sources("plugins")) - names_in_wheel

    assert not missing


def test_the_wheel_holds_nothing_but_packages_and_metadata(names_in_wheel: set[str]) -> None:
    roots = {name.split("/")[0] for name in names_in_wheel}
    packages = {path.name for root in ("core", "plugins") for path in (ROOT / root).iterdir() if path.is_dir()}

    assert {root for root in roots if not root.endswith(".dist-info")} <= packages


def test_the_wheel_holds_the_shipped_demonstrations(names_in_wheel: set[str]) -> None:
    assert any(name.startswith("mimetic_sources/demo/") and name.endswith(".safetensors") for name in names_in_wheel)


def test_the_wheel_is_typed_and_licensed(names_in_wheel: set[str]) -> None:
    assert "mimetic/py.typed" in names_in_wheel
    assert any(name.endswith("/LICENSE") for name in names_in_wheel)


def test_the_wheel_carries_every_entry_point(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith("entry_points.txt"))
        written = configparser.ConfigParser()
        written.read_string(archive.read(name).decode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert dict(written["mimetic"]) == project["entry-points"]["mimetic"]
    assert dict(written["console_scripts"]) == project["scripts"]


def test_the_sdist_holds_what_is_needed_to_build_test_and_read(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}

    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile", "constraints.txt"} <= names
    assert {"tests/conftest.py", "docs/index.md", "core/mimetic/hookspecs.py"} <= names
    assert not any(name.startswith((".venv", "runs", ".git/")) for name in names)


def test_the_installed_wheel_is_what_runs(installed: Path, tmp_path: Path) -> None:
    done = run_installed(
        installed, tmp_path, "-c", "import mimetic, mimetic_bc; print(mimetic.__file__, mimetic_bc.__file__)"
    )

    assert done.stdout.count(str(installed)) == 2


def test_outside_the_checkout_every_plugin_is_active(installed: Path, tmp_path: Path) -> None:
    done = run_installed(installed, tmp_path, "-m", "mimetic", "plugins", "--json")

    assert done.returncode == 0, done.stderr
    states = {each["name"]: each["state"] for each in json.loads(done.stdout)["plugins"]}
    assert states == dict.fromkeys(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["mimetic"], "active"
    )


def test_outside_the_checkout_a_run_file_trains_a_policy(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text(
        "env: {id: CartPole-v1}\n"
        "demonstrations: demo\n"
        "algorithm: {name: bc, n_batches: 20}\n"
        "evaluation: {n_episodes: 1}\n"
    )  # fmt: skip

    done = run_installed(installed, tmp_path, "-m", "mimetic", "train", "short.yaml")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "short" / "policy.safetensors").exists()


def test_every_pinned_version_satisfies_what_the_project_asks_for() -> None:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    pinned = {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    wanted += [*project["optional-dependencies"]["render"], *project["optional-dependencies"]["tensorboard"]]

    for text in wanted:
        requirement = Requirement(text)
        if canonicalize_name(requirement.name) != "mimetic":
            assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text


def test_the_pins_are_plain_releases() -> None:
    """A local version (``+cpu``) or an address would not be found by anybody else."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]

    assert not [line for line in lines if "+" in line or "@" in line or "/" in line or line.count("==") != 1]


def test_the_lowest_releases_that_are_tested_are_the_lowest_that_are_admitted() -> None:
    from packaging.requirements import Requirement

    makefile = (ROOT / "Makefile").read_text()
    line = next(line for line in makefile.splitlines() if line.startswith("LOWEST :="))
    tested = dict(pin.split("==") for pin in line.removeprefix("LOWEST :=").split())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    admitted = {
        requirement.name: min(each.version for each in requirement.specifier if each.operator == ">=")
        for requirement in map(Requirement, project["dependencies"])
    }

    assert {"gymnasium", "numpy", "pydantic", "pluggy", "stable-baselines3"} == set(tested)
    assert all(version.removesuffix(".0") == admitted[name] for name, version in tested.items())
