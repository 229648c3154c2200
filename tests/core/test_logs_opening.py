"""Loggers by name, as `configure` and a run file give them."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mimetic.errors import TargetExistsError, UnknownComponentError
from mimetic.logs import configure


def first_row(table: Path) -> dict[str, str]:
    return rows(table)[0]


def rows(table: Path) -> list[dict[str, str]]:
    with table.open(newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_default_logger_writes_text_and_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with configure(tmp_path) as logger:
        logger.record("loss", 0.5)
        logger.dump(7)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.txt", "progress.csv"]
    assert "step 7" in capsys.readouterr().out


def test_every_sink_carries_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reference library's CSV and JSON files lack it, so that curves have no x axis."""
    with configure(tmp_path, ["stdout", "log", "csv", "jsonl"]) as logger:
        logger.record("loss", 0.5)
        logger.dump(7)

    assert "step 7" in capsys.readouterr().out
    assert "step 7" in (tmp_path / "log.txt").read_text()
    assert first_row(tmp_path / "progress.csv")["step"] == "7"
    assert json.loads((tmp_path / "metrics.jsonl").read_text())["step"] == 7


def test_without_a_folder_a_new_temporary_one_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with configure(format_strs=["csv"]) as first, configure(format_strs=["csv"]) as second:
        assert first.get_dir() != second.get_dir()
        assert first.get_dir() is not None


def test_json_is_another_name_for_jsonl(tmp_path: Path) -> None:
    configure(tmp_path, ["json"]).close()

    assert (tmp_path / "metrics.jsonl").exists()


def test_an_unknown_logger_is_refused_with_the_known_names(tmp_path: Path) -> None:
    with pytest.raises(UnknownComponentError, match=r"'cvs'. Did you mean 'csv'\?") as caught:
        configure(tmp_path, ["cvs"])

    assert isinstance(caught.value, ValueError)
    assert "jsonl" in str(caught.value)


def test_a_folder_that_holds_a_log_is_refused_and_the_log_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text("step,loss\n0,1\n")

    with pytest.raises(TargetExistsError, match=r"progress\.csv: a log of another run is there"):
        configure(tmp_path, ["log", "csv"])

    assert (tmp_path / "progress.csv").read_text() == "step,loss\n0,1\n"


def test_raw_values_of_an_inner_loop_lie_in_a_folder_below(tmp_path: Path) -> None:
    with configure(tmp_path, ["csv"]) as logger:
        with logger.accumulate_means("bc"):
            for step, loss in enumerate((1.0, 3.0)):
                logger.record("loss", loss)
                logger.dump(step)
        logger.dump(0)

    assert [row["raw/bc/loss"] for row in rows(tmp_path / "raw" / "bc" / "progress.csv")] == ["1.0", "3.0"]
    assert first_row(tmp_path / "progress.csv")["mean/bc/loss"] == "2.0"


def test_logging_imports_neither_torch_nor_stable_baselines3() -> None:
    program = (
        "import sys, tempfile\n"
        "from mimetic.logs import configure\n"
        "with configure(tempfile.mkdtemp(), ['log', 'csv', 'jsonl']) as logger:\n"
        "    logger.record('loss', 1.0)\n"
        "    logger.dump(1)\n"
        "print(sorted({'torch', 'stable_baselines3', 'gymnasium'} & set(sys.modules)))\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_logger_that_nobody_closes_warns_about_nothing(tmp_path: Path) -> None:
    """Most people who write a script never close their logger."""
    program = (
        "import gc, sys\n"
        "from mimetic.logs import configure\n"
        "logger = configure(sys.argv[1], ['log', 'csv', 'jsonl'])\n"
        "logger.record('loss', 1.0)\n"
        "logger.dump(1)\n"
        "del logger\n"
        "gc.collect()\n"
    )

    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "ResourceWarning" not in done.stderr
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 1
