import json
import os
import pickle
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays, from_dtype
from safetensors.numpy import load_file, save, save_file

from mimetic.errors import DataError, TargetExistsError, UntrustedFileError
from mimetic.storage import DatasetWriter, file_kind, load_demonstrations, open_demonstrations, save_demonstrations
from mimetic.storage.safetensors_file import read_document, write_safetensors
from mimetic.types import Trajectory, TrajectoryDataset, obs_leaves
from worlds import DictObs

DTYPES = [bool, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64, "f2", "f4", "f8"]


def walk(n: int = 3, **changes: Any) -> Trajectory:
    kwargs = {"infos": None, "terminal": True, "rews": np.ones(n, np.float32), **changes}
    obs = kwargs.pop("obs", np.arange(n + 1, dtype=np.float32)[:, None])
    return Trajectory(obs, kwargs.pop("acts", np.arange(n)), kwargs.pop("infos"), **kwargs)


def round_trip(data: Any, path: Path, **kwargs: Any) -> TrajectoryDataset:
    save_demonstrations(data, path, **kwargs)
    return load_demonstrations(path)


# --- what comes back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_shape_and_bytes_survive(dtype: Any, tmp_path: Path) -> None:
    """D-2: the reference turns uint8 images into int64."""
    obs = np.random.default_rng(0).integers(0, 2, (4, 2, 3)).astype(dtype)
    (back,) = round_trip([walk(obs=obs, acts=obs[:3])], tmp_path / "d")

    assert back == walk(obs=obs, acts=obs[:3])


def test_nan_and_minus_zero_and_denormals_survive_bit_for_bit(tmp_path: Path) -> None:
    obs = np.array([np.nan, -0.0, 1e-45, np.inf], np.float32)
    (back,) = round_trip([walk(obs=obs)], tmp_path / "d")

    assert obs_leaves(back.obs)["obs"].tobytes() == obs.tobytes()


@pytest.mark.parametrize(
    "turn",
    [
        lambda image: image.transpose(0, 3, 1, 2),
        lambda image: image[::-1],
        lambda image: image[:, ::2],
        np.asfortranarray,
        lambda image: np.broadcast_to(image[:1], image.shape),
        lambda image: image.astype(">i4"),
    ],
    ids=["transposed", "reversed", "strided", "fortran", "broadcast", "big-endian"],
)
def test_views_of_any_layout_are_stored_as_what_they_show(turn: Callable[[Any], Any], tmp_path: Path) -> None:
    """The safetensors writer stores the memory behind a transposed or reversed view, without a word."""
    obs = turn(np.random.default_rng(0).integers(0, 255, (4, 6, 4, 3)).astype(np.uint8))
    data = TrajectoryDataset(
        obs=obs,
        acts=np.arange(3)[::-1],
        episode_ends=np.array([3]),
        terminals=np.ones(1, bool),
        truncations=np.zeros(1, bool),
    )
    back = round_trip(data, tmp_path / "d")

    assert np.array_equal(obs_leaves(back.obs)["obs"], obs)
    assert back.acts.tolist() == [2, 1, 0]


@given(data=st.data(), dtype=st.sampled_from(DTYPES), shape=st.lists(st.integers(0, 3), max_size=3))
@settings(max_examples=60, deadline=None)
def test_arrays_of_any_dtype_shape_and_layout_survive(data: Any, dtype: Any, shape: list[int]) -> None:
    """The kind of fault, not only its examples."""
    n = data.draw(st.integers(1, 4))
    axes = data.draw(st.permutations(range(1, len(shape) + 1)))
    obs = data.draw(arrays(dtype, (n + 1, *shape), elements=from_dtype(np.dtype(dtype)))).transpose(0, *axes)
    obs = obs[:: data.draw(st.sampled_from([1, -1]))]
    with tempfile.TemporaryDirectory() as folder:
        (back,) = round_trip([walk(n, obs=obs, acts=obs[1:])], Path(folder) / "d")

    assert back == walk(n, obs=obs, acts=obs[1:])


