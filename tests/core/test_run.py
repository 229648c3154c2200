"""One run from run file to result: what it writes, what it refuses, what it tells, and what it leaves as it was."""

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from mimetic import Trajectory, save_demonstrations, storage
from mimetic.errors import (
    ComponentFailedError,
    ConfigError,
    DataError,
    MimeticError,
    SpaceError,
    TargetExistsError,
)
from mimetic.plugins import discover, using
from mimetic.run import RunInfo, RunResult, execute
from mimetic.testing import fake_distribution

WATCHING = """
    from mimetic import AlgorithmEntry, LoggerEntry, hookimpl

    EVENTS = []

    @hookimpl
    def mimetic_run_started(run):
        EVENTS.append(("started", run))

    @hookimpl
    def mimetic_epoch_ended(run, report):
        EVENTS.append(("epoch", report))

    @hookimpl
    def mimetic_evaluated(run, epoch, result):
        EVENTS.append(("evaluated", epoch, result))

    @hookimpl
    def mimetic_run_finished(run, result):
        EVENTS.append(("finished", result))

    @hookimpl
    def mimetic_run_failed(run, error):
        EVENTS.append(("failed", error))

    @hookimpl
    def mimetic_algorithms():
        yield AlgorithmEntry(
            name="watching.ending", config="watching_parts:EndingConfig", factory="watching_parts:build", summary="Ends"
        )

    @hookimpl
    def mimetic_loggers():
        yield LoggerEntry(
            name="watching.broken", config="watching_parts:NoConfig", factory="watching_parts:Broken", summary="Breaks"
        )
"""

PARTS = """
    from mimetic import ComponentConfig, Report

    class NoConfig(ComponentConfig):
        pass

    class EndingConfig(ComponentConfig):
        by: str

    class Broken:
        def __init__(self, config, context):
            pass

        def write(self, record):
            raise OSError("no space left")

        def close(self):
            pass

    class Ending:
        facts = {"engine": "none"}

        def __init__(self, config, context):
            self.policy, self.by = context.policy, config.by

        def train(self):
            yield Report(step=0, epoch=0, samples=1, values={"loss": 1.0})
            raise {"ctrl-c": KeyboardInterrupt, "error": RuntimeError}[self.by]("enough")

        def state_dict(self):
            return {}

        def load_state_dict(self, state):
            pass

    def build(config, context):
        return Ending(config, context)
"""


@pytest.fixture(scope="module")
def watching_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    return fake_distribution(folder, "watching-mimetic", plugin=WATCHING, files={"watching_parts.py": PARTS})


