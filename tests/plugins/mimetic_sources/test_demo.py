import inspect
from pathlib import Path

import numpy as np

import mimetic_sources.demo
from mimetic.storage import open_demonstrations
from mimetic.types import TrajectoryDataset, check_demonstrations
from mimetic_sources.demo.make import demonstrator, make

FOLDER = Path(inspect.getfile(mimetic_sources.demo)).parent


def demo() -> TrajectoryDataset:
    data = open_demonstrations("demo").data
    assert isinstance(data, TrajectoryDataset)
    return data


def test_the_demonstrator_holds_the_pole_for_all_500_steps_of_every_episode() -> None:
    data = demo()

    assert len(data) == 20
    assert data.lengths.tolist() == [500] * 20
    assert not data.terminals.any()
    assert data.truncations.all()


def test_every_recorded_action_is_the_demonstrators_own() -> None:
    pairs = demo().pairs()

    assert [demonstrator(obs) for obs in np.asarray(pairs.obs)] == pairs.acts.tolist()


def test_the_demonstrations_fit_their_spaces() -> None:
    source = open_demonstrations("demo")

    assert source.observation_space is not None
    assert source.action_space is not None
    check_demonstrations(source, source.observation_space, source.action_space)


def test_the_script_makes_the_shipped_file_again_byte_for_byte(tmp_path: Path) -> None:
    make(tmp_path / "again")

    assert (tmp_path / "again").read_bytes() == (FOLDER / "cartpole.safetensors").read_bytes()


def test_what_is_shipped_is_smaller_than_300_kb() -> None:
    sizes = [path.stat().st_size for path in FOLDER.iterdir() if path.is_file()]

    assert sum(sizes) < 300_000


def test_starts_are_wider_than_the_environments_own() -> None:
    """A clone sees how to recover; the environment starts within 0.05 of rest."""
    starts = np.stack([np.asarray(trajectory.obs)[0] for trajectory in demo()])

    assert (np.abs(starts).max(axis=0) > 0.1).all()


def test_fewer_and_shorter_ones_can_be_asked_for() -> None:
    data = open_demonstrations("demo:n_trajectories=2,max_steps=10").data

    assert isinstance(data, TrajectoryDataset)
    assert data.lengths.tolist() == [10, 10]
