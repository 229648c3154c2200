import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from mimetic.cli import main
from mimetic.storage import save_demonstrations
from mimetic.types import Trajectory


def walk(n: int, value: float = 1.0) -> Trajectory:
    obs = np.full((n + 1, 2), value, np.float32)
    return Trajectory(obs, np.zeros(n, np.int64), None, True, rews=np.ones(n, np.float32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    box = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    save_demonstrations([walk(1), walk(3)], tmp_path / "d", observation_space=box, action_space=spaces.Discrete(2))
    return tmp_path / "d"


def inspected(capsys: pytest.CaptureFixture[str], source: object, expected_status: int = 0) -> dict[str, Any]:
    assert main(["data", "inspect", str(source), "--json"]) == expected_status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_json_has_counts_columns_and_statistics(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = inspected(capsys, path)

    assert (document["n_trajectories"], document["n_transitions"]) == (2, 4)
    assert document["columns"] == {
        "obs": {"dtype": "float32", "shape": [6, 2]},
        "acts": {"dtype": "int64", "shape": [4]},
        "rews": {"dtype": "float32", "shape": [4]},
    }
    statistics = {key: document[key] for key in document if key.startswith(("return_", "len_"))}
    assert statistics == {
        f"{what}_{name}": value
        for what in ("return", "len")
        for name, value in {"min": 1.0, "mean": 2.0, "std": 1.0, "max": 3.0}.items()
    }
    assert (document["n_terminated"], document["n_truncated"]) == (2, 0)
    assert document["action_space"] == "Discrete(2)"
    assert (document["faults"], document["notes"]) == ([], [])


def test_every_fault_is_listed_and_the_status_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    box = spaces.Box(-np.inf, np.inf, (3,), np.float32)
    save_demonstrations(
        [walk(2, np.nan)], tmp_path / "d", observation_space=box, action_space=spaces.Discrete(2, start=1)
    )
    document = inspected(capsys, tmp_path / "d", 2)

    assert len(document["faults"]) == 3
    assert "observation shape (2,) != space shape (3,)" in document["faults"][0]
    assert "3 non-finite observations, first at trajectory 0 step 0" in document["faults"][1]
    assert "action 0 at trajectory 0 step 0 is outside (2 rows in all)" in document["faults"][2]


def test_numbers_that_are_not_finite_are_null_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trajectory = Trajectory(np.zeros(3), np.zeros(2), None, True, rews=np.array([1.0, np.inf]))
    save_demonstrations([trajectory], tmp_path / "d")
    document = inspected(capsys, tmp_path / "d", 2)

    assert document["return_mean"] is None
    assert "1 non-finite reward, first at trajectory 0 step 1" in document["faults"][0]


@pytest.mark.parametrize("content", [None, b"nonsense"])
def test_a_source_that_cannot_be_read_is_a_fault(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "x.npz").write_bytes(content)

    (fault,) = inspected(capsys, tmp_path / "x.npz", 2)["faults"]
    assert fault.startswith(str(tmp_path / "x.npz"))


def test_what_is_noteworthy_is_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """BC-9: actions outside their bounds do not stop a training."""
    trajectory = Trajectory(np.zeros(3), np.full((2, 1), 5.0), None, True)
    save_demonstrations([trajectory], tmp_path / "d", action_space=spaces.Box(-1, 1, (1,)))
    (note,) = inspected(capsys, tmp_path / "d")["notes"]

    assert "2 of 2 transitions (100.0%) outside action space" in note


def test_a_spec_is_a_source_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspected(capsys, "demo:n_trajectories=2,max_steps=5")["n_transitions"] == 10


def test_single_steps_have_no_trajectories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "d.npz", obs=np.zeros((4, 2)), acts=np.zeros(4))
    document = inspected(capsys, tmp_path / "d.npz")

    assert (document["n_trajectories"], document["n_transitions"]) == (None, 4)
    assert document["return_mean"] is None


def test_people_get_a_table_on_standard_output_and_faults_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_demonstrations([walk(1), walk(3, np.nan)], tmp_path / "d")

    assert main(["data", "inspect", str(tmp_path / "d")]) == 2
    printed = capsys.readouterr()
    assert "2 trajectories (2 terminated, 0 truncated), 4 transitions" in printed.out
    assert "float32    (6, 2)" in printed.out
    assert "observation space  not stated" in printed.out
    assert printed.err.startswith(f"fault: {tmp_path / 'd'}: 4 non-finite observations, first at trajectory 1 step 0")


def test_the_command_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data"]) == 2
    assert main(["data", "inspect"]) == 2
    assert "SOURCE" in capsys.readouterr().err