def test_an_observation_of_no_dimension_survives(tmp_path: Path) -> None:
    (back,) = round_trip([walk(obs=np.arange(4, dtype=np.uint8))], tmp_path / "d")

    assert obs_leaves(back.obs)["obs"].shape == (4,)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_dict_observations_survive(k: int, tmp_path: Path) -> None:
    """D-3: the reference refuses them after the rollout."""
    env = DictObs(k)
    rows = [env.reset(seed=0)[0]] + [env.step(0)[0] for _ in range(3)]
    obs = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    back = round_trip([walk(obs=obs)], tmp_path / "d", observation_space=env.observation_space)

    assert back[0] == walk(obs=obs)
    assert back.observation_space == env.observation_space


def test_nested_dict_observations_and_keys_with_dots_survive(tmp_path: Path) -> None:
    obs = {"a.b": np.zeros(4), "a": {"b": np.ones((4, 2)), "%2E": np.zeros(4, np.uint8)}, "__metadata__": np.zeros(4)}
    (back,) = round_trip([walk(obs=obs)], tmp_path / "d")

    assert back == walk(obs=obs)
    names = {name for name in load_file(tmp_path / "d") if name.startswith("obs")}
    assert names == {"obs.__metadata__", "obs.a%2Eb", "obs.a.%252E", "obs.a.b"}


def test_how_trajectories_ended_survives(tmp_path: Path) -> None:
    """R-2, BUG-15: a time-out is no real end."""
    endings = [(False, True), (True, False), (True, True), (False, False)]
    back = round_trip([walk(terminal=a, truncated=b) for a, b in endings], tmp_path / "d")

    assert [(t.terminal, t.truncated) for t in back] == endings


def test_trajectories_without_rewards_survive(tmp_path: Path) -> None:
    assert round_trip([walk(rews=None)], tmp_path / "d")[0].rews is None


def test_numeric_infos_survive_and_others_are_listed_as_left_out(tmp_path: Path) -> None:
    infos = [{"x.y": 1.5, "v": np.zeros(2, np.float32), "name": "a"}, {"x.y": 2.5, "v": np.ones(2, np.float32)}]
    back = round_trip([walk(2, infos=infos)], tmp_path / "d")

    assert back[0] == walk(2, infos=[{"x.y": info["x.y"], "v": info["v"]} for info in infos])
    assert back.left_out == ("name",)
    assert round_trip(back, tmp_path / "again").left_out == ("name",)


def test_spaces_are_stored_as_plain_data(tmp_path: Path) -> None:
    """D-10: no pickle, so another version of gymnasium reads them."""
    known = {"observation_space": spaces.Box(-np.inf, 1, (1,), np.float32), "action_space": spaces.Discrete(3, start=1)}
    back = round_trip([walk()], tmp_path / "d", **known)

    assert (back.observation_space, back.action_space) == tuple(known.values())
    assert read_document(tmp_path / "d")["action_space"]["start"] == 1


def test_transitions_are_joined_to_the_trajectories_that_they_came_from(tmp_path: Path) -> None:
    data = TrajectoryDataset.from_trajectories([walk(), walk(1)])

    assert round_trip(data.transitions(), tmp_path / "d") == data


# --- layout ------------------------------------------------------------------------------------------------------


def test_the_file_is_plain_safetensors_with_the_documented_columns(tmp_path: Path) -> None:
    save_demonstrations([walk(), walk(1)], tmp_path / "d")
    columns = load_file(tmp_path / "d")

    assert {name: (str(column.dtype), column.shape) for name, column in columns.items()} == {
        "obs": ("float32", (6, 1)),
        "acts": ("int64", (4,)),
        "rews": ("float32", (4,)),
        "episode_ends": ("int64", (2,)),
        "terminals": ("bool", (2,)),
        "truncations": ("bool", (2,)),
    }
    assert columns["episode_ends"].tolist() == [3, 4]


