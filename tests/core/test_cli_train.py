"""``mimetic train`` and ``mimetic demo`` from the shell's side."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mimetic.cli import main

RUN_FILE = """\
env: {id: 'worlds:mimetic-tests/Len-v0'}
demonstrations: {name: npz, path: data.npz}
policy: {name: mlp, net_arch: [8]}
algorithm: {name: bc, n_epochs: 2, batch_size: 50}
evaluation: {n_episodes: 3}
loggers: [csv]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    obs = np.arange(100, dtype=np.float32)[:, None] % 5
    np.savez(tmp_path / "data.npz", obs=obs, acts=(obs[:, 0] % 2).astype(np.int64))
    (tmp_path / "parity.yaml").write_text(RUN_FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_train_tells_the_mean_return_and_where_folder_and_policy_lie(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "parity.yaml"]) == 0

    assert capsys.readouterr().out.splitlines()[-3:] == [
        "mean return: 5.0 over 3 episodes",
        f"run folder: {folder / 'runs' / 'parity'}",
        f"policy: {folder / 'runs' / 'parity' / 'policy.safetensors'}",
    ]


def test_overrides_and_out_may_stand_in_any_order(folder: Path) -> None:
    assert main(["train", "parity.yaml", "seed=4", "--out", "here", "algorithm.n_epochs=1"]) == 0

    said = json.loads((folder / "here" / "manifest.json").read_text())
    assert (said["seed"], said["n_epochs"]) == (4, 1)


def test_without_an_evaluation_no_return_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "parity.yaml", "evaluation=null", "--out", "here"]) == 0

    assert "mean return" not in capsys.readouterr().out


def test_a_folder_that_is_not_empty_is_refused_with_status_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "here").mkdir()
    (folder / "here" / "keep").touch()

    assert main(["train", "parity.yaml", "--out", "here"]) == 2

    told = capsys.readouterr().err
    assert "here: exists and is not empty, and nothing is written over" in told
    assert "Traceback" not in told
    assert [path.name for path in (folder / "here").iterdir()] == ["keep"]


def test_every_fault_of_a_run_file_is_told_at_once_with_status_2(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "parity.yaml", "policy.net_arhc=[1]", "algorithm.batch_size=0"]) == 2

    told = capsys.readouterr().err
    assert "net_arhc" in told
    assert "batch_size" in told
    assert not (folder / "runs").exists() or not any((folder / "runs").iterdir())


@pytest.mark.filterwarnings("default")
def test_warnings_are_sentences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Actions out of bounds are worth a note, and a note needs no line of code beside it."""
    np.savez(folder / "wild.npz", obs=np.zeros((10, 1), np.float32), acts=np.full((10, 1), 5.0, np.float32))
    changes = ["env.id=worlds:mimetic-tests/Cont-v0", "demonstrations.0.path=wild.npz"]

    assert main(["train", "parity.yaml", *changes, "--out", "here"]) == 0

    told = capsys.readouterr().err
    assert told.startswith("mimetic: warning: ")
    assert ".py:" not in told


def test_no_progress_bar_is_drawn_where_no_terminal_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", "parity.yaml", "--out", "here"])

    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_ctrl_c_ends_a_run_with_status_130_and_files_that_can_be_read(folder: Path) -> None:
    words = ["train", "parity.yaml", "algorithm.n_epochs=1000000", "algorithm.log_interval=10", "--out", "here"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1]), "PYTHONWARNINGS": "default"}
    run = subprocess.Popen(
        [sys.executable, "-m", "mimetic", *words], env=environment, stderr=subprocess.PIPE, text=True
    )
    table = folder / "here" / "progress.csv"
    deadline = time.monotonic() + 120
    while not (table.exists() and table.read_text().count("\n") > 3):
        assert time.monotonic() < deadline, "no record was written"
        assert run.poll() is None, "the run ended by itself"
        time.sleep(0.05)

    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=60)

    assert run.returncode == 130
    assert "ResourceWarning" not in told
    assert "Traceback" not in told
    assert json.loads((folder / "here" / "manifest.json").read_text())["status"] == "interrupted"
    assert (folder / "here" / "interrupted.safetensors").exists()
    assert table.read_text().endswith("\n")


@pytest.mark.slow
def test_the_demo_learns_to_balance_and_says_where_everything_lies(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mimetic", "demo", "--out", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    said = re.search(r"^mean return: ([\d.]+) over 20 episodes$", done.stdout, re.MULTILINE)
    assert said is not None
    assert float(said[1]) >= 475
    assert f"run folder: {tmp_path / 'run'}" in done.stdout
    assert f"policy: {tmp_path / 'run' / 'policy.safetensors'}" in done.stdout
    assert f"videos: {tmp_path / 'run' / 'videos' / 'env-000.mp4'}" in done.stdout
    assert (tmp_path / "run" / "videos" / "index.json").exists()
