"""``mimetic plugins check``: a table for people, a document for machines, an exit status for continuous integration."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broken_distributions import AT_DISCOVERY, FATAL, good_plugin
from mimetic.cli.plugins import run
from mimetic.errors import ConfigError
from mimetic.testing import fake_distribution

CONFIG = '''
from mimetic import ComponentConfig

class Config(ComponentConfig):
    """Settings."""
'''
POLICY = """
from mimetic.policies import UniformActor

def build(config, context):
    return UniformActor(context.action_space, context.seed)
"""


def good(folder: Path, vendor: str = "acme", name: str = "acme.policy") -> Path:
    """Install a plugin in which everything is in order."""
    package = f"{vendor}_mimetic"
    files = {f"{package}/config.py": CONFIG, f"{package}/policy.py": POLICY}
    plugin = good_plugin(name, package).replace("@hookimpl", "MIMETIC_API = (1, 0)\n\n    @hookimpl", 1)
    plugin = plugin.replace("summary=", "trainable=False, summary=")
    return fake_distribution(folder, f"{vendor}-mimetic", plugin=plugin, files=files)


@pytest.fixture
def checked(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the exit status of a check, and what it printed, parsed when it is a document."""

    def check(*words: str) -> tuple[int, Any]:
        status = run(["check", *words])
        text = capsys.readouterr().out
        return status, json.loads(text) if "--json" in words else text

    return check


def test_a_plugin_in_order_ends_with_status_0(checked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(good(tmp_path))

    status, text = checked("acme-mimetic", "--no-contracts")
    head, row, total = text.splitlines()

    assert status == 0
    assert head.split() == ["plugin", "distribution", "api", "import", "components", "facts", "verdict"]
    assert row.split()[:4] == ["acme", "acme-mimetic", "1.0", "1.0"]
    assert row.endswith("in order")
    assert total == "1 plugin: no errors, no warnings, no notes"


def test_the_facts_that_hold_are_counted(checked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(good(tmp_path))

    status, document = checked("acme-mimetic", "--json")
    [plugin] = document["plugins"]
    [component] = plugin["components"]

    assert status == 0
    assert document["ok"]
    assert (component["kind"], component["name"], component["failed"]) == ("policy", "acme.policy", 0)
    assert component["held"] > 8


def test_a_broken_plugin_ends_with_status_2_and_its_reason(
    checked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(AT_DISCOVERY["import error"].install(tmp_path))

    status, text = checked("acme-mimetic", "--no-contracts")

    assert status == 2
    assert "acme    acme-mimetic 1.0  -    0.000 s  0           -      broken\n" in text
    assert "    error: plugin: ModuleNotFoundError: No module named 'not_there'" in text
    assert text.endswith("1 plugin: 1 error, no warnings, no notes\n")


def test_a_document_says_everything(checked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(AT_DISCOVERY["API too new"].install(tmp_path))

    status, document = checked("--json", "acme-mimetic")
    [plugin] = document["plugins"]

    assert (status, document["ok"], plugin["ok"]) == (2, False, False)
    assert set(plugin) == {
        "ok", "name", "distribution", "version", "entry_point", "state", "reason", "api", "import_s", "heavy",
        "components", "findings",
    }  # fmt: skip
    assert (plugin["state"], plugin["api"]) == ("incompatible", "2.0")
    assert plugin["findings"] == [{"level": "error", "about": "plugin", "message": plugin["reason"]}]


def test_a_distribution_is_found_however_its_name_is_written(
    checked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(good(tmp_path))

    status, document = checked("Acme_Mimetic", "--no-contracts", "--json")

    assert status == 0
    assert [plugin["distribution"] for plugin in document["plugins"]] == ["acme-mimetic"]


def test_a_distribution_without_plugins_is_told_what_was_probably_meant() -> None:
    with pytest.raises(ConfigError, match=r"is called 'mimetics', did you mean 'mimetic'\? \(known: .*mimetic.*\)"):
        run(["check", "mimetics"])


def test_a_name_that_another_plugin_has_is_found_although_the_other_is_not_asked_for(
    checked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(good(tmp_path, "acme", name="mlp"))

    status, text = checked("acme-mimetic", "--no-contracts")

    assert status == 2
    assert "error: policy 'mlp': mimetic " in text
    assert "(plugin 'policies') offers a policy of this name" in " ".join(text.split())


@pytest.mark.parametrize("text", ["0", "-1", "nan", "soon"])
def test_a_timeout_is_a_number_of_seconds(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(["check", "--timeout", text])

    assert "--timeout" in capsys.readouterr().err


@pytest.mark.slow
def test_plugins_that_crash_and_hang_are_outlived_and_named(tmp_path: Path) -> None:
    """In a process of its own, as a person calls it: any other command would be taken down."""
    titles = ["leaves without a word at import", "segmentation fault at import", "hangs at import"]
    for vendor, title in zip("abc", titles, strict=True):
        FATAL[title].install_as(f"acme{vendor}", tmp_path)
    good(tmp_path)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MIMETIC_")}
    words = ["plugins", "check", "--json", "--no-contracts", "--timeout", "8"]

    done = subprocess.run(
        [sys.executable, "-m", "mimetic", *words],
        env={**environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    plugins = {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}

    assert done.returncode == 2, done.stderr
    assert plugins["acme"]["ok"]
    assert all(plugins[name]["state"] == "broken" for name in ("acmea", "acmeb", "acmec"))
    assert "ended with status 3" in plugins["acmea"]["reason"]
    assert "killed by SIGSEGV" in plugins["acmeb"]["reason"]
    assert "did not end within 8 s" in plugins["acmec"]["reason"]


@pytest.mark.slow
def test_every_plugin_in_the_box_is_in_order(checked: Any) -> None:
    """With contracts, where the default settings suffice; what each component does is tested in tests/plugins."""
    status, document = checked("mimetic", "--json")

    assert [each for plugin in document["plugins"] for each in plugin["findings"] if each["level"] != "note"] == []
    assert status == 0
    assert sum(part["held"] for plugin in document["plugins"] for part in plugin["components"]) > 200
