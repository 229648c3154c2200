import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mimetic.errors import DataError, UntrustedFileError
from mimetic.hookspecs import DataSourceContext
from mimetic.plugins import registry
from mimetic.storage import open_demonstrations
from mimetic.types import Demonstrations, TrajectoryDataset, Transitions, TransitionsMinimal
from shared import shared_data

OBS, ACTS = np.arange(5.0)[:, None], np.arange(3)
EPISODES = {"obs": OBS, "acts": ACTS, "episode_ends": np.array([1, 3])}
STEPS = {"obs": OBS[:3], "acts": ACTS}
REFERENCE = {"obs": OBS, "acts": ACTS, "indices": np.array([1]), "terminal": np.array([True, True])}


def opened(
    path: Path, content: dict[str, Any] | None = None, *, compressed: bool = False, **options: Any
) -> Demonstrations:
    """Write an archive, when there is content for one, and build the source of it."""
    if content is not None:
        (np.savez_compressed if compressed else np.savez)(path, **content)
    config = registry().make_config("data-source", "npz", {"path": str(path), **options})
    context = DataSourceContext(observation_space=None, action_space=None, base_dir=Path.cwd())
    demonstrations: Demonstrations = registry().build("data-source", "npz", config, context)
    return demonstrations


def dataset(*args: Any, **kwargs: Any) -> TrajectoryDataset:
    data = opened(*args, **kwargs).data
    assert isinstance(data, TrajectoryDataset)
    return data


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.npz"


# --- own columns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float32, np.float64, bool])
def test_dtype_shape_and_bytes_survive(dtype: Any, compressed: bool, path: Path) -> None:
    """D-2."""
    obs = np.random.default_rng(0).integers(0, 2, (3, 2, 3)).astype(dtype)
    data = opened(path, {"obs": obs, "acts": ACTS}, compressed=compressed).data

    assert data == TransitionsMinimal(obs, ACTS)


def test_fortran_order_and_empty_names_survive(path: Path) -> None:
    obs = np.asfortranarray(np.random.default_rng(0).normal(size=(3, 4)))

    assert opened(path, {"obs": obs, "acts": ACTS}).data == TransitionsMinimal(obs, ACTS)


def test_bytes_that_lie_uncompressed_are_mapped_not_read(path: Path) -> None:
    data = opened(path, {"obs": np.zeros((3, 84, 84, 4), np.uint8), "acts": ACTS}).data

    assert isinstance(data, TransitionsMinimal)
    assert not np.asarray(data.obs).flags.owndata


def test_episode_ends_make_trajectories_and_flags_say_how_they_ended(path: Path) -> None:
    flags = {"terminals": np.array([1, 0]), "truncations": np.array([False, True])}
    data = dataset(path, {**EPISODES, **flags, "rews": np.ones(3)})

    assert data.lengths.tolist() == [1, 2]
    assert data.terminals.tolist() == [True, False]
    assert data.truncations.tolist() == [False, True]
    assert data.rews is not None


def test_next_observations_make_transitions_from_which_trajectories_can_be_selected(path: Path) -> None:
    columns = {**STEPS, "next_obs": OBS[1:4], "dones": np.array([[0], [0], [1]]), "truncated": np.zeros(3)}

    assert isinstance(opened(path, columns).data, Transitions)
    assert dataset(path, n_trajectories=1, max_steps=2).lengths.tolist() == [2]


def test_dict_observations_are_columns_with_dots(path: Path) -> None:
    """D-3."""
    data = opened(path, {"obs.a": OBS[:3], "obs.b.c": OBS[:3], "acts": ACTS}).data

    assert data == TransitionsMinimal({"a": OBS[:3], "b": {"c": OBS[:3]}}, ACTS)


def test_numeric_infos_are_columns_with_dots_too(path: Path) -> None:
    data = dataset(path, {**EPISODES, "infos.speed": np.arange(3)})

    assert data.infos is not None
    assert data.infos["speed"].tolist() == [0, 1, 2]


def test_columns_of_other_names_are_found_when_told(path: Path) -> None:
    """As in D4RL's files, whose `terminals` count steps."""
    theirs = {
        "observations": OBS[:3],
        "actions": ACTS,
        "rewards": np.ones(3),
        "next_observations": OBS[1:4],
        "terminals": np.zeros(3, bool),
        "timeouts": np.array([False, False, True]),
    }
    ours = ["obs", "acts", "rews", "next_obs", "dones", "truncated"]
    data = opened(path, theirs, columns=dict(zip(ours, theirs, strict=True))).data

    assert isinstance(data, Transitions)
    assert data.truncated.tolist() == [False, False, True]


def test_unknown_columns_are_left_out_with_a_warning(path: Path) -> None:
    with pytest.warns(UserWarning, match="left out, because nothing here is called so: seed, extra"):
        opened(path, {**STEPS, "seed": np.zeros(1), "extra": np.zeros(1)})


