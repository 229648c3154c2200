"""What each logger in the box writes, byte for byte where that matters."""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from mimetic.errors import ConfigError, TargetExistsError
from mimetic.hookspecs import LoggerContext
from mimetic.logs import Logger, Record
from mimetic.plugins import registry

FILE_OF = {"log": "log.txt", "csv": "progress.csv", "jsonl": "metrics.jsonl", "tensorboard": "tensorboard"}

AWKWARD = Record(
    step=3,
    epoch=None,
    values={
        "nan": math.nan,
        "inf": -math.inf,
        "none": None,
        "text": 'a, "b"\nc',
        "flag": True,
        "k" * 300: 1.0,
        "ключ/λ": 2,
        "": 0.0,
    },
)


def build(name: str, folder: Path | None) -> Logger:
    logger: Logger = registry().build("logger", name, {}, LoggerContext(run_dir=folder))
    return logger


@pytest.fixture(params=["stdout", "log", "csv", "jsonl", "tensorboard"])
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "tensorboard":
        pytest.importorskip("tensorboard")
    return str(request.param)


@pytest.fixture
def logger(name: str, tmp_path: Path) -> Iterator[Logger]:
    logger = build(name, tmp_path)
    yield logger
    logger.close()


def rows(folder: Path) -> list[list[str]]:
    with (folder / "progress.csv").open(newline="", encoding="utf-8") as handle:
        return list(csv.reader(handle))


# --- facts of every logger ----------------------------------------------------------------------------------------


def test_a_logger_survives_values_and_keys_of_every_kind(logger: Logger) -> None:
    logger.write(AWKWARD)
    logger.write(Record(step=4, epoch=1, values={"another": 1.0}))
    logger.write(Record(step=5, epoch=1, values={}))


def test_closing_twice_is_harmless(logger: Logger) -> None:
    logger.close()
    logger.close()


@pytest.mark.parametrize("name", FILE_OF, indirect=True)
def test_a_logger_that_writes_files_refuses_to_go_without_a_folder(name: str) -> None:
    with pytest.raises(ConfigError, match=f"logger '{name}' writes files, and no folder was given"):
        build(name, None)


@pytest.mark.parametrize("name", FILE_OF, indirect=True)
def test_a_log_that_is_there_is_never_written_over(name: str, tmp_path: Path) -> None:
    build(name, tmp_path).close()

    with pytest.raises(TargetExistsError, match=f"{FILE_OF[name]}.*choose another folder"):
        build(name, tmp_path)


def test_stdout_needs_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    build("stdout", None).write(Record(1, 2, {"loss": 0.5}))

    assert capsys.readouterr().out == "step 1, epoch 2\n  loss 0.5\n"


# --- text ---------------------------------------------------------------------------------------------------------


def test_text_stands_in_as_many_columns_as_a_line_takes(tmp_path: Path) -> None:
    logger = build("log", tmp_path)
    logger.write(Record(500, 1, {"bc/loss": 0.123456789, "bc/batch": 500, "bc/entropy": None}))
    logger.write(Record(501, 1, {"k" * 60: 1, "j": 2}))
    logger.close()

    assert (tmp_path / "log.txt").read_text().splitlines() == [
        "step 500, epoch 1",
        "  bc/loss 0.123457   bc/batch 500       bc/entropy -",
        "step 501, epoch 1",
        "  " + "k" * 60 + " 1",
        "  j 2",
    ]


def test_no_line_of_text_is_broken_by_a_value(tmp_path: Path) -> None:
    logger = build("log", tmp_path)
    logger.write(Record(1, None, {"text": "a\nb"}))
    logger.close()

    assert (tmp_path / "log.txt").read_text() == "step 1\n  text a b\n"


# --- csv ----------------------------------------------------------------------------------------------------------


