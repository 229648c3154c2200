"""Run folders: how they are named, what is refused, and what is written into them."""

import json
import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mimetic.errors import ConfigError, TargetExistsError
from mimetic.plugins import registry
from mimetic.rundir import (
    Manifest,
    RunDir,
    describe_machine,
    git_state,
    installed_versions,
    plugin_records,
    write_atomically,
)


def test_the_folder_that_is_named_is_the_folder(tmp_path: Path) -> None:
    run_dir = RunDir.create(tmp_path / "a" / "b", "cartpole")

    assert run_dir.path == tmp_path / "a" / "b"
    assert run_dir.path.is_dir()


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert RunDir.create(tmp_path, "cartpole").path == tmp_path


def test_a_folder_that_holds_something_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "policy.safetensors").write_text("a week of work")

    with pytest.raises(TargetExistsError, match="exists and is not empty, and nothing is written over") as caught:
        RunDir.create(tmp_path, "cartpole")

    assert caught.value.exit_status == 2
    assert (tmp_path / "policy.safetensors").read_text() == "a week of work"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(TargetExistsError, match="file: is a file"):
        RunDir.create(tmp_path / "file", "cartpole")


def test_runs_of_one_name_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    paths = [RunDir.create(None, "cartpole").path for _ in range(3)]

    assert paths == [tmp_path / "runs" / name for name in ("cartpole", "cartpole-2", "cartpole-3")]


def test_evaluations_are_numbered_from_one(tmp_path: Path) -> None:
    root = tmp_path / "evaluations"

    paths = [RunDir.create(None, "policy", root=root, number_first=True).path for _ in range(2)]

    assert paths == [root / "policy-1", root / "policy-2"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../up"])
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no name for a folder"):
        RunDir.create(None, name, root=tmp_path)


def test_a_run_that_could_not_start_leaves_no_folder(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "new", "cartpole").discard_if_empty()

    assert not (tmp_path / "new").exists()


def test_a_folder_that_was_there_or_has_content_stays(tmp_path: Path) -> None:
    RunDir.create(tmp_path, "cartpole").discard_if_empty()
    filled = RunDir.create(tmp_path / "new", "cartpole")
    filled.write_text("config.yaml", "seed: 0\n")
    filled.discard_if_empty()

    assert (tmp_path / "new" / "config.yaml").exists()


def test_numbers_that_json_lacks_become_null_in_json_files(tmp_path: Path) -> None:
    path = RunDir.create(tmp_path, "x").write_json("a.json", {"a": math.nan, "b": [math.inf, 1.5], "c": tmp_path})

    assert json.loads(path.read_text()) == {"a": None, "b": [None, 1.5], "c": str(tmp_path)}


def test_a_file_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the rename the old content is there, whole; afterwards only the new file is."""
    path = write_atomically(tmp_path / "a.json", "old")
    seen: list[str] = []
    rename: Callable[..., None] = os.replace

    def watched(source: Path, target: Path) -> None:
        seen.extend([Path(source).read_text(), Path(target).read_text()])
        rename(source, target)

    monkeypatch.setattr("os.replace", watched)
    write_atomically(path, "new")

    assert seen == ["new", "old"]
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]
    assert path.read_text() == "new"


# --- manifest -----------------------------------------------------------------------------------------------------


def read(tmp_path: Path) -> dict[str, object]:
    said: dict[str, object] = json.loads((tmp_path / "manifest.json").read_text())
    return said


def test_a_manifest_of_a_run_that_goes_on_has_no_end(tmp_path: Path) -> None:
    with Manifest(RunDir.create(tmp_path, "x"), {"seed": 3}).kept():
        said = read(tmp_path)

    assert (said["status"], said["finished"], said["duration_s"], said["seed"]) == ("running", None, None, 3)


def test_a_manifest_says_when_the_run_ended_and_what_turned_out(tmp_path: Path) -> None:
    manifest = Manifest(RunDir.create(tmp_path, "x"), {"seed": 3})
    with manifest.kept():
        manifest.add({"n_steps": 10})

    said = read(tmp_path)
    assert (said["status"], said["error"]) == ("finished", None)
    assert str(said["started"]) <= str(said["finished"])
    assert (said["seed"], said["n_steps"]) == (3, 10)


def test_a_manifest_says_what_ended_a_run_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such thing"), Manifest(RunDir.create(tmp_path, "x"), {}).kept():
        raise ValueError("no such thing")

    said = read(tmp_path)
    assert (said["status"], said["error"]) == ("failed", "ValueError: no such thing")
    assert said["finished"]


def test_a_manifest_says_that_a_run_was_interrupted(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Manifest(RunDir.create(tmp_path, "x"), {}).kept():
        raise KeyboardInterrupt

    assert read(tmp_path)["status"] == "interrupted"


def test_every_installed_distribution_has_its_version() -> None:
    import numpy as np

    versions = installed_versions()

    assert versions["numpy"] == np.__version__
    assert {"mimetic", "torch", "gymnasium"} <= set(versions)


def test_plugins_are_named_with_state_distribution_and_version() -> None:
    records = {each["name"]: each for each in plugin_records(registry())}

    assert records["loggers"]["state"] == "active"
    assert records["loggers"]["distribution"] == "mimetic"
    assert records["loggers"]["version"]


def test_the_machine_is_described_without_its_name() -> None:
    import platform

    described = describe_machine()

    assert described["python"] == platform.python_version()
    assert platform.node() not in " ".join(described.values())


def test_outside_git_there_is_no_git_state(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None


def test_git_state_is_the_commit_and_whether_it_was_changed(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        done = subprocess.run(["git", *identity, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "start")
    assert git_state(tmp_path) == {"commit": git("rev-parse", "HEAD"), "changed": False}

    (tmp_path / "new").touch()
    state = git_state(tmp_path)
    assert state is not None
    assert state["changed"] is True
