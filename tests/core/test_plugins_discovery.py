"""Discovery never dies and never hides: every plugin is active, or is named with its state and reason."""

import re
from pathlib import Path

import pytest

from broken_distributions import AT_DISCOVERY, ODD, Broken, good_plugin
from mimetic.errors import PluginError
from mimetic.plugins import PluginRecord, PluginState, Registry
from mimetic.testing import discovered, fake_distribution


def record_of(registry: Registry, name: str) -> PluginRecord:
    [record] = [record for record in registry.plugins if record.name == name]
    return record


def install_good(folder: Path, name: str = "good", **changes: str) -> Path:
    package = f"{name}_mimetic"
    return fake_distribution(folder, f"{name}-mimetic", plugin=good_plugin(f"{name}.policy", package), **changes)  # type: ignore[arg-type]  # texts only


# --- one broken plugin is one broken plugin ---------------------------------------------------------------------


@pytest.mark.parametrize("broken", AT_DISCOVERY.values(), ids=AT_DISCOVERY)
def test_a_broken_plugin_is_named_with_its_reason_and_the_others_work(broken: Broken, tmp_path: Path) -> None:
    """One broken plugin once killed every command, the one to remove it included."""
    install_good(broken.install(tmp_path))

    with discovered(tmp_path) as registry:
        record = record_of(registry, "acme")

    assert (record.state, record.distribution, record.version) == (broken.state, "acme-mimetic", "1.0")
    assert record.entry_point == broken.entry_point
    assert re.search(broken.reason, record.reason), record.reason
    assert "\n" not in record.reason
    assert record.components == ()
    assert [component.name for component in registry.components()] == ["good.policy"]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_plugin_that_is_merely_odd_is_active(odd: Broken, tmp_path: Path) -> None:
    with discovered(odd.install(tmp_path)) as registry:
        assert record_of(registry, "acme").state == PluginState.ACTIVE
        assert registry.find("policy", "acme.good").provider == "acme-mimetic 1.0"


def test_what_a_plugin_prints_while_it_is_imported_stays_off_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A JSON document on standard output must stay one."""
    with discovered(ODD["printing import"].install(tmp_path)):
        pass

    printed = capsys.readouterr()
    assert printed.out == ""
    assert "hello from acme" in printed.err


def test_ctrl_c_while_a_plugin_is_imported_passes(tmp_path: Path) -> None:
    folder = fake_distribution(tmp_path, plugin="raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt), discovered(folder):
        pass


def test_a_plugin_that_raises_half_way_offers_nothing(tmp_path: Path) -> None:
    """All or nothing: half a plugin would make a run depend on where it failed."""
    with discovered(AT_DISCOVERY["raises half-way"].install(tmp_path)) as registry:
        assert registry.components() == ()


def test_an_instance_with_hooks_is_a_plugin(tmp_path: Path) -> None:
    plugin = """
        from mimetic import RewardEntry, hookimpl

        class Plugin:
            @hookimpl
            def mimetic_rewards(self):
                return [RewardEntry(name="acme.zero", config="a.b:C", factory="a.b:c", summary="Nothing")]

        plugin = Plugin()
    """
    folder = fake_distribution(tmp_path, plugin=plugin, entry_points={"acme": "acme_mimetic.plugin:plugin"})

    with discovered(folder) as registry:
        assert registry.find("reward", "acme.zero").plugin == "acme"


def test_the_version_of_the_interface_may_stand_in_the_module_of_an_instance(tmp_path: Path) -> None:
    plugin = "MIMETIC_API = (9, 0)\nplugin = object()"
    folder = fake_distribution(tmp_path, plugin=plugin, entry_points={"acme": "acme_mimetic.plugin:plugin"})

    with discovered(folder) as registry:
        assert record_of(registry, "acme").state == PluginState.INCOMPATIBLE


def test_a_plugin_may_state_the_interface_that_is_offered(tmp_path: Path) -> None:
    folder = fake_distribution(
        tmp_path, plugin="MIMETIC_API = (1, 0)\n" + good_plugin("acme.x").replace("\n    ", "\n")
    )

    with discovered(folder) as registry:
        assert record_of(registry, "acme").state == PluginState.ACTIVE


def test_a_package_that_shares_a_hooks_name_may_be_imported_by_a_plugin(tmp_path: Path) -> None:
    """``import mimetic_losses`` binds a module under a hook's name; that is no forgotten marker."""
    plugin = "import mimetic_losses\n" + good_plugin("acme.x").replace("\n    ", "\n")
    folder = fake_distribution(tmp_path, plugin=plugin, files={"mimetic_losses.py": ""})

    with discovered(folder) as registry:
        assert record_of(registry, "acme").state == PluginState.ACTIVE