def test_flags_without_next_observations_are_left_out_with_a_warning(path: Path) -> None:
    with pytest.warns(UserWarning, match="dones are left out: without next_obs they make no trajectories"):
        data = opened(path, {**STEPS, "dones": np.zeros(3, bool)}).data
    assert type(data) is TransitionsMinimal


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"observations": OBS, "acts": ACTS}, {}, "expected the columns obs and acts; there are acts"),
        (STEPS, {"columns": {"obs": "observations"}}, "no column is called observations; there are obs, acts"),
        ({**EPISODES, "obs": OBS[:3]}, {}, "got 3, need 5"),
        (
            {**EPISODES, "terminals": np.array([0.5, 1])},
            {},
            "terminals has dtype float64; expected bool, or only 0 and 1",
        ),
        (STEPS, {"horizon": 3}, "horizon needs trajectories"),
        (EPISODES, {"horizon": 1}, "horizon is 1, and trajectory 1 has 2 steps"),
        (STEPS, {"max_steps": 1}, "max_steps need trajectories"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_columns_that_do_not_fit_are_refused_with_the_file(
    columns: Any, options: Any, message: str, path: Path
) -> None:
    with pytest.raises(DataError, match=message) as refusal:
        opened(path, columns, **options)
    assert str(refusal.value).startswith(str(path))


def test_a_misspelt_name_of_ours_is_refused_before_the_file_is_looked_at(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="observations"):
        opened(tmp_path / "nothing.npz", columns={"observations": "obs"})


# --- the reference library's files -------------------------------------------------------------------------------


def test_the_ending_flag_is_kept_as_written_with_one_warning(path: Path) -> None:
    """BUG-15: what writes this form marks time-outs as real ends."""
    with pytest.warns(UserWarning, match="the ending flag of each trajectory is kept as written") as said:
        data = dataset(path, REFERENCE)
    assert len(said) == 1
    assert data.lengths.tolist() == [1, 2]
    assert data.terminals.tolist() == [True, True]


def test_a_horizon_marks_full_length_trajectories_as_truncated(path: Path) -> None:
    """And then nothing is left to warn of."""
    data = dataset(path, REFERENCE, horizon=2)

    assert data.terminals.tolist() == [True, False]
    assert data.truncations.tolist() == [False, True]


def test_pickled_infos_are_left_out_with_a_warning_and_the_rest_is_read(path: Path) -> None:
    infos = np.array([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}])

    with pytest.warns(UserWarning, match="infos are left out: they are pickled.*`trust: true`"):
        data = dataset(path, {**REFERENCE, "infos": infos}, horizon=2)
    assert data.infos is None
    assert data.n_transitions == 3


def test_a_trusted_file_has_its_infos_read(path: Path) -> None:
    infos = np.array([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}])
    data = dataset(path, {**REFERENCE, "infos": infos}, horizon=2, trust=True)

    assert data.infos is not None
    assert data.infos["x"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("name", "n_trajectories", "n_transitions", "mean_return"),
    [("cartpole_rollouts.npz", 57, 26_964, 473.05), ("pendulum_rollouts.npz", 56, 11_200, -189.40)],
)
def test_the_reference_librarys_own_files_are_read_without_unpickling(
    name: str, n_trajectories: int, n_transitions: int, mean_return: float
) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = dataset(shared_data(f"imitation/{name}"))

    assert (len(data), data.n_transitions) == (n_trajectories, n_transitions)
    assert data.returns is not None
    assert data.returns.mean() == pytest.approx(mean_return, abs=0.01)
    assert ["infos" in str(warning.message) for warning in said] == [True, False]


def test_the_time_outs_of_the_reference_librarys_pendulum_are_known_by_their_length() -> None:
    with pytest.warns(UserWarning, match="infos are left out") as said:
        data = dataset(shared_data("imitation/pendulum_rollouts.npz"), horizon=200)

    assert len(said) == 1
    assert data.truncations.all()
    assert not data.terminals.any()


# --- files that are none -----------------------------------------------------------------------------------------


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("exploded",))


def test_a_pickle_named_npz_is_refused_and_nothing_in_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-4."""
    monkeypatch.chdir(tmp_path)
    Path("evil.npz").write_bytes(pickle.dumps(Bomb()))

    with pytest.raises(UntrustedFileError, match=r"evil\.npz: a pickle, which could run code; nothing in it was run"):
        open_demonstrations("evil.npz")
    assert not Path("exploded").exists()


@pytest.mark.parametrize("column", ["obs", "acts", "infos.x"])
def test_a_needed_column_of_objects_is_refused_and_nothing_in_it_runs(
    column: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-4."""
    monkeypatch.chdir(path.parent)
    bombs = np.empty(3, object)
    bombs[:] = [Bomb(), Bomb(), Bomb()]

    with pytest.raises(UntrustedFileError, match=rf"column '{column}' holds pickled objects.*`trust: true`"):
        opened(path, {**EPISODES, column: bombs})
    assert not (path.parent / "exploded").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"obs,acts\n", "no .npz archive"),
        (b"", "no .npz archive"),
        (b"PK\x05\x06" + bytes(18), "without a single array"),
    ],
)
def test_a_file_that_is_no_archive_is_refused(content: bytes, message: str, path: Path) -> None:
    path.write_bytes(content)

    with pytest.raises(DataError, match=message):
        opened(path)


def test_a_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        opened(path)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("at", [0.2, 0.5])
def test_an_incomplete_archive_is_refused(at: float, compressed: bool, path: Path) -> None:
    save = np.savez_compressed if compressed else np.savez
    save(path, obs=np.zeros((300, 4)), acts=np.zeros(300))
    content = bytearray(path.read_bytes())
    path.write_bytes(content[: int(len(content) * at)])

    with pytest.raises(DataError, match=r"no \.npz archive, or an incomplete one"):
        opened(path)


def test_a_damaged_compressed_column_is_named(path: Path) -> None:
    np.savez_compressed(path, obs=np.random.default_rng(0).normal(size=(300, 4)), acts=np.zeros(300))
    content = bytearray(path.read_bytes())
    content[2000] ^= 0xFF
    path.write_bytes(content)

    with pytest.raises(DataError, match="column 'obs' is damaged"):
        opened(path)
