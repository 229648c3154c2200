"""mimetic config check, show, schema and init."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from mimetic.cli import main
from mimetic.config import load_run_file
from mimetic.plugins import using
from small_plugins import small_registry

FILE = "demonstrations: {name: npz, path: x.npz}\nalgorithm: {name: bc, n_epochs: 1}\n"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with using(small_registry()):
        yield


def test_checking_a_good_file_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(FILE)

    assert main(["config", "check", "a.yaml", "policy.net_arch=[8]"]) == 0
    assert capsys.readouterr().out == "a.yaml: no fault found\n"


def test_checking_a_bad_file_lists_every_fault_and_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(FILE + "policy:\n  name: mlp\n  net_arhc: [8]\n")

    assert main(["config", "check", "a.yaml", "seed=x"]) == 2

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "a.yaml:5:3: policy.net_arhc: unknown key for policy 'mlp', did you mean 'net_arch'? "
        "(keys: activation, net_arch, normalize_obs)",
        "command line: seed: expected a whole number, seen 'x'",
    ]


def test_a_resolved_file_passes_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    """Case C-2: the resolved config is saved with the run and accepted as input to rerun it."""
    Path("a.yaml").write_text(FILE)
    assert main(["config", "show", "a.yaml"]) == 0
    Path("b.yaml").write_text(capsys.readouterr().out)

    assert main(["config", "check", "b.yaml"]) == 0
    assert load_run_file("b.yaml").config == load_run_file("a.yaml").config


def test_showing_prints_defaults_and_origins(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(FILE)

    assert main(["config", "show", "a.yaml", "seed=7"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.startswith("seed")] == [["seed:", "7", "#", "command", "line"]]
    assert [line.split() for line in lines if line.startswith("device")] == [["device:", "auto", "#", "default"]]


def test_the_schema_is_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "schema"]) == 0

    Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


def test_a_started_file_passes_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "init"]) == 0
    assert main(["config", "check", "run.yaml"]) == 0
    assert main(["config", "init", "mine.yml"]) == 0
    assert load_run_file("mine.yml").config.name == "mine"


def test_starting_overwrites_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.yaml").write_text("mine")

    assert main(["config", "init"]) == 2

    assert capsys.readouterr().err == "run.yaml: it exists already, and was left as it is\n"
    assert Path("run.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.toml", "run.toml: a run file to start is YAML: expected a name that ends in .yaml"),
        ("no/such/run.yaml", "no/such/run.yaml: it cannot be written: "),
    ],
)
def test_a_file_that_cannot_be_started_is_named(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "init", name]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_without_an_action_the_usage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 2
    assert "{check,show,schema,init}" in capsys.readouterr().err


def test_checking_imports_no_implementation() -> None:
    """Validation needs the settings of components, not torch (section 2 of the design)."""
    code = (
        "import sys\nfrom mimetic.cli import main\n"
        "status = main(['config', 'init'])\n"
        "heavy = {'numpy', 'torch', 'gymnasium', 'stable_baselines3', 'imageio', 'tqdm'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