# --- the same name twice ----------------------------------------------------------------------------------------


def test_of_two_plugins_of_one_name_the_alphabetically_first_distribution_wins(tmp_path: Path) -> None:
    """Which one wins must not depend on the order of the path."""
    first, last = tmp_path / "first", tmp_path / "last"
    install_good(first, "zeta", entry_points={"same": "zeta_mimetic.plugin"})  # type: ignore[arg-type]  # a mapping
    install_good(last, "alpha", entry_points={"same": "alpha_mimetic.plugin"})  # type: ignore[arg-type]  # a mapping
    install_good(last)

    for path in [(first, last), (last, first)]:
        with discovered(*path) as registry:
            states = {record.distribution: record.state for record in registry.plugins}
            reasons = {record.distribution: record.reason for record in registry.plugins}

        assert states == {"alpha-mimetic": "active", "zeta-mimetic": "duplicate", "good-mimetic": "active"}
        assert "alpha-mimetic 1.0" in reasons["zeta-mimetic"]


def test_the_core_distribution_wins_its_plugin_names(tmp_path: Path) -> None:
    fake_distribution(tmp_path, "mimetic", "0.1.0", entry_points={"same": "own"}, files={"own.py": good_plugin("own")})
    install_good(tmp_path, "alpha", entry_points={"same": "alpha_mimetic.plugin"})  # type: ignore[arg-type]  # a mapping

    with discovered(tmp_path) as registry:
        assert {r.distribution: r.state for r in registry.plugins} == {
            "mimetic": "active",
            "alpha-mimetic": "duplicate",
        }


def test_one_distribution_that_gives_one_name_to_two_plugins_keeps_one(tmp_path: Path) -> None:
    folder = install_good(tmp_path)
    text = "[mimetic]\nsame = good_mimetic.plugin\nsame = other\n"
    (folder / "good_mimetic-1.0.dist-info" / "entry_points.txt").write_text(text)

    with discovered(folder) as registry:
        assert [record.state for record in registry.plugins] == ["active", "duplicate"]


# --- metadata as it is found on real machines -------------------------------------------------------------------


def test_of_two_versions_on_the_path_the_first_is_used_and_the_other_named(tmp_path: Path) -> None:
    """An import finds the first folder too, so that version and code belong together."""
    new, old = tmp_path / "new", tmp_path / "old"
    install_good(new, version="2.0")
    install_good(old, version="1.0")

    with discovered(new, old) as registry:
        states = {record.version: record.state for record in registry.plugins}
        reason = next(record.reason for record in registry.plugins if record.version == "1.0")

    assert states == {"2.0": "active", "1.0": "duplicate"}
    assert f"good-mimetic 2.0 in {new}" in reason


def test_of_two_versions_in_one_folder_the_highest_counts(tmp_path: Path) -> None:
    """Broken updates leave both behind, and the folder's order is chance."""
    for version in ("1.9", "1.10", "1.2"):
        install_good(tmp_path, version=version)

    with discovered(tmp_path) as registry:
        states = {record.version: record.state for record in registry.plugins}

    assert states == {"1.10": "active", "1.9": "duplicate", "1.2": "duplicate"}


