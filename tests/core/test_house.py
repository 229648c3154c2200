"""Who may import whom, and how light an import is: the rules of docs/decisions/, held by reading and by trying."""

import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mimetic.plugins.implementations import HOOK_ARGUMENTS
from source import CORE, PLUGINS, imports, lazy_table, names_for_type_checkers, python_files, strings

LADDER = (
    "errors",
    "hookspecs",
    "plugins",
    "config",
    "types",
    "spaces",
    "seeding",
    "policies",
    "losses",
    "storage",
    "rundir",
    "logs",
    "envs",
    "rollout",
    "evaluate",
    "algorithms",
    "run",
    "testing",
    "cli",
)
RUNGS = {path.stem: path for path in CORE.iterdir() if not path.name.startswith("__") and path.suffix in (".py", "")}
PACKAGES = sorted(path.name for path in PLUGINS.iterdir() if (path / "__init__.py").exists())
LAZY = [path for path in sorted([*CORE.rglob("__init__.py"), *PLUGINS.glob("*/__init__.py")]) if lazy_table(path)]
ENTRY_POINTS = sorted(
    (
        point
        for point in importlib.metadata.entry_points(group="mimetic")
        if point.dist and point.dist.name == "mimetic"
    ),
    key=lambda point: point.name,
)


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(CORE.parents[1])}:{line}"


def package_of(init: Path) -> str:
    """Return the name of the package that an ``__init__.py`` makes."""
    root = CORE.parent if CORE in init.parents else PLUGINS
    return ".".join(init.parent.relative_to(root).parts)


# --- who may import whom ----------------------------------------------------------------------------------------


def test_every_core_module_has_its_rung() -> None:
    assert set(RUNGS) <= set(LADDER)


@pytest.mark.parametrize("name", sorted(RUNGS))
def test_core_imports_point_down_the_ladder(name: str) -> None:
    """Modules that import one another cannot be read, tested or replaced one by one."""
    allowed = {name, *LADDER[: LADDER.index(name)]}
    upward = [
        f"{where(path, found.line)} imports {found.module}"
        for path in python_files(RUNGS[name])
        for found in imports(path)
        if found.runs and found.module.startswith("mimetic.") and found.module.split(".")[1] not in allowed
    ]

    assert not upward


def test_core_imports_modules_and_never_a_lazily_exported_name() -> None:
    """``from mimetic import x`` may load any rung, so the test above would be blind."""
    blind = [
        where(path, found.line) for path in python_files(CORE) for found in imports(path) if found.module == "mimetic"
    ]

    assert not blind


def test_core_names_no_plugin_package() -> None:
    """What the core knows by name is no plugin. Two hooks share a package's name; that is no reference."""
    targets = re.compile(rf"({'|'.join(PACKAGES)})([.:]\w.*)?")
    named = [
        f"{where(path, line)}: {text!r}"
        for path in python_files(CORE)
        for text, line in strings(path)
        if targets.fullmatch(text) and text not in HOOK_ARGUMENTS
    ]
    imported = [
        f"{where(path, found.line)} imports {found.module}"
        for path in python_files(CORE)
        for found in imports(path)
        if found.module.split(".")[0] in PACKAGES
    ]

    assert not named + imported


@pytest.mark.parametrize("package", PACKAGES)
def test_plugins_import_core_and_never_one_another(package: str) -> None:
    """What one plugin needs from another it asks the registry for, by component name."""
    others = [other for other in PACKAGES if other != package]
    target = re.compile(rf"({'|'.join(others)})(\.\w+)*:\w.*")
    found = [
        f"{where(path, found.line)} imports {found.module}"
        for path in python_files(PLUGINS / package)
        for found in imports(path)
        if found.module.split(".")[0] in others
    ]
    found += [
        f"{where(path, line)}: {text!r}"
        for path in python_files(PLUGINS / package)
        for text, line in strings(path)
        if target.fullmatch(text)
    ]

    assert not found


