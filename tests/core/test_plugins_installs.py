"""A plugin is found however it was installed: as files, from its author's checkout, or in an archive."""

import json
import os
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from broken_distributions import good_plugin
from mimetic.testing import fake_distribution

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "acme-mimetic"
version = "1.0"

[project.entry-points.mimetic]
acme = "acme_mimetic.plugin"

[tool.hatch.build.targets.wheel]
packages = ["src/acme_mimetic"]
"""


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("MIMETIC_", "PYTHON"))} | more


def listed(*command: str, **environ: str) -> dict[str, dict[str, str]]:
    """Return what ``mimetic plugins`` lists in a fresh process, by plugin name."""
    done = subprocess.run(
        [*command, "-m", "mimetic", "plugins", "--json"],
        env=environment(**environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a plugin author's folder, with the package under ``src``."""
    folder = tmp_path / "checkout"
    (folder / "src" / "acme_mimetic").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "src" / "acme_mimetic" / "__init__.py").touch()
    (folder / "src" / "acme_mimetic" / "plugin.py").write_text(good_plugin("acme.policy").replace("\n    ", "\n"))
    return folder


@pytest.fixture
def interpreter(tmp_path: Path) -> str:
    """Return the Python of a new environment that also sees what this one has installed."""
    pytest.importorskip("pip", reason="installing for real needs pip")
    pytest.importorskip("hatchling", reason="building a plugin needs hatchling")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    [packages] = (tmp_path / "env").glob("lib/python*/site-packages")
    seen = [
        folder for folder in [*site.getsitepackages(), *sys.path] if folder.endswith(("site-packages", "dist-packages"))
    ]
    (packages / "seen.pth").write_text("".join(f"import site; site.addsitedir({folder!r})\n" for folder in seen))
    return str(tmp_path / "env" / "bin" / "python")


def pip_install(interpreter: str, *words: str | Path) -> None:
    command = [interpreter, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index", *words]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(os.name == "nt", reason="paths of a POSIX environment")
@pytest.mark.parametrize("editable", [False, True], ids=["regular", "editable"])
def test_an_installed_plugin_is_found_in_a_fresh_process(editable: bool, checkout: Path, interpreter: str) -> None:
    """Searches by folder miss editable installs; metadata knows them."""
    pip_install(interpreter, *(["-e"] if editable else []), checkout)

    plugin = listed(interpreter)["acme"]

    assert (plugin["state"], plugin["distribution"], plugin["version"]) == ("active", "acme-mimetic", "1.0")
    assert listed(interpreter)["bc"]["state"] == "active"


def test_a_plugin_in_an_archive_is_found(tmp_path: Path) -> None:
    folder = fake_distribution(tmp_path / "files", plugin=good_plugin("acme.policy"))
    archive = tmp_path / "plugins.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.rglob("*"):
            if path.is_file():
                file.write(path, path.relative_to(folder))

    plugin = listed(sys.executable, PYTHONPATH=str(archive))["acme"]

    assert (plugin["state"], plugin["distribution"], plugin["version"]) == ("active", "acme-mimetic", "1.0")