def test_a_newer_version_without_plugins_hides_an_older_one_with_some(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    fake_distribution(new, "good-mimetic", "2.0", plugin="", entry_points={})
    install_good(old, version="1.0")
    (new / "good_mimetic-2.0.dist-info" / "entry_points.txt").unlink()

    with discovered(new, old) as registry:
        assert [record.state for record in registry.plugins] == ["duplicate"]


def test_one_copy_seen_twice_is_one_plugin(tmp_path: Path) -> None:
    install_good(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with discovered(tmp_path / "real", tmp_path / "link", tmp_path / "real") as registry:
        assert [record.state for record in registry.plugins] == ["active"]


def test_unreadable_entry_points_are_that_distributions_fault_alone(tmp_path: Path) -> None:
    fake_distribution(tmp_path)
    (tmp_path / "acme_mimetic-1.0.dist-info" / "entry_points.txt").write_text("[mimetic]\nno equals sign\n")
    install_good(tmp_path)

    with discovered(tmp_path) as registry:
        record = record_of(registry, "acme-mimetic")

    assert record.state == PluginState.BROKEN
    assert "entry_points.txt cannot be read" in record.reason
    assert len(registry.components()) == 1


def test_foreign_metadata_that_is_no_text_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "strange-1.0.dist-info").mkdir()
    (tmp_path / "strange-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[mimetic]")
    install_good(tmp_path)

    with discovered(tmp_path) as registry:
        assert [record.name for record in registry.plugins] == ["good"]


def test_distributions_without_a_name_are_judged_one_by_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        install_good(tmp_path, name)
        (tmp_path / f"{name}_mimetic-1.0.dist-info" / "METADATA").unlink()

    with discovered(tmp_path) as registry:
        assert [(r.name, r.distribution, r.state) for r in registry.plugins] == [
            ("one", "unknown", "active"),
            ("two", "unknown", "active"),
        ]


# --- the switches -----------------------------------------------------------------------------------------------


def test_only_the_named_plugins_are_loaded(tmp_path: Path) -> None:
    install_good(tmp_path, "one")
    install_good(tmp_path, "two")

    with discovered(tmp_path, environ={"MIMETIC_PLUGINS": "one, "}) as registry:
        assert {r.name: (r.state, r.reason) for r in registry.plugins} == {
            "one": ("active", ""),
            "two": ("disabled", "MIMETIC_PLUGINS does not name it"),
        }


def test_an_empty_choice_leaves_no_plugin(tmp_path: Path) -> None:
    install_good(tmp_path)

    with discovered(tmp_path, environ={"MIMETIC_PLUGINS": ""}) as registry:
        assert {record.state for record in registry.plugins} == {"disabled"}


def test_a_disabled_plugin_is_never_imported(tmp_path: Path) -> None:
    """Else a plugin that ends the interpreter could not be switched off."""
    folder = fake_distribution(tmp_path, plugin="import os\nos._exit(7)")

    with discovered(folder, environ={"MIMETIC_DISABLE_PLUGINS": "other,acme"}) as registry:
        assert record_of(registry, "acme").reason == "MIMETIC_DISABLE_PLUGINS names it"


def test_a_name_that_no_plugin_has_is_told(tmp_path: Path) -> None:
    install_good(tmp_path)

    with discovered(tmp_path, environ={"MIMETIC_PLUGINS": "goood", "MIMETIC_DISABLE_PLUGINS": "zzz"}) as registry:
        assert registry.notes == (
            "MIMETIC_PLUGINS names 'goood', but no installed plugin is called so, did you mean 'good'?",
            "MIMETIC_DISABLE_PLUGINS names 'zzz', but no installed plugin is called so",
        )


def test_strict_mode_raises_for_everything_at_once_with_tracebacks(tmp_path: Path) -> None:
    AT_DISCOVERY["raises half-way"].install(tmp_path)
    fake_distribution(tmp_path, "other-mimetic", plugin="import not_there")

    with (
        pytest.raises(PluginError, match="STRICT") as raised,
        discovered(tmp_path, environ={"MIMETIC_STRICT_PLUGINS": "1"}),
    ):
        pass

    told = str(raised.value)
    assert "'acme' (acme-mimetic 1.0" in told
    assert "'other' (other-mimetic 1.0" in told
    assert told.count("Traceback") == 2


@pytest.mark.parametrize("value", ["", "0", "false", "No", " off "])
def test_strict_mode_can_be_switched_off_by_value(value: str, tmp_path: Path) -> None:
    folder = fake_distribution(tmp_path, plugin="import not_there")

    with discovered(folder, environ={"MIMETIC_STRICT_PLUGINS": value}) as registry:
        assert len(registry.unloaded()) == 1


def test_strict_mode_has_nothing_against_plugins_that_are_switched_off(tmp_path: Path) -> None:
    folder = fake_distribution(tmp_path, plugin="import not_there")
    environ = {"MIMETIC_STRICT_PLUGINS": "1", "MIMETIC_DISABLE_PLUGINS": "acme"}

    with discovered(folder, environ=environ) as registry:
        assert record_of(registry, "acme").state == PluginState.DISABLED
