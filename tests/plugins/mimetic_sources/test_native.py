from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from mimetic.config import parse_choice
from mimetic.errors import DataError, UnknownComponentError
from mimetic.storage import open_demonstrations, save_demonstrations
from mimetic.types import Trajectory, TrajectoryDataset

SPACE = spaces.Discrete(9)


def walk(n: int) -> Trajectory:
    return Trajectory(np.arange(n + 1.0)[:, None], np.arange(n), None, True, rews=np.ones(n))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of three trajectories with the returns 1, 5 and 3."""
    save_demonstrations([walk(1), walk(5), walk(3)], tmp_path / "d.safetensors", action_space=SPACE)
    return tmp_path / "d.safetensors"


def opened(spec: str) -> TrajectoryDataset:
    data = open_demonstrations(spec).data
    assert isinstance(data, TrajectoryDataset)
    return data


def test_its_entry_point_finds_it() -> None:
    assert parse_choice("native:path=x", "data-source").name == "native"


def test_the_dataset_comes_back_with_its_spaces(path: Path) -> None:
    source = open_demonstrations(f"native:path={path}")

    assert list(opened(f"native:path={path}")) == [walk(1), walk(5), walk(3)]
    assert source.action_space == SPACE
    assert source.description == str(path)


@pytest.mark.parametrize(
    ("options", "lengths"),
    [
        ("n_trajectories=2", [1, 5]),
        ("min_return=3", [5, 3]),
        ("max_steps=2", [1, 2, 2]),
        ("n_trajectories=1,min_return=2,max_steps=4", [4]),
        ("min_return=5", [5]),
    ],
)
def test_trajectories_are_selected_by_return_then_number_then_cut(options: str, lengths: list[int], path: Path) -> None:
    assert opened(f"native:path={path},{options}").lengths.tolist() == lengths


def test_what_max_steps_cuts_is_truncated(path: Path) -> None:
    data = opened(f"native:path={path},max_steps=2")

    assert data.terminals.tolist() == [True, False, False]
    assert data.truncations.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("n_trajectories=4", "n_trajectories is 4, and there are 3"),
        ("n_trajectories=2,min_return=4", "n_trajectories is 2, and there are 1"),
        ("min_return=6", "min_return is 6, and the highest return is 5"),
    ],
)
def test_a_selection_that_cannot_be_met_is_an_error_with_its_numbers(options: str, message: str, path: Path) -> None:
    """The reference takes what is there, with a warning that nobody reads."""
    with pytest.raises(DataError, match=message):
        opened(f"native:path={path},{options}")


def test_min_return_needs_rewards(tmp_path: Path) -> None:
    save_demonstrations([Trajectory(np.zeros(2), np.zeros(1), None, True)], tmp_path / "d")

    with pytest.raises(DataError, match="min_return needs rewards"):
        opened(f"native:path={tmp_path / 'd'},min_return=1")


@pytest.mark.parametrize("options", ["n_trajectories=0", "max_steps=0", "min_return=x", "n=3"])
def test_settings_that_mean_nothing_are_refused(options: str) -> None:
    with pytest.raises(ValueError, match=options.partition("=")[0]):
        open_demonstrations(f"native:path=x,{options}")


def test_a_bare_path_of_its_ending_is_enough(path: Path) -> None:
    path.rename(path.with_name("e.safetensors"))

    assert len(opened(str(path.with_name("e.safetensors")))) == 3


def test_an_unknown_source_is_refused_with_what_is_known() -> None:
    with pytest.raises(ValueError, match=r"no such file or folder.*Did you mean 'native'"):
        open_demonstrations("nativ")
    with pytest.raises(UnknownComponentError, match="native"):
        parse_choice("nativ", "data-source")


def test_a_file_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()

    with pytest.raises(ValueError, match="a file that is no dataset of mimetic, and whose ending belongs to no data"):
        open_demonstrations(tmp_path / "x.csv")
    with pytest.raises(ValueError, match="a folder without a dataset"):
        open_demonstrations(tmp_path)
