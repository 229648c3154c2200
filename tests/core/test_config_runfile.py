"""What a run file may say, what it means when it says nothing, and what is refused."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mimetic.config import (
    Choice,
    EvaluationConfig,
    LossChoice,
    RunConfig,
    WeightSchedule,
    load_run_file,
    run_config,
)
from mimetic.errors import ComponentConflictError, ConfigError, PluginError, UnknownComponentError
from mimetic.hookspecs import LossEntry, PolicyEntry
from mimetic.plugins import using
from mimetic.testing import manager_with
from small_plugins import Bc, Clip, Cnn, FileSource, Huber, Mlp, Nothing, Switching, Video, small_registry

LEAST = {"demonstrations": "demo", "algorithm": {"name": "bc", "n_epochs": 1}}
EVALUATED = {**LEAST, "env": {"id": "CartPole-v1"}}


@pytest.fixture(autouse=True)
def _small_plugins() -> Iterator[None]:
    with using(small_registry()):
        yield


def faults_of(mapping: Mapping[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        run_config(mapping)
    return [str(fault) for fault in caught.value.faults]


# --- defaults ---------------------------------------------------------------------------------------------------


def test_all_but_demonstrations_and_algorithm_has_a_default() -> None:
    config = run_config(LEAST)

    assert config == RunConfig.model_construct(
        name="run",
        seed=0,
        device="auto",
        threads=1,
        plugins=(),
        env=None,
        demonstrations=(Choice("data-source", "demo", Nothing()),),
        policy=Choice("policy", "mlp", Mlp()),
        algorithm=Choice("algorithm", "bc", Bc(n_epochs=1)),
        losses=(
            LossChoice("loss", "nll", Nothing(), 1.0, "nll"),
            LossChoice("loss", "entropy", Nothing(), 1e-3, "entropy"),
            LossChoice("loss", "l2", Nothing(), 0.0, "l2"),
        ),
        evaluation=None,
        loggers=run_config({**LEAST, "loggers": ["stdout", "csv", "jsonl"]}).loggers,
    )


def test_an_evaluation_has_the_documented_defaults() -> None:
    config = run_config({**EVALUATED, "evaluation": {}})

    assert config.evaluation == EvaluationConfig(
        n_episodes=20,
        n_timesteps=None,
        n_envs=1,
        deterministic=True,
        every_n_epochs=None,
        max_steps=1_000_000,
        processes=False,
        vectorization="sb3",
        videos=None,
        render=False,
        render_fps=60,
        save_rollouts=None,
        reward=None,
        explore=None,
        wrappers=(),
    )


def test_an_environment_has_the_documented_defaults() -> None:
    env = run_config(EVALUATED).env

    assert env is not None
    assert (env.kwargs, env.max_episode_steps, env.wrappers) == ({}, None, ())


def test_a_key_in_python_is_text() -> None:
    assert faults_of({**LEAST, 1: 2}) == ["[1]: a key is text: put quotes around it"]  # type: ignore[dict-item]  # so it is


def test_demonstrations_and_algorithm_must_be_given() -> None:
    assert faults_of({"seed": 1}) == ["algorithm: this key is missing", "demonstrations: this key is missing"]


# --- slots ------------------------------------------------------------------------------------------------------


def test_a_component_is_a_name_or_a_name_with_settings() -> None:
    bare = run_config({**LEAST, "policy": "mlp"})
    full = run_config({**LEAST, "policy": {"name": "mlp", "net_arch": [32, 32]}})

    assert bare.policy == full.policy == Choice("policy", "mlp", Mlp())


def test_one_source_needs_no_list() -> None:
    source = {"name": "npz", "path": "/a.npz"}

    assert run_config({**LEAST, "demonstrations": source}) == run_config({**LEAST, "demonstrations": [source]})


def test_a_choice_made_in_python_stands() -> None:
    policy = Choice("policy", "cnn", Cnn(features=8))

    assert run_config({**LEAST, "policy": policy}).policy is policy


def test_a_loss_term_chosen_in_python_has_the_weight_one() -> None:
    (term,) = run_config({**LEAST, "losses": [Choice("loss", "nll", Nothing())]}).losses

    assert term == LossChoice("loss", "nll", Nothing(), 1.0, "nll")


def test_a_choice_of_another_kind_is_refused() -> None:
    assert faults_of({**LEAST, "policy": Choice("loss", "nll", Nothing())}) == [
        "policy: expected a policy, seen the loss 'nll'"
    ]


def test_a_component_may_hold_a_component() -> None:
    config = run_config({**LEAST, "policy": {"name": "wrapped", "inner": {"name": "cnn", "features": 3}}})

    assert config.policy.as_dict()["inner"] == {"name": "cnn", "channels": [32, 64], "features": 3}
    assert faults_of({**LEAST, "policy": {"name": "wrapped", "inner": {"name": "cnn", "feature": 3}}}) == [
        "policy.inner.feature: unknown key for policy 'cnn', did you mean 'features'? (keys: channels, features)"
    ]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (3, "policy: expected a policy as `name` or `{name: ..., key: value}`, seen 3"),
        (["mlp"], "policy: expected a policy as `name` or `{name: ..., key: value}`, seen a list of 1 ('mlp')"),
        (None, "policy: expected a policy as `name` or `{name: ..., key: value}`, seen null"),
        ({"net_arch": []}, "policy: `name` is missing (known: cnn, file, mlp, wrapped)"),
        ({"name": 3}, "policy.name: expected the name of a policy, seen 3 (known: cnn, file, mlp, wrapped)"),
        ("mpl", "policy: no policy is called 'mpl'. Did you mean 'mlp'? Known: cnn, file, mlp, random, wrapped."),
        ("random", "policy: the policy 'random' has nothing to train (trainable: cnn, file, mlp, wrapped)"),
        ("file", "policy.path: this key is missing"),
    ],
)
def test_a_slot_says_what_it_expected(value: object, fault: str) -> None:
    assert faults_of({**LEAST, "policy": value}) == [fault]


def test_an_unknown_component_has_an_error_of_its_own() -> None:
    with pytest.raises(UnknownComponentError, match=r"no loss term is called 'nl'\. Did you mean 'nll'\? Known: "):
        run_config({**LEAST, "losses": ["nl"]})


def test_an_unknown_component_lists_the_plugins_that_did_not_load() -> None:
    """Case P-2: what a broken plugin would have offered must not look like a typing error."""
    with using(manager_with(broken=None)), pytest.raises(UnknownComponentError, match=r"Plugin 'broken' .* is broken"):
        run_config(LEAST)


def test_a_name_that_two_plugins_offer_is_refused_in_its_place() -> None:
    entry = PolicyEntry(name="mlp", config="small_plugins:Mlp", factory="nowhere:build", summary="Feed-forward")
    clash = small_registry(acme=entry)

    with using(clash), pytest.raises(ComponentConflictError, match=r"^policy: policy 'mlp' is offered by .* and "):
        run_config({**LEAST, "policy": "mlp"})


def test_settings_that_cannot_be_imported_name_their_provider_in_their_place() -> None:
    entry = LossEntry(name="lost", config="no_such_module:Config", factory="nowhere:build", summary="Lost")
    broken = small_registry(acme=entry)

    with using(broken), pytest.raises(PluginError, match=r"^losses\[0\]: loss 'lost' of acme 0: its config .*"):
        run_config({**LEAST, "losses": ["lost"]})


# --- losses -----------------------------------------------------------------------------------------------------


def test_a_loss_term_carries_its_weight_beside_its_settings() -> None:
    config = run_config({**LEAST, "losses": ["nll", {"name": "huber", "weight": 0.5, "delta": 2}]})

    assert config.losses == (
        LossChoice("loss", "nll", Nothing(), 1.0, "nll"),
        LossChoice("loss", "huber", Huber(delta=2), 0.5, "huber"),
    )


def test_a_weight_may_follow_a_schedule() -> None:
    weight = {"schedule": "linear", "start": 1e-2, "end": 0}
    (term,) = run_config({**LEAST, "losses": [{"name": "nll", "weight": weight}]}).losses

    assert term.weight == WeightSchedule(schedule="linear", start=0.01, end=0.0)


def test_two_terms_of_one_name_need_an_id() -> None:
    twins: list[dict[str, object]] = [{"name": "huber"}, {"name": "huber", "delta": 2}]

    (fault,) = faults_of({**LEAST, "losses": twins})

    assert fault == "losses[1]: losses[0] is called 'huber' too: give one of them an `id`"
    twins[1]["id"] = "wide"
    assert [term.id for term in run_config({**LEAST, "losses": twins}).losses] == ["huber", "wide"]


@pytest.mark.parametrize(
    ("term", "fault"),
    [
        ({"weight": "1e-3"}, "losses[0].weight: expected a finite number or {schedule, start, end}, seen '1e-3'"),
        ({"weight": True}, "losses[0].weight: expected a finite number or {schedule, start, end}, seen true"),
        ({"weight": float("nan")}, "losses[0].weight: expected a finite number or {schedule, start, end}, seen .nan"),
        ({"weight": {"start": 1}}, "losses[0].weight.schedule: this key is missing"),
        (
            {"weight": {"schedule": "liner", "start": 1}},
            "losses[0].weight.schedule: expected one of 'linear', 'cosine', seen 'liner', did you mean 'linear'?",
        ),
        ({"wieght": 1}, "losses[0].wieght: unknown key for loss 'nll', did you mean 'weight'? (keys: id, weight)"),
        ({"id": 3}, "losses[0].id: expected text, seen 3"),
    ],
)
def test_what_a_loss_terms_place_takes_is_checked(term: dict[str, object], fault: str) -> None:
    assert faults_of({**LEAST, "losses": [{"name": "nll", **term}]}) == [fault]


def test_an_objective_has_a_term_with_a_weight() -> None:
    assert faults_of({**LEAST, "losses": []}) == ["losses: expected at least 1 item, seen an empty list"]
    assert faults_of({**LEAST, "losses": [{"name": "nll", "weight": 0}]}) == [
        "losses: every weight is zero, so there is nothing to minimise"
    ]


# --- environment and evaluation ---------------------------------------------------------------------------------


def test_an_evaluation_needs_an_environment() -> None:
    fault = "evaluation: an evaluation needs an environment: add `env: {id: ...}`"

    assert faults_of({**LEAST, "evaluation": {}}) == [fault]
    assert faults_of({**LEAST, "evaluation": {"n_envs": 0}, "seed": -1}) == [
        fault,
        "evaluation.n_envs: expected at least 1, seen 0",
        "seed: expected at least 0, seen -1",
    ]


def test_an_evaluation_needs_an_end() -> None:
    (fault,) = faults_of({**EVALUATED, "evaluation": {"n_episodes": None}})

    assert fault == "evaluation: an evaluation needs an end: give n_episodes, n_timesteps or both, both are null"


@pytest.mark.parametrize(
    ("videos", "film"),
    [
        ("none", None),
        (None, None),
        ({"mode": "none"}, None),
        ("one", Video(mode="one")),
        ("episodes", Video(mode="episodes")),
        ({"mode": "one", "format": "gif"}, Video(mode="one", format="gif")),
        ({"format": "gif"}, Video(format="gif")),
    ],
)
def test_videos_become_a_choice_of_the_wrapper_that_films(videos: object, film: Video | None) -> None:
    evaluation = run_config({**EVALUATED, "evaluation": {"videos": videos}}).evaluation

    assert evaluation is not None
    assert evaluation.videos == (film and Choice("wrapper", "video", film))


def test_videos_may_be_made_by_another_wrapper() -> None:
    evaluation = run_config({**EVALUATED, "evaluation": {"videos": {"name": "clip", "low": -2}}}).evaluation

    assert evaluation is not None
    assert evaluation.videos == Choice("wrapper", "clip", Clip(low=-2))


@pytest.mark.parametrize(
    ("videos", "fault"),
    [
        ("two", "evaluation.videos: expected one of 'one', 'episodes', seen 'two'"),
        (True, "evaluation.videos: expected a video as `mode` or `{mode: ..., key: value}`, seen true"),
        ({"mode": "on"}, "evaluation.videos.mode: expected one of 'one', 'episodes', seen 'on', did you mean 'one'?"),
        ({"fps": 3}, "evaluation.videos.fps: unknown key for wrapper 'video' (keys: format, mode)"),
        ({"name": "render"}, "evaluation.videos.name: the wrapper 'render' goes around all environments together"),
    ],
)
def test_wrong_videos_are_refused(videos: object, fault: str) -> None:
    (seen,) = faults_of({**EVALUATED, "evaluation": {"videos": videos}})

    assert seen.startswith(fault)


@pytest.mark.parametrize(
    ("option", "component", "fault"),
    [
        ({"videos": "one"}, "video", "evaluation.videos: filming needs the wrapper 'video', which no plugin offers."),
        ({"render": True}, "render", "evaluation.render: drawing needs the wrapper 'render', which no plugin offers."),
    ],
)
def test_an_option_whose_wrapper_no_plugin_offers_says_what_to_install(
    option: dict[str, object], component: str, fault: str
) -> None:
    with using(small_registry(without=component)):
        (seen,) = faults_of({**EVALUATED, "evaluation": option})

    assert seen.startswith(fault)
    assert "`pip install mimetic`" in seen


def test_wrappers_stand_where_their_level_belongs() -> None:
    config = run_config(
        {
            **LEAST,
            "env": {"id": "A-v0", "wrappers": ["clip", {"name": "clip", "low": -2}]},
            "evaluation": {
                "wrappers": ["clip"],
                "explore": {"name": "switching", "random_prob": 0.1, "switch_prob": 1},
                "reward": "zero",
            },
        }
    )

    assert config.env is not None
    assert config.evaluation is not None
    assert config.env.wrappers == (Choice("wrapper", "clip", Clip()), Choice("wrapper", "clip", Clip(low=-2)))
    assert config.evaluation.explore == Choice("wrapper", "switching", Switching(random_prob=0.1, switch_prob=1))
    assert config.evaluation.reward == Choice("reward", "zero", Nothing())


@pytest.mark.parametrize(
    ("mapping", "fault"),
    [
        (
            {"env": {"id": "A-v0", "wrappers": ["switching"]}},
            "env.wrappers[0]: the wrapper 'switching' goes around a policy, here one of level 'env' is needed "
            "(known: clip, video)",
        ),
        (
            {"env": {"id": "A-v0"}, "evaluation": {"explore": {"name": "clip"}}},
            "evaluation.explore.name: the wrapper 'clip' goes around one environment, here one of level 'policy' is "
            "needed (known: switching)",
        ),
        (
            {"env": {"id": "A-v0"}, "evaluation": {"explore": {"name": "switching", "random_prob": 0.1}}},
            "evaluation.explore.switch_prob: this key is missing",
        ),
    ],
)
def test_a_misplaced_or_half_given_wrapper_is_refused(mapping: dict[str, object], fault: str) -> None:
    """Case X-3: half-given exploration names the missing key before anything is built."""
    assert faults_of({**LEAST, **mapping}) == [fault]


def test_an_environments_arguments_are_free_but_plain() -> None:
    config = run_config({**LEAST, "env": {"id": "A-v0", "kwargs": {"any": {"thing": (1, 2.5, None)}}}})

    assert config.env is not None
    assert config.env.kwargs == {"any": {"thing": [1, 2.5, None]}}
    assert faults_of({**LEAST, "env": {"id": "A-v0", "kwargs": {"f": len}}}) == [
        "env.kwargs: expected plain values (numbers, text, lists, mappings), seen <built-in function len>"
    ]


# --- other keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("name", "a/b", "name: a run's name becomes a folder: expected a name without '/', seen 'a/b'"),
        ("name", "..", "name: a run's name becomes a folder"),
        ("name", "", "name: a run's name becomes a folder"),
        ("seed", -1, "seed: expected at least 0, seen -1"),
        ("seed", 2**63, "seed: expected a number below 9223372036854775808, seen 9223372036854775808"),
        ("seed", 10**4000, "seed: expected a number below 9223372036854775808, seen a number of 13288 bits"),
        ("seed", "1", "seed: expected a whole number, seen '1' (without quotes it is a number)"),
        ("seed", 1.5, "seed: expected a whole number, seen 1.5"),
        ("threads", 0, "threads: expected at least 1, seen 0"),
        ("device", "GPU 1", "device: expected text of the form"),
        ("env", "CartPole-v1", "env: expected a mapping of keys to values, seen 'CartPole-v1'"),
        ("env", {"id": ""}, "env.id: expected at least 1 character, seen ''"),
        ("plugins", "acme", "plugins: expected a list, seen 'acme'"),
        ("plugins", ["acme >"], "plugins[0]: expected a requirement such as 'acme-mimetic>=1.2', seen 'acme >'"),
        ("loggers", "stdout", "loggers: expected a list, seen 'stdout'"),
        ("treads", 2, "treads: unknown key, did you mean 'threads'? (keys: algorithm, demonstrations, device, env, "),
    ],
)
def test_a_wrong_value_is_answered_with_what_was_seen_and_expected(key: str, value: object, fault: str) -> None:
    (seen,) = faults_of({**LEAST, key: value})

    assert seen.startswith(fault)


def test_a_rule_of_the_algorithms_own_settings_is_told_in_its_place() -> None:
    (fault,) = faults_of({**LEAST, "algorithm": "bc"})

    assert fault == "algorithm: exactly one of n_epochs and n_batches, seen None and None"


def test_what_a_unions_members_expected_is_one_sentence() -> None:
    assert faults_of({**LEAST, "algorithm": {"name": "bc", "n_epochs": 1, "steps": []}}) == [
        "algorithm.steps: expected a whole number or text, seen an empty list"
    ]


def test_what_a_run_needs_is_checked_before_anything_else() -> None:
    """The policy of a plugin that is not there must not be called a typing error."""
    needs = ["acme-mimetic>=1.2", "pydantic>=999", "pydantic"]

    assert faults_of({**LEAST, "plugins": needs, "policy": "acme.mlp"}) == [
        "plugins[0]: this run needs acme-mimetic>=1.2, which is not installed. "
        "Install it: pip install 'acme-mimetic>=1.2'",
        f"plugins[1]: this run needs pydantic>=999, but pydantic {_version('pydantic')} is installed. "
        "Install it: pip install 'pydantic>=999'",
    ]


def _version(distribution: str) -> str:
    from importlib.metadata import version

    return version(distribution)


# --- files ------------------------------------------------------------------------------------------------------

SAMPLE = """\
name: cartpole
seed: 0
device: auto
threads: 1
plugins: [pydantic>=2]
env:
  id: CartPole-v1
  kwargs: {}
  max_episode_steps: null
  wrappers: []
