"""Plugins can be tried without installing them, and leave nothing behind."""

import sys
from pathlib import Path

import pytest

from broken_distributions import good_plugin
from mimetic.hookspecs import CommandEntry, RewardEntry
from mimetic.plugins import PluginState, registry
from mimetic.testing import discovered, fake_distribution, manager_with


def test_a_registry_for_a_test_starts_empty() -> None:
    assert manager_with().plugins == ()


def test_a_registry_for_a_test_ignores_the_shells_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIMETIC_PLUGINS", "")
    entry = RewardEntry(name="mine", config="a.b:C", factory="a.b:c", summary="Mine")

    assert manager_with(entry).find("reward", "mine").entry is entry


def test_plain_entries_are_checked_like_a_plugins() -> None:
    [record] = manager_with(CommandEntry(name="No Name", factory="a:b", summary="x")).plugins

    assert record.state == PluginState.BROKEN
    assert "name must be lower-case words" in record.reason


def test_a_registry_for_a_test_keeps_the_plugin_that_cannot_be_let_in() -> None:
    [first, second] = manager_with(object(), named=3).plugins

    assert (first.name, second.name) == ("named", "plugin1")
    assert {first.state, second.state} == {PluginState.BROKEN}


def test_a_fake_distribution_is_used_for_the_length_of_a_block(tmp_path: Path) -> None:
    before = list(sys.path)
    folder = fake_distribution(tmp_path, plugin=good_plugin("acme.policy"))

    with discovered(folder) as known:
        assert registry() is known
        assert "acme_mimetic.plugin" in sys.modules

    assert registry() is not known
    assert "acme_mimetic.plugin" not in sys.modules
    assert sys.path == before


def test_a_fake_distribution_may_offer_several_plugins(tmp_path: Path) -> None:
    files = {f"acme_{name}.py": good_plugin(name) for name in ("one", "two")}
    points = {"one": "acme_one", "two": "acme_two"}

    with discovered(fake_distribution(tmp_path, entry_points=points, files=files)) as known:
        assert [component.name for component in known.components()] == ["one", "two"]


def test_a_fake_distribution_may_be_used_beside_what_is_installed(tmp_path: Path) -> None:
    folder = fake_distribution(tmp_path, plugin=good_plugin("acme.policy"))

    with discovered(folder, alone=False) as known:
        names = {component.name for component in known.components("policy")}

    assert {"acme.policy", "mlp"} <= names
