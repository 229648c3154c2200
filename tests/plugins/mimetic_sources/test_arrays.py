from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mimetic.errors import DataError, PluginError
from mimetic.plugins import registry
from mimetic.storage import open_demonstrations
from mimetic.types import Demonstrations, Trajectory, TrajectoryDataset, TransitionsMinimal

SCRIPT = """
import dataclasses
import numpy as np
from mimetic.types import Trajectory

OBS, ACTS = np.arange(4.0)[:, None], np.arange(3)
pairs = (OBS[:3], ACTS)
columns = {"obs": OBS, "acts": ACTS, "rews": np.ones(3), "terminals": [True]}
episodes = [(OBS, ACTS), (OBS[:2], ACTS[:1])]
episode_mappings = [{"obs": OBS, "acts": ACTS, "terminal": True}]
batches = [{"obs": OBS[:3], "acts": ACTS}]
misspelt = {"obs": OBS, "actions": ACTS}
number = 3

class Namespace:
    inner = pairs

@dataclasses.dataclass
class Row:  # a dataclass looks its module up
    x: int

def trajectories():
    return [Trajectory(OBS, ACTS, None, True)]

def generator():
    yield from trajectories()

def broken():
    raise RuntimeError("disk on fire")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(SCRIPT)
    return tmp_path / "mine.py"


def opened(script: Path, attribute: str, options: str = "") -> Demonstrations:
    return open_demonstrations(f"arrays:path={script}:{attribute}{options}")


@pytest.mark.parametrize("attribute", ["pairs", "Namespace.inner"])
def test_a_pair_of_arrays_is_enough(attribute: str, script: Path) -> None:
    """D-5."""
    assert isinstance(opened(script, attribute).data, TransitionsMinimal)


@pytest.mark.parametrize(
    ("attribute", "lengths"),
    [("columns", [3]), ("episodes", [3, 1]), ("episode_mappings", [3]), ("trajectories", [3]), ("generator", [3])],
)
def test_columns_episodes_trajectories_and_functions_make_trajectories(
    attribute: str, lengths: list[int], script: Path
) -> None:
    data = opened(script, attribute).data

    assert isinstance(data, TrajectoryDataset)
    assert data.lengths.tolist() == lengths


def test_batches_stay_batches(script: Path) -> None:
    assert isinstance(opened(script, "batches").data, list)


def test_a_module_on_the_path_is_found(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(script.parent))

    assert open_demonstrations("arrays:path=mine:pairs").n_transitions == 3


def test_the_place_in_the_file_describes_the_data(script: Path) -> None:
    assert opened(script, "pairs").description == f"{script}:pairs"


def test_trajectories_are_selected_and_single_steps_cannot_be(script: Path) -> None:
    assert opened(script, "episodes", ",n_trajectories=1").n_transitions == 3
    with pytest.raises(DataError, match="n_trajectories need trajectories; these are single steps"):
        opened(script, "pairs", ",n_trajectories=1")


def test_a_file_in_a_run_file_is_relative_to_it(script: Path) -> None:
    config: Any = registry().make_config("data-source", "arrays", {"path": "mine.py:pairs"}, base_dir=script.parent)

    assert config.path == f"{script}:pairs"


def test_a_module_in_a_run_file_stays_as_it_is() -> None:
    config: Any = registry().make_config("data-source", "arrays", {"path": "a.b:c"}, base_dir=Path("/somewhere"))

    assert config.path == "a.b:c"


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("mine", ValueError, "expected 'module:attribute' or 'file.py:attribute', seen 'mine'"),
        ("3", ValueError, "expected text"),
        ("nothing.py:x", DataError, r"nothing\.py: no such file"),
        ("no_such_module_anywhere:x", DataError, "no such module"),
        ("{script}:nothing", DataError, "has no attribute 'nothing'"),
        ("{script}:misspelt", DataError, "gives a mapping with the keys actions; known: obs, acts"),
        ("{script}:number", DataError, "of type int; expected trajectories"),
        ("{script}:broken", PluginError, "data-source 'arrays' .*disk on fire"),
    ],
)
def test_what_gives_no_demonstrations_is_refused(path: str, error: type[Exception], message: str, script: Path) -> None:
    with pytest.raises(error, match=message):
        open_demonstrations(f"arrays:path={path.format(script=script)}")


def test_trajectories_come_as_they_are(script: Path) -> None:
    data = opened(script, "trajectories").data

    assert isinstance(data, TrajectoryDataset)
    assert data[0] == Trajectory(np.arange(4.0)[:, None], np.arange(3), None, True)