@pytest.fixture
def events(watching_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Let a plugin watch the run, and give what it saw."""
    monkeypatch.syspath_prepend(watching_folder)
    with using(discover()):
        import watching_mimetic.plugin as plugin  # type: ignore[import-not-found]  # written by the fixture

        plugin.EVENTS.clear()
        yield plugin.EVENTS


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A hundred observations of `Len`, and the action that is their parity."""
    path = tmp_path / "data.npz"
    obs = np.arange(100, dtype=np.float32)[:, None] % 5
    np.savez(path, obs=obs, acts=(obs[:, 0] % 2).astype(np.int64))
    return path


def a_run(data: Path, **changes: Any) -> dict[str, Any]:
    return {
        "name": "parity",
        "env": {"id": "worlds:mimetic-tests/Len-v0"},
        "demonstrations": [{"name": "npz", "path": str(data)}],
        "policy": {"name": "mlp", "net_arch": [8]},
        "algorithm": {"name": "bc", "n_epochs": 2, "batch_size": 50},
        "evaluation": {"n_episodes": 2},
        "loggers": ["csv", "jsonl"],
        **changes,
    }


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def manifest(folder: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return said


# --- what a run leaves --------------------------------------------------------------------------------------------


def test_a_run_leaves_config_manifest_logs_policy_and_evaluation(data: Path, tmp_path: Path) -> None:
    result = execute(a_run(data), out=tmp_path / "run")

    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "config.yaml",
        "evaluation.json",
        "manifest.json",
        "metrics.jsonl",
        "policy.safetensors",
        "progress.csv",
    ]
    assert result.dir == tmp_path / "run"
    assert (result.n_steps, result.n_epochs) == (4, 2)


def test_the_saved_policy_acts_as_the_trained_one_and_knows_its_environment(data: Path, tmp_path: Path) -> None:
    result = execute(a_run(data), out=tmp_path / "run")

    loaded = storage.load_policy(result.policy_path)
    obs = np.arange(5, dtype=np.float32)[:, None]
    assert (loaded.predict(obs, deterministic=True)[0] == result.policy.predict(obs, deterministic=True)[0]).all()
    env = storage.read_policy_file(result.policy_path).env
    assert env is not None
    assert env["id"] == "worlds:mimetic-tests/Len-v0"


def test_the_evaluation_is_the_result_and_the_file(data: Path, tmp_path: Path) -> None:
    result = execute(a_run(data), out=tmp_path / "run")

    written = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert result.evaluation is not None
    assert written == result.evaluation.as_dict()
    assert written["return_mean"] == 5.0
    assert len(written["episodes"]) == 2


def test_without_an_evaluation_no_environment_is_needed(tmp_path: Path, data: Path) -> None:
    """The spaces come from the data where they state them."""
    obs = np.arange(5, dtype=np.float32)[:, None]
    trajectories = [Trajectory(obs, np.array([0, 1, 0, 1]), None, terminal=True)]
    box = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    save_demonstrations(
        trajectories, tmp_path / "native.safetensors", observation_space=box, action_space=spaces.Discrete(2)
    )
    source = {"name": "native", "path": str(tmp_path / "native.safetensors")}

    result = execute(a_run(data, env=None, evaluation=None, demonstrations=[source]), out=tmp_path / "run")

    assert result.evaluation is None
    assert not (tmp_path / "run" / "evaluation.json").exists()
    assert result.policy.action_space == spaces.Discrete(2)


def test_the_manifest_says_what_the_policy_depends_on(data: Path, tmp_path: Path) -> None:
    execute(a_run(data, seed=3), out=tmp_path / "run")

    said = manifest(tmp_path / "run")
    assert said["status"] == "finished"
    assert (said["name"], said["seed"], said["threads"], said["n_steps"], said["n_epochs"]) == ("parity", 3, 1, 4, 2)
    assert said["device"] in ("cpu", "cuda")
    assert said["engine"]
    assert said["versions"]["torch"] == torch.__version__
    assert {each["name"] for each in said["plugins"]} >= {"bc", "policies", "sources", "loggers"}
    (source,) = said["data"]
    assert (source["source"], source["n_transitions"], len(source["fingerprint"])) == ("npz", 100, 64)


def test_sources_are_concatenated(data: Path, tmp_path: Path) -> None:
    source = {"name": "npz", "path": str(data)}

    result = execute(a_run(data, demonstrations=[source, source]), out=tmp_path / "run")

    assert result.n_steps == 8
    assert [each["n_transitions"] for each in manifest(tmp_path / "run")["data"]] == [100, 100]


def test_a_path_in_a_run_file_is_relative_to_the_file(data: Path, tmp_path: Path) -> None:
    run_file = tmp_path / "parity.yaml"
    run_file.write_text(
        "env: {id: 'worlds:mimetic-tests/Len-v0'}\n"
        "demonstrations: [{name: npz, path: data.npz}]\n"
        "algorithm: {name: bc, n_batches: 1}\n"
    )  # fmt: skip

    result = execute(run_file, out=tmp_path / "run")

    assert manifest(result.dir)["name"] == "parity"
    assert str(data) in (result.dir / "config.yaml").read_text()


def test_the_resolved_run_file_repeats_the_run(data: Path, tmp_path: Path) -> None:
    first = execute(a_run(data), out=tmp_path / "first")

    second = execute(first.dir / "config.yaml", out=tmp_path / "second")

    assert first.policy_path.read_bytes() == second.policy_path.read_bytes()
    assert (first.dir / "config.yaml").read_text() == (second.dir / "config.yaml").read_text()
    assert (first.dir / "evaluation.json").read_text() == (second.dir / "evaluation.json").read_text()


# --- what is logged -----------------------------------------------------------------------------------------------


def test_a_default_run_logs_loss_entropy_and_probability_for_each_interval(data: Path, tmp_path: Path) -> None:
    execute(a_run(data, algorithm={"name": "bc", "n_batches": 6, "log_interval": 2}), out=tmp_path / "run")

    with_loss = {each["step"]: each for each in records(tmp_path / "run") if "bc/loss" in each}
    assert {0, 2, 4} <= set(with_loss)
    assert {"bc/loss", "bc/neglogp", "bc/entropy", "bc/prob_true_act"} <= set(with_loss[2])


def test_the_return_is_logged_every_n_epochs(data: Path, tmp_path: Path) -> None:
    evaluation = {"n_episodes": 1, "every_n_epochs": 2}

    execute(a_run(data, algorithm={"name": "bc", "n_epochs": 5}, evaluation=evaluation), out=tmp_path / "run")

    evaluated = [each for each in records(tmp_path / "run") if "evaluation/return_mean" in each]
    assert [each["epoch"] for each in evaluated] == [2, 4, 5]
    assert [each["evaluation/return_mean"] for each in evaluated] == [5.0, 5.0, 5.0]


def test_a_last_epoch_that_was_evaluated_is_not_evaluated_again(data: Path, tmp_path: Path, events: list[Any]) -> None:
    execute(a_run(data, evaluation={"n_episodes": 1, "every_n_epochs": 1}), out=tmp_path / "run")

    assert [event[1] for event in events if event[0] == "evaluated"] == [1, 2]


def test_the_table_has_a_step_in_every_row(data: Path, tmp_path: Path) -> None:
    execute(a_run(data), out=tmp_path / "run")

    with (tmp_path / "run" / "progress.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert all(row["step"].isdigit() for row in rows)
    assert [int(row["step"]) for row in rows] == sorted(int(row["step"]) for row in rows)


def test_a_logger_that_fails_does_not_end_the_run(
    data: Path, tmp_path: Path, events: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    result = execute(a_run(data, loggers=["watching.broken", "csv"]), out=tmp_path / "run")

    assert result.policy_path.exists()
    assert "logger 'watching.broken' failed in write()" in capsys.readouterr().err


# --- who is told --------------------------------------------------------------------------------------------------


def test_observers_are_told_of_start_epochs_evaluation_and_end(data: Path, tmp_path: Path, events: list[Any]) -> None:
    result = execute(a_run(data), out=tmp_path / "run")

    assert [event[0] for event in events] == ["started", "epoch", "epoch", "evaluated", "finished"]
    run = events[0][1]
    assert isinstance(run, RunInfo)
    assert (run.name, run.dir, run.seed) == ("parity", tmp_path / "run", 0)
    assert [event[1].epoch for event in events[1:3]] == [1, 2]
    assert events[3][1] == 2
    assert isinstance(events[4][1], RunResult)
    assert events[4][1] is result


def test_observers_are_told_what_ended_a_run(data: Path, tmp_path: Path, events: list[Any]) -> None:
    with pytest.raises(ComponentFailedError, match="enough"):
        execute(a_run(data, algorithm={"name": "watching.ending", "by": "error"}), out=tmp_path / "run")

    assert [event[0] for event in events] == ["started", "failed"]
    assert "of watching-mimetic 1.0 raised RuntimeError: enough" in str(events[1][1])


def test_a_run_that_fails_keeps_its_log_and_says_why(data: Path, tmp_path: Path, events: list[Any]) -> None:
    with pytest.raises(ComponentFailedError, match="enough"):
        execute(a_run(data, algorithm={"name": "watching.ending", "by": "error"}), out=tmp_path / "run")

    said = manifest(tmp_path / "run")
    assert said["status"] == "failed"
    assert "of watching-mimetic 1.0 raised RuntimeError: enough" in said["error"]
    assert [each["loss"] for each in records(tmp_path / "run")] == [1.0]
    assert not (tmp_path / "run" / "policy.safetensors").exists()


def test_ctrl_c_keeps_the_weights_under_another_name(data: Path, tmp_path: Path, events: list[Any]) -> None:
    """`policy.safetensors` always is a final policy."""
    with pytest.raises(KeyboardInterrupt):
        execute(a_run(data, algorithm={"name": "watching.ending", "by": "ctrl-c"}), out=tmp_path / "run")

    assert manifest(tmp_path / "run")["status"] == "interrupted"
    assert storage.load_policy(tmp_path / "run" / "interrupted.safetensors") is not None
    assert not (tmp_path / "run" / "policy.safetensors").exists()
    assert [event[0] for event in events] == ["started", "failed"]


# --- what is refused ----------------------------------------------------------------------------------------------


def test_a_second_run_into_the_same_folder_is_refused_and_changes_nothing(data: Path, tmp_path: Path) -> None:
    execute(a_run(data), out=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}

    with pytest.raises(TargetExistsError, match="nothing is written over"):
        execute(a_run(data, seed=1), out=tmp_path / "run")

    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_runs_without_a_folder_are_numbered_by_their_name(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    folders = [execute(a_run(data)).dir for _ in range(2)]

    assert folders == [tmp_path / "runs" / "parity", tmp_path / "runs" / "parity-2"]


def test_a_run_that_cannot_start_leaves_no_folder(data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError):
        execute(a_run(data, demonstrations=[{"name": "npz", "path": "nowhere.npz"}]), out=tmp_path / "run")

    assert not (tmp_path / "run").exists()


def test_spaces_that_nobody_states_are_asked_for(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="env: is missing, and no source of demonstrations states"):
        execute(a_run(data, env=None, evaluation=None), out=tmp_path / "run")


def test_an_evaluation_without_an_environment_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="env"):
        execute(a_run(data, env=None), out=tmp_path / "run")


def test_demonstrations_of_another_space_are_refused_by_name(data: Path, tmp_path: Path) -> None:
    """The shipped demonstrations are CartPole's, with observations of four numbers; `Len` has one."""
    with pytest.raises(SpaceError, match=r"environment '.*Len-v0' and demonstrations\.0 \(demo\) have different"):
        execute(a_run(data, demonstrations=["demo"]), out=tmp_path / "run")


def test_rollouts_over_a_file_that_exists_are_refused_before_training(
    data: Path, tmp_path: Path, events: list[Any]
) -> None:
    evaluation = {"n_episodes": 1, "save_rollouts": str(data)}

    with pytest.raises(TargetExistsError, match=r"save_rollouts: .*data\.npz exists"):
        execute(a_run(data, evaluation=evaluation), out=tmp_path / "run")

    assert events == []


def test_films_that_cannot_be_made_are_refused_before_training(
    data: Path, tmp_path: Path, events: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found out at the end, it would cost the hours of training before it."""
    monkeypatch.setattr("imageio_ffmpeg.get_ffmpeg_exe", lambda: str(tmp_path / "no-ffmpeg"))

    with pytest.raises(MimeticError, match="ffmpeg"):
        execute(a_run(data, evaluation={"n_episodes": 1, "videos": "one"}), out=tmp_path / "run")

    assert events == []
    assert not (tmp_path / "run").exists()


def test_the_counted_episodes_are_filmed(data: Path, tmp_path: Path) -> None:
    execute(a_run(data, evaluation={"n_episodes": 2, "videos": "episodes"}), out=tmp_path / "run")

    videos = tmp_path / "run" / "videos"
    assert {"episode-000000.mp4", "episode-000001.mp4", "index.json"} <= {path.name for path in videos.iterdir()}


def test_a_device_that_is_not_there_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="device: torch cannot use 'cuda:99' here"):
        execute(a_run(data, device="cuda:99"), out=tmp_path / "run")


# --- what is left as it was ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [None, "error"])
def test_threads_and_global_random_streams_are_as_before(
    data: Path, tmp_path: Path, events: list[Any], by: str | None
) -> None:
    changes = {} if by is None else {"algorithm": {"name": "watching.ending", "by": by}}
    torch.set_num_threads(2)
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = random.random(), np.random.random(), torch.rand(1).item()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    try:
        execute(a_run(data, **changes), out=tmp_path / "run")
    except ComponentFailedError:
        assert by is not None
    finally:
        n_threads = torch.get_num_threads()
        torch.set_num_threads(1)

    assert n_threads == 2
    assert (random.random(), np.random.random(), torch.rand(1).item()) == expected
