"""KEY=VALUE on the command line: the same validation, and sentences for keys that lead nowhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mimetic.config import Choice, RunConfig, load_run_file, parse_value
from mimetic.errors import ConfigError
from mimetic.plugins import using
from small_plugins import Bc, Cnn, FileSource, Huber, Mlp, Optimizer, Video, small_registry

FILE = """\
env: {id: CartPole-v1}
demonstrations:
  - {name: npz, path: rollouts.npz}
  - demo
policy: {name: mlp, net_arch: [32, 32], activation: relu}
algorithm: {name: bc, n_epochs: 20}
"""


@pytest.fixture(autouse=True)
def _small_plugins() -> Iterator[None]:
    with using(small_registry()):
        yield


def overridden(folder: Path, *overrides: str, text: str = FILE) -> RunConfig:
    path = folder / "a.yaml"
    path.write_text(text)
    return load_run_file(path, overrides).config


def faults_of(folder: Path, *overrides: str, text: str = FILE) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        overridden(folder, *overrides, text=text)
    return [str(fault) for fault in caught.value.faults]


def test_a_value_is_yaml(tmp_path: Path) -> None:
    config = overridden(tmp_path, "policy.net_arch=[64,64]", "algorithm.optimizer.lr=1e-4", "env.kwargs={a: [1, x]}")

    assert config.policy.config == Mlp(net_arch=(64, 64), activation="relu")
    assert config.algorithm.config == Bc(n_epochs=20, optimizer=Optimizer(lr=1e-4))
    assert config.env is not None
    assert config.env.kwargs == {"a": [1, "x"]}


def test_another_component_drops_the_files_settings_of_the_old_one(tmp_path: Path) -> None:
    assert overridden(tmp_path, "policy.name=cnn").policy == Choice("policy", "cnn", Cnn())


def test_another_component_keeps_the_command_lines_settings(tmp_path: Path) -> None:
    """The order of two overrides does not matter: both are meant."""
    after = overridden(tmp_path, "policy.name=cnn", "policy.features=8")
    before = overridden(tmp_path, "policy.features=8", "policy.name=cnn")

    assert after.policy == before.policy == Choice("policy", "cnn", Cnn(features=8))


def test_the_same_name_again_drops_nothing(tmp_path: Path) -> None:
    assert overridden(tmp_path, "policy.name=mlp").policy.config == Mlp(activation="relu")


def test_another_loss_term_keeps_its_places_weight(tmp_path: Path) -> None:
    text = FILE + "losses: [{name: huber, weight: 0.5, delta: 2}]\n"

    (term,) = overridden(tmp_path, "losses.huber.name=nll", text=text).losses

    assert (term.name, term.weight) == ("nll", 0.5)


def test_a_lists_items_are_addressed_by_name(tmp_path: Path) -> None:
    config = overridden(tmp_path, "losses.entropy.weight=0", "loggers.csv.flush=false")

    assert [term.weight for term in config.losses] == [1.0, 0, 0.0]
    assert config.loggers[1].as_dict() == {"name": "csv", "flush": False}


def test_a_lists_items_are_addressed_by_id(tmp_path: Path) -> None:
    text = FILE + "losses: [huber, {name: huber, id: wide}]\n"

    config = overridden(tmp_path, "losses.wide.delta=3", text=text)

    assert [term.config for term in config.losses] == [Huber(), Huber(delta=3)]


def test_a_name_with_a_vendor_addresses_an_item_too(tmp_path: Path) -> None:
    (term,) = overridden(tmp_path, "losses.acme.huber.delta=3", text=FILE + "losses: [acme.huber]\n").losses

    assert term.config == Huber(delta=3)


@pytest.mark.parametrize("key", ["demonstrations.0.path", "demonstrations[0].path", "demonstrations.npz.path"])
def test_a_path_on_the_command_line_is_relative_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """Case C-4: where a path starts from follows where it was written."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    npz, _ = overridden(tmp_path, f"{key}=other.npz").demonstrations

    assert npz.config == FileSource(path=tmp_path / "elsewhere/other.npz")


def test_a_lone_source_is_the_first_of_a_list(tmp_path: Path) -> None:
    text = "demonstrations: {name: npz, path: a.npz, n_trajectories: 0}\nalgorithm: {name: bc, n_epochs: 1}\n"

    (fault,) = faults_of(tmp_path, "demonstrations.0.path=/b.npz", text=text)

    assert fault == f"{tmp_path}/a.yaml:1:42: demonstrations[0].n_trajectories: expected at least 1, seen 0"


def test_null_takes_a_section_away(tmp_path: Path) -> None:
    assert overridden(tmp_path, "evaluation=null", text=FILE + "evaluation: {n_episodes: 3}\n").evaluation is None


