"""Fifty broken third-party distributions, installed beside one another: every command works, and names each of them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from broken_distributions import AT_DISCOVERY, AT_USE, ODD, good_plugin
from mimetic.config import load_run_file
from mimetic.errors import MimeticError
from mimetic.run import execute
from mimetic.testing import discovered, fake_distribution

VENDORS = {title: f"vendor{number:02}" for number, title in enumerate(AT_DISCOVERY)}
ODD_VENDORS = {title: f"odd{number:02}" for number, title in enumerate(ODD)}

RUN = """
env: {id: CartPole-v1}
demonstrations: demo
policy: {name: mlp, net_arch: [4]}
algorithm: {name: bc, n_batches: 3}
evaluation: {n_episodes: 1}
loggers: [csv]
"""

SILENT = [["--help"], ["--version"], ["train", "--help"], ["plugins", "check", "--help"]]
COMMANDS = [
    ["plugins"],
    ["plugins", "list", "--json"],
    ["plugins", "show", "policy:mlp"],
    ["plugins", "new", "loss", "acme.focal"],
    ["config", "init", "first.yaml"],
    ["config", "check", "run.yaml"],
    ["config", "show", "run.yaml"],
    ["config", "schema"],
    ["data", "inspect", "demo"],
    ["train", "run.yaml", "--out", "trained"],
    ["eval", "trained", "--episodes", "1"],
    ["collect", "random", "--env", "CartPole-v1", "--episodes", "1", "--out", "collected.safetensors"],
    ["greet"],
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install all of them, two of one plugin name, two of one component name, two versions of one, and a good one."""
    folder = tmp_path_factory.mktemp("site")
    for title, vendor in VENDORS.items():
        AT_DISCOVERY[title].install_as(vendor, folder)
    for title, vendor in ODD_VENDORS.items():
        ODD[title].install_as(vendor, folder)
    for vendor in ("twin-a", "twin-b"):
        package = f"{vendor}-mimetic".replace("-", "_")
        plugin = good_plugin(f"{vendor}.policy", package)
        fake_distribution(folder, f"{vendor}-mimetic", plugin=plugin, entry_points={"twin": f"{package}.plugin"})
    for vendor in ("same-a", "same-b"):
        plugin = good_plugin("same.policy", f"{vendor}-mimetic".replace("-", "_"))
        fake_distribution(folder, f"{vendor}-mimetic", plugin=plugin)
    for version in ("1.0", "2.0"):
        fake_distribution(folder, "both-mimetic", version, plugin=good_plugin("both.policy", "both_mimetic"))
    fake_distribution(
        folder,
        "good-mimetic",
        plugin="""
            from mimetic import CommandEntry, hookimpl

            @hookimpl
            def mimetic_commands():
                yield CommandEntry(name="greet", factory="good_mimetic.greet:run", summary="Greets")
        """,
        files={"good_mimetic/greet.py": "def run(argv):\n    print('hello')\n    return 0\n"},
    )
    return folder


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    (folder / "run.yaml").write_text(RUN, encoding="utf-8")
    return folder


def mimetic(site: Path, here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MIMETIC_")}
    return subprocess.run(
        [sys.executable, "-m", "mimetic", *words],
        cwd=here,
        env={**environ, "PYTHONPATH": str(site)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", SILENT, ids=" ".join)
def test_help_and_version_know_of_none_of_them(words: list[str], site: Path, here: Path) -> None:
    done = mimetic(site, here, *words)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_every_command_works_and_names_each_with_distribution_version_and_reason(
    words: list[str], site: Path, here: Path
) -> None:
    """In the order of the list: a command may use what the one before it wrote."""
    done = mimetic(site, here, *words)

    assert done.returncode == 0, done.stderr
    for title, vendor in VENDORS.items():
        own = AT_DISCOVERY[title].by(vendor)
        told = f"{vendor!r} ({vendor}-mimetic 1.0, entry point {own.entry_point}) is {own.state}: "
        [line] = [line for line in done.stderr.splitlines() if told in line]
        assert re.search(own.reason.removeprefix("^"), line), line
    for title in ("heavy import", "slow import"):
        vendor = ODD_VENDORS[title]
        told = rf"plugin '{vendor}' \({vendor}-mimetic 1\.0, .*\): .*{ODD[title].reason}"
        assert re.search(told, done.stderr), title
    for told in (
        r"'twin' \(twin-b-mimetic 1\.0, .*is duplicate: twin-a-mimetic 1\.0 .* has the name 'twin' too",
        r"policy 'same\.policy' is offered by same-a-mimetic 1\.0 .* and same-b-mimetic 1\.0",
        r"'both' \(both-mimetic 1\.0, .*is duplicate: another copy .* hides it: both-mimetic 2\.0",
    ):
        assert re.search(told, done.stderr), told


@pytest.mark.slow
def test_a_document_stays_a_document(site: Path, here: Path) -> None:
    plugins = json.loads(mimetic(site, here, "plugins", "--json").stdout)["plugins"]
    states = {(plugin["name"], plugin["distribution"]): plugin["state"] for plugin in plugins}

    assert all(states[vendor, f"{vendor}-mimetic"] == AT_DISCOVERY[title].state for title, vendor in VENDORS.items())
    assert states["bc", "mimetic"] == "active"


# --- what depends on one of them --------------------------------------------------------------------------------


@pytest.mark.parametrize("title", AT_DISCOVERY)
def test_a_run_file_that_needs_it_fails_with_its_reason(title: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(RUN.replace("mlp", "acme.good"), encoding="utf-8")
    broken = AT_DISCOVERY[title]

    with discovered(broken.install(tmp_path / "site"), alone=False), pytest.raises(MimeticError) as caught:
        load_run_file(tmp_path / "run.yaml")

    told = str(caught.value)
    assert "no policy is called 'acme.good'" in told
    assert "'acme' (acme-mimetic 1.0, entry point" in told
    assert re.search(broken.reason.removeprefix("^"), told), told


@pytest.mark.parametrize("title", AT_USE)
def test_what_shows_only_at_use_ends_a_run_with_its_reason(title: str, tmp_path: Path) -> None:
    """In the run file's own check where the settings show it, else when the component is built."""
    (tmp_path / "run.yaml").write_text(RUN.replace("{name: mlp, net_arch: [4]}", "acme.good"), encoding="utf-8")
    broken = AT_USE[title]

    with (
        discovered(broken.install(tmp_path / "site"), alone=False),
        pytest.raises(MimeticError, match=broken.reason) as caught,
    ):
        execute(load_run_file(tmp_path / "run.yaml"), out=tmp_path / "out")

    assert "acme-mimetic 1.0" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_the_kinds_of_breakage_that_matter_are_all_there() -> None:
    named = {
        "import error", "SystemExit", "SyntaxError", "missing attribute", "wrong object", "no marker", "misspelt hook",
        "unknown argument", "raises half-way", "wrong entry type", "one entry instead of many", "API too new",
        "API too old", "metadata left behind", "missing optional dependency", "config that is no model",
        "config that allows unknown keys", "factory that gives the wrong object", "slow import", "heavy import",
    }  # fmt: skip

    assert named <= {*AT_DISCOVERY, *AT_USE, *ODD}
