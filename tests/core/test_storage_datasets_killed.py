"""Whatever moment a process is killed at, a dataset on disk is the old one, the new one, or complete up to there."""

import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mimetic.storage import load_demonstrations
from mimetic.types import Trajectory

COMMON = """
import sys
import numpy as np
from mimetic.storage import DatasetWriter, save_demonstrations
from mimetic.types import Trajectory

def walk(value):
    return Trajectory(np.full((2001, 8), value, np.float64), np.full(2000, value, np.int64), None, True)
"""

WRITER = """
with DatasetWriter(sys.argv[1], shard_transitions=4000) as writer:
    print("ready", flush=True)
    for value in range(100_000):
        writer.append(walk(value))
"""

OVERWRITER = """
print("ready", flush=True)
for value in range(100_000):
    save_demonstrations([walk(value)], sys.argv[1], overwrite=True)
"""

FOLDER_OVERWRITER = """
with DatasetWriter(sys.argv[1], shard_transitions=2000) as writer:
    for _ in range(3):
        writer.append(walk(0))
print("ready", flush=True)
for value in range(100_000):
    save_demonstrations([walk(value)] * 3, sys.argv[1], overwrite=True)
"""


def run_and_kill(script: str, path: Path, delay_s: float) -> None:
    with subprocess.Popen([sys.executable, "-c", COMMON + script, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(delay_s)
        process.kill()


def values(trajectories: list[Trajectory]) -> list[int]:
    """Return the value of each trajectory, which fills all of its arrays."""
    found = []
    for trajectory in trajectories:
        value = int(trajectory.acts[0])
        assert np.array_equal(trajectory.acts, np.full(2000, value))
        assert np.array_equal(np.asarray(trajectory.obs), np.full((2001, 8), value))
        found.append(value)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_writer_leaves_every_file_that_its_index_lists(seed: int, tmp_path: Path) -> None:
    """D-7."""
    run_and_kill(WRITER, tmp_path / "d", random.Random(seed).uniform(0, 0.15))
    is_empty = not (tmp_path / "d" / "index.json").exists()  # killed before the first file was complete
    kept = [] if is_empty else values(list(load_demonstrations(tmp_path / "d")))

    assert kept == list(range(len(kept)))
    assert len(kept) % 2 == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_overwrite_leaves_the_old_dataset_or_the_new_one(seed: int, tmp_path: Path) -> None:
    """D-7."""
    run_and_kill(OVERWRITER, tmp_path / "d", random.Random(seed).uniform(0.02, 0.15))

    assert len(values(list(load_demonstrations(tmp_path / "d")))) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_overwrite_of_a_folder_leaves_the_old_dataset_or_the_new_one(seed: int, tmp_path: Path) -> None:
    """D-7: the index changes hands in one step."""
    run_and_kill(FOLDER_OVERWRITER, tmp_path / "d", random.Random(seed).uniform(0, 0.15))
    kept = values(list(load_demonstrations(tmp_path / "d")))

    assert len(kept) == 3
    assert len(set(kept)) == 1