@pytest.mark.parametrize("text", [FILE, FILE + "evaluation:\n"])
def test_an_absent_section_is_made(tmp_path: Path, text: str) -> None:
    evaluation = overridden(tmp_path, "evaluation.n_episodes=3", text=text).evaluation

    assert evaluation is not None
    assert evaluation.n_episodes == 3


@pytest.mark.parametrize("written", ["", "  videos: none\n", "  videos: one\n", "  videos: {mode: one}\n"])
def test_an_option_of_a_film_makes_one(tmp_path: Path, written: str) -> None:
    text = FILE + "evaluation:\n  n_episodes: 3\n" + written

    evaluation = overridden(tmp_path, "evaluation.videos.format=gif", text=text).evaluation

    assert evaluation is not None
    assert evaluation.videos == Choice("wrapper", "video", Video(format="gif"))


def test_a_bare_name_takes_settings(tmp_path: Path) -> None:
    text = FILE.replace("{name: mlp, net_arch: [32, 32], activation: relu}", "mlp")

    assert overridden(tmp_path, "policy.activation=relu", text=text).policy.config == Mlp(activation="relu")


def test_a_default_takes_settings(tmp_path: Path) -> None:
    text = "demonstrations: demo\nalgorithm: {name: bc, n_epochs: 1}\n"

    assert overridden(tmp_path, "policy.activation=relu", text=text).policy.config == Mlp(activation="relu")


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("policy", "command line: expected KEY=VALUE such as policy.net_arch=[64,64], seen 'policy'"),
        ("=3", "command line: expected KEY=VALUE such as policy.net_arch=[64,64], seen '=3'"),
        ("policy..x=3", "command line: expected KEY=VALUE such as policy.net_arch=[64,64], seen 'policy..x=3'"),
        ("polcy.name=mlp", "command line: polcy: unknown key, did you mean 'policy'? (keys: "),
        (
            "policy.net_arhc=[1]",
            "command line: policy.net_arhc: unknown key for policy 'mlp', did you mean 'net_arch'?",
        ),
        ("policy.name=mpl", "command line: policy.name: no policy is called 'mpl'. Did you mean 'mlp'? Known: "),
        ("seed=x", "command line: seed: expected a whole number, seen 'x'"),
        ("env.id.x=3", "command line: env.id: it is 'CartPole-v1', so it has no 'x'"),
        (
            "losses.entropi.weight=0",
            "command line: losses: no item is called 'entropi', did you mean 'entropy'? (items: nll, entropy, l2)",
        ),
        ("demonstrations.2.path=x", "command line: demonstrations: no item is called '2' (items: npz, demo)"),
        ("losses=[]", "command line: losses: expected at least 1 item, seen an empty list"),
        ("policy.net_arch=[1,", "command line: policy.net_arch: not valid YAML: while parsing a flow"),
        ("policy={a: 1, a: 2}", "command line: policy: written twice, first in line 1, seen '{a: 1, a: 2}'"),
        ("env.kwargs={a: !x 1}", "command line: env.kwargs: tags such as !x are not read"),
        ("device=caf\udce9", "command line: device: the character U+DCE9 cannot stand in a text file"),
    ],
)
def test_a_wrong_override_says_so(tmp_path: Path, override: str, fault: str) -> None:
    (seen,) = faults_of(tmp_path, override)

    assert seen.startswith(fault)


def test_an_empty_list_has_no_items_to_address(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path, "env.wrappers.0.low=3", text=FILE.replace("v1}", "v1, wrappers: []}"))

    assert fault == "command line: env.wrappers: the list is empty, so it has no '0': set it as a whole"


def test_two_items_of_one_name_are_told_apart_by_number(tmp_path: Path) -> None:
    text = "demonstrations: [{name: npz, path: a}, {name: npz, path: b}]\nalgorithm: {name: bc, n_epochs: 1}\n"

    (fault,) = faults_of(tmp_path, "demonstrations.npz.path=c", text=text)

    assert fault.startswith("command line: demonstrations: several are called 'npz': say which by number (0, 1)")
    assert overridden(tmp_path, "demonstrations.1.path=/c", text=text).demonstrations[1].config == FileSource(
        path=Path("/c")
    )


def test_faults_of_the_file_and_of_the_command_line_come_at_once(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, "losses.nl.weight=0", "threads=0", text=FILE + "treads: 1\n")

    assert [fault.split(": ")[0] for fault in faults] == ["command line", f"{tmp_path}/a.yaml:7:1", "command line"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("null", None),
        ("", None),
        ("text", "text"),
        ("'1'", "1"),
        ("a,b", "a,b"),
        ("[a, b]", ["a", "b"]),
        ("module:callable", "module:callable"),
        ("@at", "@at"),
        ("*star", "*star"),
        ("2024-01-31", "2024-01-31"),
        ("C:\\data\\x: y: z", "C:\\data\\x: y: z"),
    ],
)
def test_a_value_that_is_no_yaml_is_text(text: str, value: object) -> None:
    assert parse_value(text) == value