demonstrations:
  - {name: npz, path: rollouts.npz}
policy: {name: mlp, net_arch: [32, 32], activation: tanh, normalize_obs: false}
algorithm:
  name: bc
  n_epochs: 20
  batch_size: 32
  optimizer: {name: adam, lr: 1e-3}
losses:
  - {name: nll, weight: 1.0}
  - {name: entropy, weight: 1e-3}
  - {name: l2, weight: 0.0}
evaluation:
  n_episodes: 20
  videos: none
  explore: null
  wrappers: []
loggers: [stdout, csv, jsonl]
"""


def write(folder: Path, text: str, name: str = "a.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_whole_run_file_is_read(tmp_path: Path) -> None:
    run = load_run_file(write(tmp_path, SAMPLE))

    assert run.config.algorithm == Choice("algorithm", "bc", Bc(n_epochs=20))
    assert run.config.demonstrations == (Choice("data-source", "npz", FileSource(path=tmp_path / "rollouts.npz")),)
    assert (run.path, run.base_dir) == (tmp_path / "a.yaml", tmp_path)


def test_the_names_default_is_the_files_stem(tmp_path: Path) -> None:
    path = write(tmp_path, "demonstrations: demo\nalgorithm: {name: bc, n_epochs: 1}\n", "half-cheetah.yaml")

    assert load_run_file(path).config.name == "half-cheetah"


def test_toml_says_the_same_as_yaml(tmp_path: Path) -> None:
    toml = 'name = "a"\ndemonstrations = ["demo"]\n[algorithm]\nname = "bc"\nn_epochs = 1\n[[losses]]\nname = "nll"\n'
    yaml = "demonstrations: demo\nalgorithm: {name: bc, n_epochs: 1}\nlosses: [nll]\n"

    assert load_run_file(write(tmp_path, toml, "a.toml")).config == load_run_file(write(tmp_path, yaml)).config


def test_faults_of_toml_have_the_key_without_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, 'demonstrations = "demo"\n[algorithm]\nname = "bc"\nn_epoch = 1\n', "a.toml")

    with pytest.raises(ConfigError, match=r"a\.toml: algorithm\.n_epoch: unknown key for algorithm 'bc', did you mean"):
        load_run_file(path)


def test_every_fault_of_a_file_comes_at_once_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case C-2: a misspelt key is refused with the nearest name, at every depth, in plugin sections too."""
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path,
        "seed: -1\n"
        "demonstrations:\n"
        "  - {name: npz, paht: x.npz}\n"
        "policy:\n"
        "  name: mlp\n"
        "  net_arhc: [64]\n"
        "algorithm: {name: bc, n_epochs: 1, optimizer: {lr: 1e-3, mode: x}}\n"
        "losses:\n"
        "  - name: nl\n"
        "treads: 1\n",
    )

    with pytest.raises(ConfigError) as caught:
        load_run_file("a.yaml")

    assert str(caught.value).splitlines() == [
        "a.yaml:1:1: seed: expected at least 0, seen -1",
        "a.yaml:3:5: demonstrations[0].path: this key is missing",
        "a.yaml:3:17: demonstrations[0].paht: unknown key for data-source 'npz', did you mean 'path'? "
        "(keys: n_trajectories, path)",
        "a.yaml:6:3: policy.net_arhc: unknown key for policy 'mlp', did you mean 'net_arch'? "
        "(keys: activation, net_arch, normalize_obs)",
        "a.yaml:7:58: algorithm.optimizer.mode: unknown key (keys: lr, name)",
        "a.yaml:9:5: losses[0].name: no loss term is called 'nl'. Did you mean 'nll'? "
        "Known: acme.huber, entropy, huber, l2, nll.",
        "a.yaml:10:1: treads: unknown key, did you mean 'threads'? (keys: algorithm, demonstrations, device, env, "
        "evaluation, loggers, losses, name, plugins, policy, seed, threads)",
    ]


