"""What an examination finds in distributions that are broken for real, each installed and looked at by itself."""

import re
import sys
from pathlib import Path

import pytest

from broken_distributions import AT_DISCOVERY, AT_USE, FATAL, MODEL, ODD, Broken, good_plugin
from mimetic.plugins import PluginState, discover, using
from mimetic.plugins.installed import installed_candidates
from mimetic.testing import check_plugin, fake_distribution
from mimetic.testing.examination import Depth, Level, PluginReport, examine

EVERYTHING: dict[str, Broken] = {**AT_DISCOVERY, **AT_USE, **ODD, **FATAL}
VENDORS = {title: f"vendor{number:02}" for number, title in enumerate(EVERYTHING)}
LATE = {"hangs at import"}

ACTING = """
from mimetic.policies import UniformActor

def build(config, context):
    return UniformActor(context.action_space, context.seed)
"""


def examined(folder: Path, **options: object) -> dict[str, PluginReport]:
    candidates = installed_candidates([str(folder)])
    return {report.name: report for report in examine(candidates, **options)}  # type: ignore[arg-type]  # as given


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PluginReport]:
    """Examine all of them, installed beside one another and beside one that is good."""
    folder = tmp_path_factory.mktemp("site")
    for title, vendor in VENDORS.items():
        if title not in LATE:
            EVERYTHING[title].install_as(vendor, folder)
    files = {"good_mimetic/config.py": MODEL, "good_mimetic/policy.py": ACTING}
    fake_distribution(folder, "good-mimetic", plugin=_stating_its_api(good_plugin("good.policy")), files=files)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        return examined(folder)


def _stating_its_api(plugin: str) -> str:
    return (
        plugin.replace("def mimetic_policies", "def mimetic_policies", 1)
        .replace("@hookimpl", "MIMETIC_API = (1, 0)\n\n    @hookimpl", 1)
        .replace("summary=", "trainable=False, summary=")
    )


def found(report: PluginReport, *levels: Level) -> str:
    return "\n".join(f"{each.about}: {each.message}" for each in report.findings if each.level in levels)


@pytest.mark.parametrize("title", AT_DISCOVERY)
def test_what_keeps_a_plugin_from_loading_is_found(title: str, reports: dict[str, PluginReport]) -> None:
    report, broken = reports[VENDORS[title]], AT_DISCOVERY[title].by(VENDORS[title])

    assert (report.provider, report.state) == (f"{VENDORS[title]}-mimetic 1.0", broken.state)
    assert not report.ok
    assert re.search(broken.reason, report.reason), report.reason


@pytest.mark.parametrize("title", AT_USE)
def test_what_only_settings_or_implementation_can_show_is_found(title: str, reports: dict[str, PluginReport]) -> None:
    report, broken = reports[VENDORS[title]], AT_USE[title].by(VENDORS[title])
    reason = broken.reason.partition(r"\. Install")[0]

    assert report.state == PluginState.ACTIVE
    assert re.search(reason, found(report, Level.ERROR, Level.WARNING)), report.findings
    assert report.ok == (title == "missing optional dependency")


@pytest.mark.parametrize("title", [title for title in FATAL if title not in LATE])
def test_a_plugin_that_takes_the_interpreter_down_is_outlived(title: str, reports: dict[str, PluginReport]) -> None:
    report, broken = reports[VENDORS[title]], FATAL[title].by(VENDORS[title])

    assert report.state == broken.state
    assert re.search(broken.reason, found(report, Level.ERROR)), report.findings


def test_a_plugin_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FATAL["hangs at import"].install(tmp_path))

    report = examined(tmp_path, timeout_s=3)["acme"]

    assert re.search(FATAL["hangs at import"].reason, report.reason)


def test_what_a_plugin_leaves_running_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n" + good_plugin(
        "acme.policy", "acme_mimetic"
    ).replace("\n    ", "\n")
    monkeypatch.syspath_prepend(fake_distribution(tmp_path, plugin=plugin))

    report = examined(tmp_path, timeout_s=60, depth=lambda _: Depth.ENTRIES)["acme"]

    assert (report.state, report.ok) == (PluginState.ACTIVE, True)


def test_a_heavy_import_is_an_error(reports: dict[str, PluginReport]) -> None:
    report = reports[VENDORS["heavy import"]]

    assert report.heavy == ["numpy"]
    assert re.search(ODD["heavy import"].reason, found(report, Level.ERROR))


def test_a_slow_import_is_a_warning(reports: dict[str, PluginReport]) -> None:
    report = reports[VENDORS["slow import"]]

    assert report.import_s is not None
    assert report.import_s > 1
    assert re.search(ODD["slow import"].reason, found(report, Level.WARNING))


def test_a_plugin_that_is_in_order_has_no_finding_but_undocumented_settings(reports: dict[str, PluginReport]) -> None:
    report = reports["good"]

    assert (report.state, report.ok, report.api, report.heavy) == (PluginState.ACTIVE, True, "1.0", [])
    assert [each.message for each in report.findings if each.level == Level.WARNING] == [
        "no text says what its settings mean: size"
    ]
    [component] = report.components
    assert (component.kind, component.name) == ("policy", "good.policy")
    assert component.held > 8
    assert component.failed == 0


def test_nothing_of_a_plugin_is_imported_by_who_examines_it(reports: dict[str, PluginReport]) -> None:
    assert reports
    assert not [name for name in sys.modules if name.startswith("vendor")]