def test_the_first_columns_are_step_and_epoch(tmp_path: Path) -> None:
    logger = build("csv", tmp_path)
    logger.write(Record(0, 1, {"loss": 0.1}))
    logger.close()

    assert rows(tmp_path) == [["step", "epoch", "loss"], ["0", "1", "0.1"]]


def test_a_late_key_becomes_a_column_and_older_rows_are_padded(tmp_path: Path) -> None:
    logger = build("csv", tmp_path)
    logger.write(Record(0, None, {"loss": 1.0}))
    logger.write(Record(1, None, {"loss": 2.0, "return": 9.0}))
    logger.write(Record(2, None, {"return": 8.0}))
    logger.close()

    assert rows(tmp_path) == [
        ["step", "epoch", "loss", "return"],
        ["0", "", "1.0", ""],
        ["1", "", "2.0", "9.0"],
        ["2", "", "", "8.0"],
    ]


def test_every_row_is_there_before_the_file_is_closed(tmp_path: Path) -> None:
    """A run that is killed loses no row that it wrote."""
    logger = build("csv", tmp_path)
    for step in range(3):
        logger.write(Record(step, None, {f"key{step}": step}))

        assert len(rows(tmp_path)) == 2 + step
    logger.close()


def test_a_header_is_rewritten_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the rewriting fails half-way, the table that was there stays, and goes on growing."""
    logger = build("csv", tmp_path)
    logger.write(Record(0, None, {"loss": 1.0}))

    def full(source: object, target: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space left"):
        patch.setattr("os.replace", full)
        logger.write(Record(1, None, {"loss": 2.0, "late": 3.0}))

    logger.write(Record(2, None, {"loss": 4.0}))
    logger.close()
    assert rows(tmp_path) == [["step", "epoch", "loss"], ["0", "", "1.0"], ["2", "", "4.0"]]


def test_numbers_keep_their_last_digit_in_a_table(tmp_path: Path) -> None:
    logger = build("csv", tmp_path)
    logger.write(Record(0, None, {"loss": 1 / 3}))
    logger.close()

    assert float(rows(tmp_path)[1][2]) == 1 / 3


def test_awkward_values_can_be_read_back_from_a_table(tmp_path: Path) -> None:
    logger = build("csv", tmp_path)
    logger.write(AWKWARD)
    logger.close()

    header, row = rows(tmp_path)
    cells = dict(zip(header, row, strict=True))
    assert (cells["nan"], cells["inf"], cells["none"]) == ("nan", "-inf", "")
    assert cells["text"] == 'a, "b"\nc'
    assert cells["k" * 300] == "1.0"


# --- jsonl --------------------------------------------------------------------------------------------------------


def test_each_line_is_an_object_with_its_step_and_epoch(tmp_path: Path) -> None:
    logger = build("jsonl", tmp_path)
    logger.write(Record(5, 2, {"loss": 0.5}))
    logger.write(Record(6, None, {"other": "text"}))
    logger.close()

    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": 5, "epoch": 2, "loss": 0.5},
        {"step": 6, "epoch": None, "other": "text"},
    ]


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    logger = build("jsonl", tmp_path)
    logger.write(AWKWARD)
    logger.close()

    values = json.loads((tmp_path / "metrics.jsonl").read_text(encoding="utf-8"), parse_constant=refuse)
    assert values["nan"] is None
    assert values["inf"] is None
    assert values["ключ/λ"] == 2


# --- tensorboard --------------------------------------------------------------------------------------------------


def test_tensorboard_gets_every_number_at_its_step(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    logger = build("tensorboard", tmp_path)
    logger.write(Record(5, 1, {"loss": 0.5, "none": None, "note": "text"}))
    logger.write(Record(9, 2, {"loss": 0.25}))
    logger.close()

    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(each.step, each.value) for each in events.Scalars("loss")] == [(5, 0.5), (9, 0.25)]
    assert [(each.step, each.value) for each in events.Scalars("epoch")] == [(5, 1.0), (9, 2.0)]
    assert "none" not in events.Tags()["scalars"]