def test_equal_content_is_equal_bytes(tmp_path: Path) -> None:
    """No clock, host or path, and one metadata key: several would come in a random order."""
    infos = [{"b": 1, "a": 2.0}, {"b": 1, "a": 2.0}]
    for name in ("one", "two"):
        save_demonstrations([walk(2, infos=infos)], tmp_path / name, action_space=spaces.Discrete(2))
    header = (tmp_path / "one").read_bytes()[8:]

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert list(json.JSONDecoder().raw_decode(header.decode("latin-1"))[0]["__metadata__"]) == ["mimetic"]


def test_a_file_is_readable_by_whom_the_user_lets_read_new_files(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    save_demonstrations([walk()], tmp_path / "d")

    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("d", "other")]
    assert modes[0] == modes[1]


def test_loading_maps_the_file_and_leaves_it_alone(tmp_path: Path) -> None:
    """Arrays may be written to, for torch's sake; the file never changes."""
    save_demonstrations([walk()], tmp_path / "d")
    before = (tmp_path / "d").read_bytes()
    data = load_demonstrations(tmp_path / "d")
    data.acts[:] = 9

    assert not data.acts.flags.owndata
    assert data.acts.flags.writeable
    assert (tmp_path / "d").read_bytes() == before


GOLDEN = Path(__file__).with_name("golden") / "dataset-format-1.safetensors"


def golden_content() -> TrajectoryDataset:
    obs: Any = {
        "image": np.arange(7 * 2 * 2, dtype=np.uint8).reshape(7, 2, 2),
        "pose.x": {"%": np.arange(7, dtype=np.float32)},
    }
    return TrajectoryDataset(
        obs=obs,
        acts=np.arange(10, dtype=np.float64).reshape(5, 2) / 8,
        episode_ends=np.array([2, 5]),
        terminals=np.array([True, False]),
        truncations=np.array([False, True]),
        rews=np.array([1, -0.0, np.nan, 2, 3], np.float32),
        infos={"speed": np.arange(5, dtype=np.int16)},
        observation_space=spaces.Dict(
            {
                "image": spaces.Box(0, 255, (2, 2), np.uint8),
                "pose.x": spaces.Dict({"%": spaces.Box(-np.inf, np.inf, (), np.float32)}),
            }
        ),
        action_space=spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, np.inf]), (2,), np.float64),
        left_out=["note"],
    )


def test_the_golden_file_of_format_1_loads_as_what_it_was_written_from() -> None:
    """D-10: whatever the product becomes, files of this format stay readable."""
    back = load_demonstrations(GOLDEN)

    assert back == golden_content()
    assert back.left_out == ("note",)


def test_format_1_is_still_written_byte_for_byte(tmp_path: Path) -> None:
    """A change of the layout needs a new format version, and this test a new golden file beside the old one."""
    save_demonstrations(golden_content(), tmp_path / "d")

    assert (tmp_path / "d").read_bytes() == GOLDEN.read_bytes()


def test_a_file_of_a_newer_format_says_so(tmp_path: Path) -> None:
    """D-10."""
    save_file(load_file(GOLDEN), tmp_path / "d", {"mimetic": json.dumps({"kind": "dataset", "version": 2})})

    with pytest.raises(
        DataError, match=r"written by a newer mimetic \(dataset format 2; this one reads up to 1\); update"
    ):
        load_demonstrations(tmp_path / "d")


