"""``mimetic config check`` on the resolved run file of a run that was made elsewhere says what differs here."""

import json
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from broken_distributions import AT_DISCOVERY
from mimetic.cli import main
from mimetic.testing import discovered, fake_distribution

RUN = """
demonstrations: [{name: npz, path: data.npz}]
policy: POLICY
algorithm: {name: bc, n_epochs: 1}
"""
LOSS = """
    from mimetic import LossEntry, hookimpl

    @hookimpl
    def mimetic_losses():
        yield LossEntry(name="acme.loss", config="acme_mimetic.config:C", factory="acme_mimetic.loss:b", summary="Pays")
"""

Checked = Callable[..., str]


def manifest(**changes: Any) -> dict[str, Any]:
    """Return the manifest that a run leaves here and now, with some of it changed."""
    own = version("mimetic")
    facts: dict[str, Any] = {
        "status": "finished",
        "versions": {name: version(name) for name in ("mimetic", "torch", "numpy", "stable_baselines3", "gymnasium")},
        "plugins": [{"name": "bc", "state": "active", "reason": "", "distribution": "mimetic", "version": own}],
        "machine": {"python": platform.python_version(), "machine": platform.machine()},
    }
    return {
        key: {**value, **changes.get(key, {})} if isinstance(value, dict) else changes.get(key, value)
        for key, value in facts.items()
    }


def acme(state: str = "active", number: str = "1.2.0") -> dict[str, str]:
    return {"name": "acme", "state": state, "reason": "", "distribution": "acme-mimetic", "version": number}


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Checked:
    """Check a run folder's config.yaml; return what was said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "data.npz").touch()

    def check(facts: object, *, status: int = 0, policy: str = "mlp", name: str = "config.yaml") -> str:
        (tmp_path / "run" / name).write_text(RUN.replace("POLICY", policy), encoding="utf-8")
        if facts is not None:
            text = facts if isinstance(facts, str) else json.dumps(facts)
            (tmp_path / "run" / "manifest.json").write_text(text, encoding="utf-8")
        assert main(["config", "check", f"run/{name}"]) == status
        printed = capsys.readouterr()
        return printed.err if status else printed.out

    return check


def test_where_nothing_differs_that_is_said(checked: Checked) -> None:
    assert checked(manifest()) == (
        "run/config.yaml: no fault found\n"
        "run/config.yaml: plugins, versions and paths are as they were when this run was made\n"
    )


@pytest.mark.parametrize(
    ("facts", "name"), [(None, "config.yaml"), ("{half of", "config.yaml"), ([], "config.yaml"), (manifest(), "a.yaml")]
)
def test_a_run_file_of_no_run_is_judged_by_itself(facts: object, name: str, checked: Checked) -> None:
    assert checked(facts, name=name) == f"run/{name}: no fault found\n"


def test_another_version_is_named(checked: Checked) -> None:
    said = checked(manifest(versions={"torch": "2.99.0", "stable_baselines3": "9.9"}))

    assert f"  torch is {version('torch')} here, it was 2.99.0\n" in said
    assert f"  stable-baselines3 is {version('stable-baselines3')} here, it was 9.9\n" in said
    assert "numpy" not in said


def test_libraries_that_no_run_needs_do_not_count(checked: Checked) -> None:
    assert "pytest" not in checked(manifest(versions={"pytest": "0.1"}))


def test_another_python_and_machine_are_named(checked: Checked) -> None:
    said = checked(manifest(machine={"python": "3.99.1", "machine": "abacus"}))

    assert f"Python is {platform.python_version()} here, it was 3.99.1" in said
    assert f"the machine is {platform.machine()} here, it was abacus" in said


def test_a_plugin_that_is_absent_comes_with_what_installs_it(checked: Checked) -> None:
    said = checked(manifest(plugins=[acme()]))

    assert "plugin 'acme' of acme-mimetic 1.2.0 is not installed here: pip install 'acme-mimetic==1.2.0'" in said


def test_a_plugin_that_did_not_count_there_is_not_missed(checked: Checked) -> None:
    assert "acme" not in checked(manifest(plugins=[acme(state="broken")]))


def test_a_plugin_of_another_version_is_named(checked: Checked, tmp_path: Path) -> None:
    folder = fake_distribution(tmp_path / "site", version="1.3.0", plugin=LOSS)

    with discovered(folder, alone=False):
        said = checked(manifest(plugins=[acme()]))

    assert "plugin 'acme' is of acme-mimetic 1.3.0 here, it was of acme-mimetic 1.2.0" in said


def test_a_plugin_that_is_broken_here_is_named_with_its_reason(checked: Checked, tmp_path: Path) -> None:
    with discovered(AT_DISCOVERY["import error"].install(tmp_path / "site"), alone=False):
        said = checked(manifest(plugins=[acme(number="1.0")]))

    assert "plugin 'acme' of acme-mimetic 1.0 is broken here: ModuleNotFoundError" in said


def test_data_of_another_machine_are_named(checked: Checked, tmp_path: Path) -> None:
    said = checked(manifest())
    (tmp_path / "run" / "data.npz").unlink()

    assert "data.npz" not in said
    assert f"demonstrations.0.path: {tmp_path / 'run' / 'data.npz'} is not there" in checked(manifest())


def test_what_differs_stands_before_the_faults_that_it_explains(checked: Checked) -> None:
    said = checked(manifest(plugins=[acme()]), status=2, policy="acme.policy").splitlines()

    assert "differs here from where this run was made" in said[0]
    assert "pip install 'acme-mimetic==1.2.0'" in said[1]
    assert "no policy is called 'acme.policy'" in said[2]