def test_an_interface_that_is_not_stated_is_a_warning(reports: dict[str, PluginReport]) -> None:
    report = reports[VENDORS["printing import"]]

    assert report.api is None
    assert "write MIMETIC_API = (1, 0)" in found(report, Level.WARNING)


def test_without_contracts_no_component_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FATAL["leaves when it is built"].install(tmp_path))

    report = examined(tmp_path, depth=lambda _: Depth.IMPORTS)["acme"]

    assert report.ok


def test_settings_whose_module_is_heavy_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"acme_mimetic/config.py": "import numpy\n" + MODEL, "acme_mimetic/policy.py": ACTING}
    monkeypatch.syspath_prepend(
        fake_distribution(tmp_path, plugin=good_plugin("acme.policy", "acme_mimetic"), files=files)
    )

    report = examined(tmp_path, depth=lambda _: Depth.IMPORTS)["acme"]

    assert "the module of its settings imports numpy" in found(report, Level.ERROR)


def test_a_factory_that_takes_other_arguments_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "def build(config):\n    pass\n"}
    monkeypatch.syspath_prepend(
        fake_distribution(tmp_path, plugin=good_plugin("acme.policy", "acme_mimetic"), files=files)
    )

    report = examined(tmp_path)["acme"]

    assert "cannot be called with (config, context): too many positional arguments" in found(report, Level.ERROR)


# --- plugins that are in one another's way ------------------------------------------------------------------------


def test_a_name_that_two_plugins_offer_is_an_error_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in ("acme", "beta"):
        files = {f"{vendor}_mimetic/config.py": MODEL, f"{vendor}_mimetic/policy.py": ACTING}
        plugin = good_plugin("same.name", f"{vendor}_mimetic")
        fake_distribution(tmp_path, f"{vendor}-mimetic", plugin=plugin, files=files)
    monkeypatch.syspath_prepend(tmp_path)

    both = examined(tmp_path, depth=lambda _: Depth.IMPORTS)

    assert "policy 'same.name': beta-mimetic 1.0 (plugin 'beta') offers a policy of this name too" in found(
        both["acme"], Level.ERROR
    )
    assert "acme-mimetic 1.0 (plugin 'acme') offers" in found(both["beta"], Level.ERROR)


def test_of_two_plugins_of_one_name_the_one_that_discovery_takes_is_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for vendor in ("acme", "beta"):
        plugin = good_plugin(f"{vendor}.policy", f"{vendor}_mimetic")
        points = {"same": f"{vendor}_mimetic.plugin"}
        fake_distribution(tmp_path, f"{vendor}-mimetic", plugin=plugin, entry_points=points)
    monkeypatch.syspath_prepend(tmp_path)

    first, second = examine(installed_candidates([str(tmp_path)]), depth=lambda _: Depth.IMPORTS)

    assert (first.distribution, first.state) == ("acme-mimetic", PluginState.ACTIVE)
    assert (second.distribution, second.state) == ("beta-mimetic", PluginState.DUPLICATE)
    assert "acme-mimetic 1.0 (entry point acme_mimetic.plugin) has the name 'same' too and wins" in second.reason


def test_a_second_version_on_the_path_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.0", "2.0"):
        plugin = good_plugin("acme.policy", "acme_mimetic")
        monkeypatch.syspath_prepend(fake_distribution(tmp_path / version, version=version, plugin=plugin))
    paths = [str(tmp_path / version) for version in ("2.0", "1.0")]

    reports = examine(installed_candidates(paths), depth=lambda _: Depth.IMPORTS)

    [hidden] = [report for report in reports if report.state == PluginState.DUPLICATE]
    assert hidden.version == "1.0"
    assert "another copy of the distribution hides it: acme-mimetic 2.0" in hidden.reason


def test_metadata_that_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"acme_mimetic-1.0.dist-info/entry_points.txt": "[mimetic]\nno equals sign\n"}
    monkeypatch.syspath_prepend(fake_distribution(tmp_path, files=files))

    [report] = examine(installed_candidates([str(tmp_path)]))

    assert (report.state, report.ok) == (PluginState.BROKEN, False)


# --- as a test ----------------------------------------------------------------------------------------------------


def test_a_plugin_in_order_passes_its_check() -> None:
    report = check_plugin("mimetic_loggers.plugin")

    assert (report.name, report.state, report.api) == ("loggers", PluginState.ACTIVE, "1.0")


def test_a_plugin_that_is_wrong_fails_its_check_with_every_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = AT_USE["config that allows unknown keys"]
    monkeypatch.syspath_prepend(broken.install(tmp_path))

    with pytest.raises(AssertionError, match=r"acme_mimetic\.plugin \(acme-mimetic 1\.0\):\npolicy .*unknown keys"):
        check_plugin("acme_mimetic.plugin")


def test_a_name_that_another_plugin_has_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": ACTING}
    monkeypatch.syspath_prepend(fake_distribution(tmp_path, plugin=good_plugin("mlp", "acme_mimetic"), files=files))

    with using(discover()), pytest.raises(AssertionError, match=r"policy 'mlp' is offered by .*\(plugin 'acme'\)"):
        check_plugin("acme_mimetic.plugin")


def test_a_module_that_no_entry_point_names_fails_its_check() -> None:
    with pytest.raises(AssertionError, match=r"no installed entry point .* names 'acme\.plugin'.*pip install -e \."):
        check_plugin("acme.plugin")
