"""The registry answers by kind and name, and whatever fails at use names its provider."""

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broken_distributions import AT_DISCOVERY, AT_USE, Broken, good_plugin
from mimetic.config import ComponentConfig
from mimetic.errors import (
    ComponentConflictError,
    ComponentFailedError,
    ConfigError,
    DataError,
    MissingDependencyError,
    PluginError,
    UnknownComponentError,
)
from mimetic.hookspecs import (
    AlgorithmEntry,
    CommandEntry,
    ComponentEntry,
    DataSourceEntry,
    LoggerEntry,
    LossEntry,
    PolicyEntry,
    RewardEntry,
    WrapperEntry,
    hookimpl,
)
from mimetic.plugins import PluginState, Registry, registry, using
from mimetic.plugins.requirements import faults_of
from mimetic.testing import discovered, fake_distribution, manager_with


class Config(ComponentConfig):
    """Settings of the components below."""

    size: int = 1
    path: Path = Path("here")


def build(config: Config, context: object) -> Any:
    return lambda: (config.size, context)


def build_three(config: Config, context: object) -> int:
    return 3


def complain(config: Config, context: object) -> None:
    raise DataError("column 'x' is missing")


def interrupt(config: Config, context: object) -> None:
    raise KeyboardInterrupt


def command(argv: list[str]) -> object:
    return len(argv) if argv else None


def entry(name: str = "mine", factory: str = "build", kind: type[ComponentEntry] = PolicyEntry, **more: Any) -> Any:
    return kind(name=name, config=f"{__name__}:Config", factory=f"{__name__}:{factory}", summary="Mine", **more)


class Offering:
    """A plugin that offers one policy."""

    def __init__(self, name: str) -> None:
        self.name = name

    @hookimpl
    def mimetic_policies(self) -> Iterator[PolicyEntry]:
        yield entry(self.name)


@pytest.fixture(autouse=True)
def _this_module_can_be_imported_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules[build.__module__])


# --- looking up -------------------------------------------------------------------------------------------------


def test_components_are_listed_by_kind_and_name() -> None:
    known = manager_with(entry("b"), entry("a"), entry("l", kind=LossEntry))

    assert [component.name for component in known.components("policy")] == ["a", "b"]
    assert [str(component) for component in known.components("loss")] == ["loss 'l' of entries 0"]
    assert len(known.components()) == 3


def test_one_name_may_stand_for_components_of_several_kinds() -> None:
    known = manager_with(entry("file"), entry("file", kind=DataSourceEntry))

    assert known.find("policy", "file").kind == "policy"
    assert known.find("data-source", "file").kind == "data-source"


def test_an_unknown_name_lists_what_is_known_and_what_did_not_load(tmp_path: Path) -> None:
    """Swallowed load errors once looked like an empty registry."""
    AT_DISCOVERY["import error"].install(tmp_path)
    fake_distribution(tmp_path, "good-mimetic", plugin=good_plugin("good.policy"))
    fake_distribution(tmp_path, "off-mimetic", plugin="")

    with (
        discovered(tmp_path, environ={"MIMETIC_DISABLE_PLUGINS": "off"}) as known,
        pytest.raises(UnknownComponentError) as raised,
    ):
        known.find("policy", "good.polcy")

    told = str(raised.value)
    assert "no policy is called 'good.polcy'. Did you mean 'good.policy'? Known: good.policy." in told
    assert "Plugin 'acme' (acme-mimetic 1.0, entry point acme_mimetic.plugin) is broken: ModuleNotFoundError" in told
    assert "Plugin 'off' (off-mimetic 1.0, entry point off_mimetic.plugin) is disabled" in told


def test_an_unknown_name_that_another_kind_has_says_so() -> None:
    with pytest.raises(
        UnknownComponentError, match=r"no loss term is called 'mine'\. Known: none\. 'mine' is a policy\."
    ):
        manager_with(entry()).find("loss", "mine")


def test_of_two_components_of_one_name_none_wins() -> None:
    """Whoever was installed last must not replace somebody's policy in silence."""
    known = manager_with(entry("other"), acme=Offering("same"), beta=Offering("same"))

    assert [record.state for record in known.plugins] == [PluginState.ACTIVE] * 3
    assert [component.name for component in known.components("policy")] == ["other"]
    with pytest.raises(ComponentConflictError, match=r"'same' is offered by acme 0 .*'acme'.* and beta 0 .*'beta'"):
        known.find("policy", "same")


def test_a_conflict_is_told_before_anybody_uses_the_name() -> None:
    [complaint] = manager_with(acme=Offering("same"), beta=Offering("same")).complaints()

    assert complaint.startswith("policy 'same' is offered by acme 0")


# --- settings ---------------------------------------------------------------------------------------------------


def test_settings_become_an_instance_of_the_model() -> None:
    assert manager_with(entry()).make_config("policy", "mine", {"size": 2}) == Config(size=2)
    assert manager_with(entry()).make_config("policy", "mine") == Config()


def test_all_faults_of_settings_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as raised:
        manager_with(entry()).make_config("policy", "mine", {"sise": 2, "size": "x"})

    assert [fault.path for fault in raised.value.faults] == ["size", "sise"]
    assert "unknown key for policy 'mine', did you mean 'size'? (keys: path, size)" in str(raised.value)


# --- building ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [Config(size=2), {"size": 2}], ids=["instance", "mapping"])
def test_a_component_is_built_from_its_config_and_context(config: Any) -> None:
    assert manager_with(entry()).build("policy", "mine", config, "context")() == (2, "context")


