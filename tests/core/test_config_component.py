"""The base of all settings: strict about text, absolute about paths, helpful about keys."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from mimetic.config import ComponentConfig, ConfigPath
from mimetic.config.document import CommandLineText


class Inner(ComponentConfig):
    count: int = 1


class Settings(ComponentConfig):
    count: int = 3
    """How many."""

    rate: float | None = None
    sizes: tuple[int, ...] = ()
    on: bool = True
    path: ConfigPath | None = None
    table: dict[str, float] = {}  # noqa: RUF012 - pydantic copies it
    inner: Inner = Inner()


@pytest.mark.parametrize(
    "options",
    [
        {"count": "3"},
        {"count": True},
        {"count": 2.5},
        {"rate": "1e-4"},
        {"rate": False},
        {"rate": float("nan")},
        {"rate": float("inf")},
        {"sizes": [1, "2"]},
        {"on": "no"},
        {"on": 1},
        {"table": {"a": "1"}},
        {"inner": {"count": "1"}},
        {"path": 3},
        {"path": ""},
        {"path": "a\0b"},
    ],
)
def test_text_and_switches_are_no_numbers(options: dict[str, object]) -> None:
    """A quoted "1e-4" that passed as text would fail far from here, in an optimiser (case C-1)."""
    with pytest.raises(ValidationError):
        Settings.model_validate(options)


def test_a_whole_number_may_be_written_as_a_float() -> None:
    assert Settings.model_validate({"count": 1e5, "rate": 1}) == Settings(count=100_000, rate=1.0)


def test_an_unknown_key_is_answered_with_the_nearest_and_all_keys() -> None:
    with pytest.raises(ValidationError, match=r"unknown key, did you mean 'count'\? \(keys: count, inner, on, path, "):
        Settings.model_validate({"cuont": 4})


def test_the_text_under_a_field_documents_it() -> None:
    assert Settings.model_fields["count"].description == "How many."


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().count = 4


def test_a_relative_path_starts_from_the_run_files_folder(tmp_path: Path) -> None:
    settings = Settings.model_validate({"path": "data/a.npz"}, context={"base_dir": tmp_path})

    assert settings.path == tmp_path / "data/a.npz"


def test_a_relative_path_of_the_command_line_starts_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    settings = Settings.model_validate({"path": CommandLineText("a.npz")}, context={"base_dir": Path("/elsewhere")})

    assert settings.path == tmp_path / "a.npz"


def test_a_path_given_in_python_starts_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert Settings(path=Path("b/../a.npz")).path == tmp_path / "a.npz"


def test_a_tilde_before_no_user_is_part_of_the_name(tmp_path: Path) -> None:
    settings = Settings.model_validate({"path": "~nobody-here/a"}, context={"base_dir": tmp_path})

    assert settings.path == tmp_path / "~nobody-here/a"


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert Settings(path=Path("~/a.npz")).path == tmp_path / "a.npz"