@pytest.mark.parametrize("path", LAZY, ids=lambda path: str(path.parent.name))
def test_lazy_exports_are_the_same_for_people_and_for_type_checkers(path: Path) -> None:
    assert names_for_type_checkers(path, package_of(path)) == lazy_table(path)


@pytest.mark.parametrize("path", LAZY, ids=lambda path: str(path.parent.name))
def test_every_lazy_export_can_be_imported(path: Path) -> None:
    """Nothing else would notice a name that its module does not have."""
    package = importlib.import_module(package_of(path))

    assert [name for name in package.__all__ if not hasattr(package, name)] == []
    assert not hasattr(package, "no_such_name")


# --- how light an import is -------------------------------------------------------------------------------------

HEAVY = {
    "gymnasium",
    "imageio",
    "imageio_ffmpeg",
    "numpy",
    "PIL",
    "pydantic",
    "pygame",
    "safetensors",
    "stable_baselines3",
    "tensorboard",
    "torch",
}


def modules_after(code: str, *, folder: Path | None = None) -> set[str]:
    """Return what a fresh interpreter has imported after running some code."""
    told = "\nimport json, sys\nsys.stdout = sys.__stdout__\nprint(); print(json.dumps(sorted(sys.modules)))"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MIMETIC_")}
    done = subprocess.run(
        [sys.executable, "-c", code + told], env=environ, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def modules_after_command(*words: str, folder: Path | None = None) -> set[str]:
    code = f"from mimetic.cli import main\nassert main({list(words)!r}) == 0"
    return modules_after(code, folder=folder)


@pytest.mark.parametrize(
    "module", ["mimetic", "mimetic.hookspecs", "mimetic.plugins", "mimetic.cli", "mimetic.testing"]
)
def test_the_platform_itself_is_light(module: str) -> None:
    assert not modules_after(f"import {module}") & HEAVY


@pytest.mark.parametrize("point", ENTRY_POINTS, ids=lambda point: point.name)
def test_a_plugin_module_imports_nothing_heavy(point: importlib.metadata.EntryPoint) -> None:
    """Every command imports every plugin.py; one heavy one would slow them all."""
    assert not modules_after(f"import {point.module}") & HEAVY


@pytest.mark.parametrize("point", ENTRY_POINTS, ids=lambda point: point.name)
def test_a_config_module_imports_pydantic_and_nothing_heavier(point: importlib.metadata.EntryPoint) -> None:
    package = point.module.rpartition(".")[0]

    assert not modules_after(f"import {package}.config") & (HEAVY - {"pydantic"})


@pytest.mark.parametrize("point", ENTRY_POINTS, ids=lambda point: point.name)
def test_a_plugin_package_can_be_imported_without_its_implementation(point: importlib.metadata.EntryPoint) -> None:
    package = point.module.rpartition(".")[0]
    loaded = modules_after(f"import {package}")

    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith(f"{package}.")} == set()


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_import_no_plugin_machinery(word: str) -> None:
    """No plugin can break or slow what only prints."""
    loaded = modules_after_command(word)

    assert not loaded & {*HEAVY, "pluggy", "argparse", "mimetic.plugins", "mimetic.hookspecs"}
    assert not {name for name in loaded if name.split(".")[0] in PACKAGES}


@pytest.mark.parametrize("words", [["plugins"], ["plugins", "list", "--json"]])
def test_listing_plugins_imports_their_hooks_and_no_implementation(words: list[str]) -> None:
    loaded = modules_after_command(*words)
    hooks = {point.module for point in ENTRY_POINTS}

    assert not loaded & HEAVY
    assert {name for name in loaded if name.split(".")[0] in PACKAGES and "." in name} == hooks


@pytest.mark.parametrize(
    "words", [["plugins", "show", "algorithm:bc"], ["config", "schema"], ["config", "check", "run.yaml"]]
)
def test_settings_are_checked_and_shown_without_any_implementation(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("demonstrations: {name: demo}\nalgorithm: {name: bc, n_epochs: 1}\n")

    assert not modules_after_command(*words, folder=tmp_path) & (HEAVY - {"pydantic"})