def test_a_component_without_settings_is_built_from_the_defaults() -> None:
    assert manager_with(entry()).build("policy", "mine", None, None)() == (1, None)


@pytest.mark.parametrize("broken", AT_USE.values(), ids=AT_USE)
def test_what_fails_at_use_names_component_provider_and_reason(broken: Broken, tmp_path: Path) -> None:
    with discovered(broken.install(tmp_path)) as known:
        assert [record.state for record in known.plugins] == ["active"]
        with pytest.raises((PluginError, MissingDependencyError), match=broken.reason) as raised:
            known.build("policy", "acme.good", None, None)

    assert str(raised.value).startswith("policy 'acme.good' of acme-mimetic 1.0")


def test_what_made_a_component_fail_is_chained(tmp_path: Path) -> None:
    with (
        discovered(AT_USE["factory that raises"].install(tmp_path)) as known,
        pytest.raises(ComponentFailedError) as raised,
    ):
        known.build("policy", "acme.good", None, None)

    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_an_error_that_speaks_to_the_user_passes_as_it_is() -> None:
    with pytest.raises(DataError, match=r"^column 'x' is missing$"):
        manager_with(entry(factory="complain")).build("policy", "mine", None, None)


def test_ctrl_c_in_a_factory_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        manager_with(entry(factory="interrupt")).build("policy", "mine", None, None)


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (entry(factory="build_three", kind=AlgorithmEntry), "algorithm must have train, policy, state_dict"),
        (entry(factory="build_three", kind=LossEntry), "loss must have __call__"),
        (entry(factory="build_three", kind=DataSourceEntry), "data-source must have __iter__ or"),
        (entry(factory="build_three", kind=WrapperEntry, level="env"), "env wrapper must have reset, step"),
        (entry(factory="build_three", kind=WrapperEntry, level="venv"), "venv wrapper must have reset, step_async"),
        (entry(factory="build_three", kind=WrapperEntry, level="policy"), "policy wrapper must have __call__"),
        (entry(factory="build_three", kind=LoggerEntry), "logger must have write, close"),
        (entry(factory="build_three", kind=RewardEntry), "reward must have __call__"),
    ],
)
def test_a_factory_that_gives_another_kind_of_thing_is_named(offered: ComponentEntry, expected: str) -> None:
    with pytest.raises(ComponentFailedError, match=f"an object of type int; an? {expected}"):
        manager_with(offered).build(offered.kind, "mine", None, None)


# --- commands ---------------------------------------------------------------------------------------------------


def offered_command(**more: Any) -> Registry:
    return manager_with(CommandEntry(name="count", factory=f"{__name__}:command", summary="Counts words", **more))


def test_a_command_gets_its_words_and_gives_an_exit_status() -> None:
    assert offered_command().run_command("count", ["a", "b"]) == 2


def test_a_command_that_gives_no_exit_status_is_named() -> None:
    with pytest.raises(
        ComponentFailedError, match="command 'count' of entries 0 returned None; expected an exit status"
    ):
        offered_command().run_command("count", [])


def test_a_command_without_its_library_holds_the_command_that_mends_it() -> None:
    with pytest.raises(MissingDependencyError, match="pip install 'not-there>3'"):
        offered_command(requires=("not-there>3",)).run_command("count", [])


def test_a_command_has_no_settings() -> None:
    known = offered_command()

    with pytest.raises(PluginError, match="has no settings"):
        known.config_model(known.find("command", "count"))


# --- requirements -----------------------------------------------------------------------------------------------


def faults(text: str) -> list[str]:
    from packaging.requirements import Requirement

    return list(faults_of(Requirement(text)))


def test_an_installed_library_of_the_right_version_is_no_fault() -> None:
    assert faults("pluggy>=1.5") == []


def test_a_library_that_is_too_old_is_named_with_its_version() -> None:
    version = importlib.metadata.version("pluggy")
    assert faults("pluggy>=99") == [f"pluggy>=99, but pluggy {version} is installed"]


def test_a_requirement_for_another_platform_is_no_fault() -> None:
    assert faults("not-there; sys_platform == 'nowhere'") == []


def test_an_extra_counts_as_what_it_stands_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``acme[plot]`` is installed only when everything behind the extra is."""
    requires = ["pluggy", "not-there>=1; extra == 'plot'", "acme-mimetic[deep]; extra == 'all'"]
    monkeypatch.syspath_prepend(fake_distribution(tmp_path, requires=[*requires, "nor-this; extra == 'deep'"]))

    assert faults("acme-mimetic") == []
    assert faults("acme-mimetic[plot]") == ["not-there>=1, which is not installed"]
    assert faults("acme-mimetic[all]") == ["nor-this, which is not installed"]


def test_the_pip_line_names_what_is_absent_and_only_that() -> None:
    known = manager_with(entry(requires=("pluggy", "not-there", "nor-this>=2")))

    with pytest.raises(MissingDependencyError, match=re.escape("pip install not-there 'nor-this>=2'")):
        known.build("policy", "mine", None, None)


# --- the process's registry -------------------------------------------------------------------------------------


def test_another_registry_can_be_used_for_a_while() -> None:
    outer, inner = manager_with(), manager_with(entry())

    with using(outer):
        with using(inner):
            assert registry() is inner
        assert registry() is outer


def test_a_plugin_that_asks_for_components_while_it_is_discovered_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else discovery would call itself without end."""
    from mimetic.plugins import process

    folder = fake_distribution(tmp_path, "asking", plugin="from mimetic.plugins import registry\nregistry()")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(process, "_current", None)

    [record] = [record for record in registry().plugins if record.name == "asking"]

    assert "must not ask for components" in record.reason