def test_a_number_in_a_free_mapping_is_a_number(tmp_path: Path) -> None:
    """Case C-1: 1e-4 as text in an optimiser's keywords fails deep inside of torch."""
    algorithm = "{name: bc, n_epochs: 1, optimizer_kwargs: {eps: 1e-4, amsgrad: true}}"

    run = load_run_file(write(tmp_path, f"demonstrations: demo\nalgorithm: {algorithm}\n"))

    assert isinstance(run.config.algorithm.config, Bc)
    assert run.config.algorithm.config.optimizer_kwargs == {"eps": 1e-4, "amsgrad": True}


def test_where_each_value_came_from_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path,
        "demonstrations: {name: npz, path: x.npz}\nalgorithm:\n  name: bc\n  n_epochs: 1\n"
        "policy: mlp\nenv: {id: A-v0}\nevaluation: {videos: one}\n",
    )

    origin = load_run_file("a.yaml", ["policy.net_arch=[8]", "losses.l2.weight=1"]).origin

    assert origin["demonstrations[0].path"] == "a.yaml:1"
    assert origin["algorithm.n_epochs"] == "a.yaml:4"
    assert origin["algorithm.batch_size"] == "default"
    assert origin["policy.name"] == "a.yaml:5"
    assert origin["policy.net_arch[0]"] == "command line"
    assert origin["policy.activation"] == "default"
    assert origin["losses[0].weight"] == "default"
    assert origin["losses[2].weight"] == "command line"
    assert origin["evaluation.videos.mode"] == "a.yaml:7"
    assert origin["evaluation.videos.format"] == "default"
    assert origin["name"] == "default"


def test_a_lone_source_knows_the_line_of_each_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "algorithm: {name: bc, n_epochs: 1}\ndemonstrations:\n  name: npz\n  path: x.npz\n")

    assert load_run_file("a.yaml").origin["demonstrations[0].path"] == "a.yaml:4"


def test_reading_run_files_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, mimetic.config\n"
        "heavy = {'numpy', 'torch', 'gymnasium', 'stable_baselines3', 'imageio', 'ruamel'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
