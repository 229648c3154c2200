"""A validated run as text again: resolved, loadable, explained."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from mimetic.config import dump_run_config, load_run_file, run_config, show_run_file, starter_run_file
from mimetic.config.parse import parse_document
from mimetic.plugins import using
from small_plugins import small_registry

FILE = """\
env: {id: CartPole-v1}
demonstrations: {name: npz, path: data/rollouts.npz}
algorithm:
  name: bc
  n_epochs: 20
evaluation:
  videos: one
"""


@pytest.fixture(autouse=True, scope="module")
def _small_plugins() -> Iterator[None]:
    with using(small_registry()):
        yield


def write(folder: Path, text: str, name: str = "a.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


words = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["no", "1e3", "2024-01-31", "a b", "~", "<<", "é😀", "'", '"']
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
weights = st.floats(-10, 10) | st.fixed_dictionaries(
    {"schedule": st.sampled_from(["linear", "cosine"]), "start": st.floats(0, 1)}, optional={"end": st.floats(0, 1)}
)
clips = st.lists(st.just("clip") | st.builds(lambda low: {"name": "clip", "low": low}, st.floats(-5, 0)), max_size=2)
policies = st.sampled_from(["mlp", "cnn"]) | st.builds(
    lambda sizes, activation: {"name": "mlp", "net_arch": sizes, "activation": activation},
    st.lists(st.integers(1, 512), max_size=3),
    st.sampled_from(["tanh", "relu"]),
)
sources = st.just("demo") | st.builds(lambda path: {"name": "npz", "path": path}, st.sampled_from(["a.npz", "b c.npz"]))
runs = st.fixed_dictionaries(
    {
        "demonstrations": st.lists(sources, min_size=1, max_size=2),
        "algorithm": st.fixed_dictionaries(
            {"name": st.just("bc"), "n_batches": st.integers(0, 10**9)},
            optional={"optimizer_kwargs": st.dictionaries(words, plain, max_size=2), "steps": st.integers() | words},
        ),
        "env": st.fixed_dictionaries(
            {"id": words}, optional={"kwargs": st.dictionaries(words, plain, max_size=2), "wrappers": clips}
        ),
    },
    optional={
        "seed": st.integers(0, 2**63 - 1),
        "policy": policies | st.builds(lambda inner: {"name": "wrapped", "inner": inner}, policies),
        "losses": st.builds(
            lambda pair: [{"name": "nll", "weight": pair[0]}, {"name": "huber", "id": "h", "weight": pair[1]}],
            st.tuples(st.floats(0.1, 10), weights),
        ),
        "evaluation": st.fixed_dictionaries(
            {},
            optional={
                "n_timesteps": st.none() | st.integers(1, 10**6),
                "videos": st.sampled_from(["none", "one", {"mode": "episodes", "format": "gif"}]),
                "render_fps": st.floats(-1, 1e6),
                "save_rollouts": st.just("out/rollouts.safetensors"),
                "reward": st.just("zero"),
                "wrappers": clips,
            },
        ),
        "loggers": st.lists(st.sampled_from(["stdout", {"name": "csv", "flush": False}]), max_size=2),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(mapping=runs)
def test_a_dumped_run_loads_again_to_an_equal_run(tmp_path: Path, mapping: dict[str, object]) -> None:
    """Wherever the dump lies: its paths are absolute."""
    config = run_config(mapping, base_dir=tmp_path / "somewhere")

    again = load_run_file(write(tmp_path, dump_run_config(config)))

    assert again.config == config
    assert dump_run_config(again.config) == dump_run_config(config)


def test_a_dump_has_every_value_and_absolute_paths(tmp_path: Path) -> None:
    text = dump_run_config(load_run_file(write(tmp_path, FILE)).config)

    data = parse_document(text, "dump").value
    assert data["name"] == "a"
    assert data["demonstrations"] == [{"name": "npz", "path": f"{tmp_path}/data/rollouts.npz", "n_trajectories": None}]
    assert data["losses"] == [
        {"name": "nll", "weight": 1.0},
        {"name": "entropy", "weight": 1e-3},
        {"name": "l2", "weight": 0.0},
    ]
    assert data["loggers"] == ["stdout", {"name": "csv", "flush": True}, "jsonl"]
    assert isinstance(data["evaluation"], dict)
    assert data["evaluation"]["videos"] == {"mode": "one", "format": "mp4"}


def test_showing_says_where_each_value_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, FILE)

    lines = show_run_file(load_run_file("a.yaml", ["policy.net_arch=[64]", "seed=3"])).splitlines()

    notes = {line.split("#")[0].strip(): line.split("#")[1].strip() for line in lines if "#" in line}
    assert notes["seed: 3"] == "command line"
    assert notes["threads: 1"] == "default"
    assert notes["net_arch: [64]"] == "command line"
    assert notes["n_epochs: 20"] == "a.yaml:5"
    assert notes[f"path: {tmp_path}/data/rollouts.npz"] == "a.yaml:2"
    assert notes["mode: one"] == "a.yaml:7"


def test_what_is_shown_loads_again(tmp_path: Path) -> None:
    run = load_run_file(write(tmp_path, FILE))

    assert load_run_file(write(tmp_path, show_run_file(run), "b.yaml")).config == run.config


def test_a_list_written_in_two_places_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, FILE + "policy:\n  name: mlp\n  net_arch:\n    - 8\n    - 16\n")

    shown = show_run_file(load_run_file("a.yaml", ["policy.net_arch.0=4"]))

    assert "net_arch: [4, 16]" in shown
    assert "# command line, a.yaml:12" in shown


def test_a_starter_loads_and_has_every_key_with_its_documentation(tmp_path: Path) -> None:
    text = starter_run_file("mine")

    run = load_run_file(write(tmp_path, text))

    assert run.config.name == "mine"
    data = parse_document(text, "starter").value
    assert data.keys() == type(run.config).model_fields.keys()
    assert isinstance(data["evaluation"], dict)
    assert run.config.evaluation is not None
    assert data["evaluation"].keys() == type(run.config.evaluation).model_fields.keys()
    assert "# Every random stream of the run is derived from it." in text
    assert "# Widths of the hidden layers." in text
    assert "# Offered: demo, npz. `mimetic plugins show data-source:NAME` prints what can be set." in text
