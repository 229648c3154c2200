"""The same run file gives the same bytes, whatever is watched, logged or filmed beside it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mimetic.run import execute
from shared import shared_data

RUN: dict[str, Any] = {
    "env": {"id": "CartPole-v1"},
    "demonstrations": [{"name": "demo", "n_trajectories": 2}],
    "algorithm": {"name": "bc", "n_epochs": 2, "batch_size": 64, "log_interval": 7},
    "loggers": ["jsonl"],
}


def policy_bytes(out: Path, **changes: Any) -> bytes:
    return execute({**RUN, **changes}, out=out).policy_path.read_bytes()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return policy_bytes(tmp_path_factory.mktemp("plain") / "run")


def test_a_run_file_run_twice_gives_equal_bytes(plain: bytes, tmp_path: Path) -> None:
    assert policy_bytes(tmp_path / "run") == plain


def test_another_seed_gives_other_bytes(plain: bytes, tmp_path: Path) -> None:
    assert policy_bytes(tmp_path / "run", seed=1) != plain


def test_another_process_gives_equal_bytes(plain: bytes, tmp_path: Path) -> None:
    program = f"import sys\nfrom mimetic.run import execute\nexecute({RUN!r}, out=sys.argv[1])\n"

    subprocess.run([sys.executable, "-c", program, str(tmp_path / "run")], check=True, capture_output=True)

    assert (tmp_path / "run" / "policy.safetensors").read_bytes() == plain


@pytest.mark.parametrize(
    "changes",
    [
        {"loggers": []},
        {"loggers": ["stdout", "log", "csv", "jsonl"]},
        {"evaluation": {"n_episodes": 2}},
        {"evaluation": {"n_episodes": 2, "every_n_epochs": 1, "n_envs": 2}},
        {"evaluation": {"n_episodes": 2, "every_n_epochs": 1, "deterministic": False}},
        {"name": "other"},
    ],
    ids=["no loggers", "all loggers", "evaluated", "evaluated every epoch", "evaluated stochastically", "renamed"],
)
def test_what_is_watched_does_not_move_what_is_learned(plain: bytes, tmp_path: Path, changes: dict[str, Any]) -> None:
    assert policy_bytes(tmp_path / "run", **changes) == plain


def test_the_state_of_global_random_streams_does_not_move_what_is_learned(plain: bytes, tmp_path: Path) -> None:
    import torch

    torch.manual_seed(12345)

    assert policy_bytes(tmp_path / "run") == plain


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*infos are left out:UserWarning", "ignore:.*the ending flag:UserWarning")
@pytest.mark.parametrize(("example", "seed", "bar"), [("cartpole", 0, 475.0), ("pendulum", 1, -250.0)])
def test_an_example_over_recorded_demonstrations_meets_its_bar(
    example: str, seed: int, bar: float, tmp_path: Path
) -> None:
    """Other people's demonstrations: means of 473 (CartPole) and -189 (Pendulum)."""
    from mimetic.config import load_run_file

    data = shared_data(f"imitation/{example}_rollouts.npz")
    run_file = Path(__file__).resolve().parents[2] / "docs" / "examples" / f"{example}.yaml"
    overrides = [f"demonstrations.0.path={data}", f"seed={seed}", "loggers=[csv]"]

    result = execute(load_run_file(run_file, overrides), out=tmp_path / "run")

    assert result.evaluation is not None
    assert float(result.evaluation.statistics["return_mean"] or 0) >= bar
