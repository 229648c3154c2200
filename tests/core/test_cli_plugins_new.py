"""``mimetic plugins new``: what it calls things, what it refuses, and that it writes nothing over."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mimetic.cli.plugins import run
from mimetic.cli.plugins.starting import BEGINNINGS, Names
from mimetic.errors import ConfigError, TargetExistsError
from mimetic.hookspecs import KINDS, PolicyEntry
from mimetic.plugins import using
from mimetic.testing import manager_with


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("component", "distribution", "package", "class_name"),
    [
        ("acme.focal", "acme-focal-mimetic", "acme_focal_mimetic", "Focal"),
        ("acme-focal", "acme-focal-mimetic", "acme_focal_mimetic", "AcmeFocal"),
        ("acme.smooth-l1", "acme-smooth-l1-mimetic", "acme_smooth_l1_mimetic", "SmoothL1"),
        ("acme.2d", "acme-2d-mimetic", "acme_2d_mimetic", "The2d"),
        ("acme.none", "acme-none-mimetic", "acme_none_mimetic", "TheNone"),
    ],
)
def test_a_components_name_gives_the_others(component: str, distribution: str, package: str, class_name: str) -> None:
    names = Names(component)

    assert (names.distribution, names.package, names.class_name) == (distribution, package, class_name)


def test_every_kind_has_a_beginning() -> None:
    assert {title.partition(" ")[0] for title in BEGINNINGS} == set(KINDS)


def test_it_writes_a_distribution_and_says_how_to_go_on(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "loss", "acme.focal"]) == 0

    project = tomllib.loads((here / "acme-focal-mimetic" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "acme-focal-mimetic"
    assert project["entry-points"]["mimetic"] == {"acme-focal": "acme_focal_mimetic.plugin"}
    assert project["dependencies"] == ["mimetic>=0.1,<1"]
    assert sorted(path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file()) == [
        "acme-focal-mimetic/README.md",
        "acme-focal-mimetic/example.yaml",
        "acme-focal-mimetic/pyproject.toml",
        "acme-focal-mimetic/src/acme_focal_mimetic/__init__.py",
        "acme-focal-mimetic/src/acme_focal_mimetic/config.py",
        "acme-focal-mimetic/src/acme_focal_mimetic/loss.py",
        "acme-focal-mimetic/src/acme_focal_mimetic/plugin.py",
        "acme-focal-mimetic/src/acme_focal_mimetic/py.typed",
        "acme-focal-mimetic/tests/test_loss.py",
    ]
    said = capsys.readouterr().out
    assert "cd acme-focal-mimetic" in said
    assert "src/acme_focal_mimetic/loss.py" in said


def test_what_was_written_as_a_document(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["new", "command", "acme-best", "--out", "best", "--json"])

    document = json.loads(capsys.readouterr().out)

    assert (document["kind"], document["name"], document["folder"]) == ("command", "acme-best", "best")
    assert sorted(document["files"]) == sorted(
        path.relative_to(here / "best").as_posix() for path in (here / "best").rglob("*") if path.is_file()
    )


def test_an_empty_folder_may_be_there(here: Path) -> None:
    (here / "mine").mkdir()

    run(["new", "reward", "acme.near", "--out", "mine"])

    assert (here / "mine" / "pyproject.toml").is_file()


@pytest.mark.parametrize("what", ["a folder", "a file", "a file above"])
def test_what_is_there_is_left_as_it_is(what: str, here: Path) -> None:
    target = "mine"
    if what == "a folder":
        (here / "mine").mkdir()
        (here / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    else:
        (here / "mine").write_text("mine", encoding="utf-8")
        target = "mine/below" if what == "a file above" else target

    with pytest.raises(TargetExistsError, match=r"mine.*\(--out DIR\)"):
        run(["new", "loss", "acme.focal", "--out", target])

    assert [path.name for path in here.rglob("*") if path.is_file()] == ["mine" if "file" in what else "notes.txt"]


@pytest.mark.parametrize(
    ("name", "mended"),
    [
        ("Acme.Focal", "acme.focal"),
        ("acme.focal.loss", "acme.focal-loss"),
        ("acme_focal", "acme-focal"),
        ("FocalLoss", "focal-loss"),
        ("1st", "acme.focal"),
        ("", "acme.focal"),
        ("../escape", "escape"),
        ("acme.focal\n", "acme.focal"),
    ],
)
def test_what_is_no_name_is_refused_with_one_that_is(name: str, mended: str, here: Path) -> None:
    with pytest.raises(ConfigError, match=f"is no name of a component.*such as '{mended}'"):
        run(["new", "loss", name])

    assert list(here.iterdir()) == []


def test_a_kind_that_does_not_exist_is_told_what_was_probably_meant(here: Path) -> None:
    with pytest.raises(ConfigError, match="is called 'losses', did you mean 'loss'"):
        run(["new", "losses", "acme.focal"])


def test_a_name_that_is_taken_is_refused_with_its_owner(here: Path) -> None:
    entry = PolicyEntry(name="mlp", config="a:b", factory="a:b", summary="Feed-forward")
    with using(manager_with(entry)), pytest.raises(ConfigError, match=r"policy 'mlp' of entries 0 .*'acme\.mlp'"):
        run(["new", "policy", "mlp"])


def test_a_name_that_another_kind_has_is_free(here: Path) -> None:
    entry = PolicyEntry(name="acme.x", config="a:b", factory="a:b", summary="Feed-forward")
    with using(manager_with(entry)):
        assert run(["new", "loss", "acme.x"]) == 0


def test_a_built_in_command_cannot_be_offered(here: Path) -> None:
    with pytest.raises(ConfigError, match="'mimetic train' is a built-in command"):
        run(["new", "command", "train"])


def test_only_a_wrapper_has_a_level(here: Path) -> None:
    with pytest.raises(ConfigError, match="a loss goes around nothing"):
        run(["new", "loss", "acme.focal", "--level", "venv"])


@pytest.mark.parametrize("level", ["env", "venv", "policy"])
def test_a_wrapper_says_its_level(level: str, here: Path) -> None:
    run(["new", "wrapper", "acme.around", "--level", level, "--out", "around"])

    plugin = (here / "around" / "src" / "acme_around_mimetic" / "plugin.py").read_text(encoding="utf-8")
    assert f'level="{level}"' in plugin


def test_no_word_of_a_template_is_left_over(here: Path) -> None:
    beginnings: list[Any] = [title.split() for title in BEGINNINGS]
    for kind, *level in beginnings:
        run(["new", kind, "acme.x", "--out", f"{kind}{''.join(level)}", *(["--level", *level] if level else [])])

    texts = {path: path.read_text(encoding="utf-8") for path in here.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if "$" in text.replace('+$"', "")] == []