# --- files that are none -----------------------------------------------------------------------------------------


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("exploded",))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_refused_and_nothing_in_it_runs(
    protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-4."""
    monkeypatch.chdir(tmp_path)
    Path("evil.safetensors").write_bytes(pickle.dumps(Bomb(), protocol))

    with pytest.raises(DataError, match="expected a file that mimetic wrote") as refusal:
        load_demonstrations("evil.safetensors")
    assert not Path("exploded").exists()
    assert isinstance(refusal.value, UntrustedFileError) or protocol < 2


def foreign(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def written(columns: dict[str, np.ndarray], **document: Any) -> Callable[[Path], object]:
    plain = {"kind": "dataset", "version": 1, **document}
    return lambda path: write_safetensors(path, columns, plain)


COLUMNS = {
    "obs": np.zeros((2, 1)),
    "acts": np.zeros(1),
    "episode_ends": np.ones(1, np.int64),
    "terminals": np.ones(1, bool),
    "truncations": np.zeros(1, bool),
}


def without(name: str) -> dict[str, np.ndarray]:
    return {key: column for key, column in COLUMNS.items() if key != name}


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (foreign(b""), "empty"),
        (foreign(b"abc"), "only 3 bytes long"),
        (foreign(b"PK\x03\x04 and more"), "a zip archive"),
        (foreign(b"obs,acts\n1,2\n3,4\n"), "not of a known format"),
        (foreign((2**63).to_bytes(8, "little") + b"{}"), "not of a known format"),
        (foreign((4).to_bytes(8, "little") + b"[[[["), "not of a known format"),
        (foreign((2).to_bytes(8, "little") + b"[]"), "not of a known format"),
        (foreign(save({"obs": np.zeros(2)})), "a safetensors file of another program"),
        (foreign(save({"obs": np.zeros(2)}, {"mimetic": "{"})), "its description is damaged"),
        (foreign(save({"obs": np.zeros(2)}, {"mimetic": "3"})), "its description is a int"),
        (written(COLUMNS, kind="policy"), "holds 'policy'; expected 'dataset'"),
        (written(COLUMNS, version="1"), "its format version is '1'"),
        (written(COLUMNS, version=0), "its format version is 0"),
        (written(without("obs")), "no column is called 'obs'"),
        (written(without("acts")), "no column is called 'acts'"),
        (written(without("terminals")), "no column is called 'terminals'"),
        (written({**COLUMNS, "extra": np.zeros(1)}), "column 'extra' is none of this format"),
        (written({**COLUMNS, "obs.a": np.zeros((2, 1))}), "an array and of a mapping"),
        (written({**COLUMNS, "obs": np.zeros((1, 1))}), "got 1, need 2"),
        (written(COLUMNS, action_space={"type": "Mystery"}), "Mystery"),
    ],
)
def test_a_file_that_is_no_dataset_is_refused_with_what_it_is(
    write: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    write(tmp_path / "d")

    with pytest.raises(DataError, match=message) as refusal:
        load_demonstrations(tmp_path / "d")
    assert str(refusal.value).startswith(str(tmp_path / "d"))


@pytest.mark.parametrize("missing", [1, 8, 500])
def test_a_truncated_file_is_refused(missing: int, tmp_path: Path) -> None:
    save_demonstrations([walk()], tmp_path / "d")
    content = (tmp_path / "d").read_bytes()
    (tmp_path / "d").write_bytes(content[:-missing])

    with pytest.raises(DataError, match="incomplete"):
        load_demonstrations(tmp_path / "d")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [1], "data_offsets": [0, 4]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]},
        {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [1]},
        {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]},
        {"dtype": "F64", "shape": [1], "data_offsets": [0, 8], "more": 1},
        [],
    ],
)
def test_a_header_that_lies_about_its_columns_is_refused(entry: Any, tmp_path: Path) -> None:
    header = json.dumps({"__metadata__": {"mimetic": '{"kind":"dataset","version":1}'}, "acts": entry}).encode()
    (tmp_path / "d").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))

    with pytest.raises(DataError, match=r"column 'acts'|overlap or leave a gap|no column is called"):
        load_demonstrations(tmp_path / "d")


def test_a_path_without_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        load_demonstrations(tmp_path / "nothing")


@pytest.mark.parametrize("dtype", ["U3", "datetime64[s]", complex, object, np.longdouble])
def test_a_dtype_outside_the_format_is_refused_by_column_name(dtype: Any, tmp_path: Path) -> None:
    data = walk(acts=np.zeros(3).astype(dtype))

    with pytest.raises(DataError, match="column 'acts' has dtype"):
        save_demonstrations([data], tmp_path / "d")
    assert list(tmp_path.iterdir()) == []


# --- what is there already ---------------------------------------------------------------------------------------


def test_an_existing_target_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """D-7: the reference overwrites without a word."""
    save_demonstrations([walk()], tmp_path / "d")

    with pytest.raises(TargetExistsError, match="exists already, and nothing was written"):
        save_demonstrations([walk(1)], tmp_path / "d")
    assert list(load_demonstrations(tmp_path / "d")) == [walk()]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_of_other_things_is_never_overwritten(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    with pytest.raises(TargetExistsError, match="is a folder"):
        save_demonstrations([walk()], tmp_path, overwrite=overwrite)


def test_what_was_loaded_can_be_edited_and_saved_to_where_it_came_from(tmp_path: Path) -> None:
    """D-7: "a dataset can't overwrite itself"."""
    save_demonstrations([walk(), walk(1)], tmp_path / "d")
    data = load_demonstrations(tmp_path / "d")
    data.acts[0] = 7
    save_demonstrations(data[:1], tmp_path / "d", overwrite=True)

    assert [t.acts.tolist() for t in load_demonstrations(tmp_path / "d")] == [[7, 1, 2]]
    assert len(data) == 2  # what is loaded stays readable


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-7: a write failure is an error, not a shorter dataset."""
    save_demonstrations([walk()], tmp_path / "d")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_demonstrations([walk(1)], tmp_path / "d", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    assert list(load_demonstrations(tmp_path / "d")) == [walk()]


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("os.link", unsupported)

    assert list(round_trip([walk()], tmp_path / "d")) == [walk()]
    with pytest.raises(TargetExistsError, match="exists already"):
        save_demonstrations([walk()], tmp_path / "d")


def test_missing_folders_are_made(tmp_path: Path) -> None:
    assert len(round_trip([walk()], tmp_path / "a" / "b" / "d")) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((np.zeros((3, 1)), np.zeros(3)), "only trajectories can be saved"),
        ([{"obs": np.zeros((3, 1)), "acts": np.zeros(3)}], "only trajectories can be saved"),
        (TrajectoryDataset.from_trajectories([walk()])[:0], "no trajectories to save"),
    ],
)
def test_what_is_no_trajectory_is_not_saved(data: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        save_demonstrations(data, tmp_path / "d")


# --- folders -----------------------------------------------------------------------------------------------------


def write_folder(path: Path, lengths: list[int], shard_transitions: int = 3) -> None:
    with DatasetWriter(path, shard_transitions=shard_transitions, action_space=spaces.Discrete(9)) as writer:
        for n in lengths:
            writer.append(walk(n))


def test_a_large_set_becomes_a_folder_of_files_and_an_index(tmp_path: Path) -> None:
    write_folder(tmp_path / "d", [2, 2, 5, 1])

    names = ["00001.safetensors", "00002.safetensors", "00003.safetensors", "index.json"]
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == names
    assert list(load_demonstrations(tmp_path / "d")) == [walk(n) for n in (2, 2, 5, 1)]
    assert load_demonstrations(tmp_path / "d").action_space == spaces.Discrete(9)


def test_a_writer_counts_what_it_was_given(tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "d") as writer:
        writer.append(walk(3))
        writer.append(walk(1))

    assert (writer.n_trajectories, writer.n_transitions) == (2, 4)


def test_a_file_is_written_when_it_is_large_in_bytes_too(tmp_path: Path) -> None:
    """A hundred thousand images would not fit into memory."""
    with DatasetWriter(tmp_path / "d", shard_bytes=20) as writer:
        for _ in range(4):
            writer.append(walk())

    assert len(list((tmp_path / "d").glob("*.safetensors"))) == 2


def test_only_what_the_index_lists_exists(tmp_path: Path) -> None:
    write_folder(tmp_path / "d", [3])
    save_demonstrations([walk(1)], tmp_path / "d" / "00002.safetensors")

    assert list(load_demonstrations(tmp_path / "d")) == [walk(3)]


def test_what_was_appended_before_an_interruption_is_kept(tmp_path: Path) -> None:
    """Ctrl-C keeps what is complete."""
    with pytest.raises(KeyboardInterrupt), DatasetWriter(tmp_path / "d") as writer:
        writer.append(walk())
        raise KeyboardInterrupt

    assert list(load_demonstrations(tmp_path / "d")) == [walk()]


def test_an_interruption_while_a_file_is_written_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("mimetic.storage.datasets.write_json", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "d", [3])
    assert list(load_demonstrations(tmp_path / "d")) == [walk(3)]


def test_a_failure_to_write_is_the_error_that_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-7: not swallowed, not hidden by a second one, and what was complete stays."""
    writer = DatasetWriter(tmp_path / "d", shard_transitions=3)
    writer.append(walk(3))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mimetic.storage.datasets.write_safetensors", full)
    with pytest.raises(OSError, match="No space left"), writer:
        writer.append(walk(3))
    assert list(load_demonstrations(tmp_path / "d")) == [walk(3)]


def test_a_dataset_becomes_a_file_of_its_own_after_what_was_held(tmp_path: Path) -> None:
    trajectories = [walk(n) for n in (1, 2, 3, 4)]
    with DatasetWriter(tmp_path / "d", action_space=spaces.Discrete(9)) as writer:
        writer.append(trajectories[0])
        writer.append_file(TrajectoryDataset.from_trajectories(trajectories[1:3]))
        writer.append(trajectories[3])

    files = [file for file in sorted((tmp_path / "d").iterdir()) if file.suffix == ".safetensors"]
    assert [len(load_demonstrations(file)) for file in files] == [1, 2, 1]
    assert list(load_demonstrations(tmp_path / "d")) == trajectories
    assert load_demonstrations(files[1]).action_space == spaces.Discrete(9)
    assert (writer.n_trajectories, writer.n_transitions) == (4, 10)


def test_a_writer_refuses_a_dataset_that_differs_from_the_first_trajectory(tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "d") as writer:
        writer.append(walk())
        with pytest.raises(DataError, match="trajectories 0 and 1 differ: obs has"):
            writer.append_file(TrajectoryDataset.from_trajectories([walk(obs=np.zeros((4, 2)))]))

    assert list(load_demonstrations(tmp_path / "d")) == [walk()]


def test_a_writer_refuses_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    write_folder(tmp_path / "d", [3])

    with pytest.raises(TargetExistsError, match="exists already"):
        DatasetWriter(tmp_path / "d")


def test_a_writer_refuses_a_trajectory_that_differs_from_the_first(tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "d") as writer:
        writer.append(walk())
        with pytest.raises(DataError, match="trajectories 0 and 1 differ: acts has dtype int64 against float64"):
            writer.append(walk(acts=np.zeros(3)))
    assert len(load_demonstrations(tmp_path / "d")) == 1


@pytest.mark.parametrize("limits", [{"shard_transitions": 0}, {"shard_bytes": 0}])
def test_a_writer_refuses_files_of_no_size(limits: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be at least 1"):
        DatasetWriter(tmp_path / "d", **limits)


def test_a_folder_can_be_edited_and_saved_to_where_it_came_from(tmp_path: Path) -> None:
    """D-7: it stays a folder, and its old files go when the new index stands."""
    write_folder(tmp_path / "d", [3, 4, 5])
    data = load_demonstrations(tmp_path / "d")
    save_demonstrations(data[1:], tmp_path / "d", overwrite=True)

    assert list(load_demonstrations(tmp_path / "d")) == [walk(4), walk(5)]
    assert sorted(p.name for p in (tmp_path / "d").glob("*.safetensors")) == ["00004.safetensors", "00005.safetensors"]
    with pytest.raises(TargetExistsError, match="is a folder"):
        save_demonstrations(data, tmp_path / "d")


def test_infos_that_not_every_file_has_come_back_where_they_are(tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "d", shard_transitions=1) as writer:
        writer.append(walk(1, infos=[{"x": 1.0}]))
        writer.append(walk(1))
    data = load_demonstrations(tmp_path / "d")

    assert list(data) == [walk(1, infos=[{"x": 1.0}]), walk(1)]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (None, r"a folder without index\.json"),
        ("{", "cannot be read"),
        ("[]", "holds None; expected 'dataset'"),
        ('{"kind": "dataset", "version": 2, "files": []}', "written by a newer mimetic"),
        ('{"kind": "dataset", "version": 1}', "its list of files is None"),
        ('{"kind": "dataset", "version": 1, "files": ["../secret"]}', "its list of files is"),
        ('{"kind": "dataset", "version": 1, "files": []}', "lists no file"),
        ('{"kind": "dataset", "version": 1, "files": ["00009.safetensors"]}', "No such file"),
    ],
)
def test_a_folder_with_a_wrong_index_is_refused(index: str | None, message: str, tmp_path: Path) -> None:
    if index is not None:
        (tmp_path / "index.json").write_text(index)

    with pytest.raises(DataError, match=message):
        load_demonstrations(tmp_path)


# --- by content --------------------------------------------------------------------------------------------------


def test_the_kind_of_a_path_is_recognised_by_its_content(tmp_path: Path) -> None:
    save_demonstrations([walk()], tmp_path / "no-suffix")
    write_folder(tmp_path / "folder", [3])
    write_safetensors(tmp_path / "p", {"w": np.zeros(1)}, {"kind": "policy", "version": 1})
    (tmp_path / "run").mkdir()
    for name in ("config.yaml", "manifest.json"):
        (tmp_path / "run" / name).touch()
    (tmp_path / "text.safetensors").write_text("hello")
    (tmp_path / "empty").mkdir()

    kinds = {path.name: file_kind(path) for path in tmp_path.iterdir()}
    assert kinds == {
        "no-suffix": "dataset",
        "folder": "dataset",
        "p": "policy",
        "run": "run",
        "text.safetensors": None,
        "empty": None,
    }
    assert file_kind(tmp_path / "nothing") is None


def test_a_dataset_opens_by_its_path_whatever_it_is_called(tmp_path: Path) -> None:
    save_demonstrations([walk()], tmp_path / "data.bin", action_space=spaces.Discrete(3))
    opened = open_demonstrations(tmp_path / "data.bin")

    assert opened.data == load_demonstrations(tmp_path / "data.bin")
    assert opened.action_space == spaces.Discrete(3)
    assert opened.description == str(tmp_path / "data.bin")


def test_a_policy_is_not_opened_as_demonstrations(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "p", {"w": np.zeros(1)}, {"kind": "policy", "version": 1})

    with pytest.raises(DataError, match="holds a policy; expected demonstrations"):
        open_demonstrations(tmp_path / "p")


# --- speed -------------------------------------------------------------------------------------------------------


def test_loading_and_indexing_a_long_image_trajectory_takes_far_less_than_a_second(tmp_path: Path) -> None:
    """D-1: 500 steps of (84, 84, 4) take the reference 40 s. Nothing is decoded here, so a second is generous."""
    obs = np.zeros((501, 84, 84, 4), np.uint8)
    save_demonstrations([walk(500, obs=obs)], tmp_path / "d")
    start = time.perf_counter()
    data = load_demonstrations(tmp_path / "d")
    first = data[0]

    assert len(data) == 1
    assert time.perf_counter() - start < 1.0
    assert not obs_leaves(first.obs)["obs"].flags.owndata
