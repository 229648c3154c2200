"""What must a logger do?"""

import math
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import ClassVar

from mimetic.errors import ComponentFailedError, MimeticError
from mimetic.hookspecs import Kind, LoggerContext
from mimetic.logs import Logger, MessageLogger, Record, Value
from mimetic.plugins import registry
from mimetic.testing.contracts.component import ComponentContract, fresh_folder, skip
from mimetic.testing.contracts.facts import closing_what_it_opens, refusals_told, require

AWKWARD: dict[str, Value] = {
    "nan": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "nothing": None,
    "text": 'a, "b"\nand c\t=',
    "switch": True,
    "count": 10**20,
    "small": 5e-324,
    "loss/term with spaces": 1.0,
    "ключ/λ/键": 2.0,
    "k" * 300: 3.0,
    "": 0.0,
}
"""What records hold sooner or later."""


class LoggerContract(ComponentContract):
    """The facts of a logger; inherit from it and set ``name``."""

    kind: ClassVar[Kind] = "logger"

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_takes_records(self, tmp_path: Path) -> None:
        """Many of them, with an epoch and without."""
        with self._logger(fresh_folder(tmp_path)) as logger:
            for step in range(100):
                logger.write(Record(step=step, epoch=step // 10, values={"loss": 1.0 / (step + 1)}))
            logger.write(Record(step=100, epoch=None, values={"loss": 0.0}))

    def test_it_survives_values_of_every_kind(self, tmp_path: Path) -> None:
        """A loss that becomes NaN is when the log is needed most."""
        for key, value in AWKWARD.items():
            with self._logger(fresh_folder(tmp_path)) as logger:
                self._write(logger, Record(step=3, epoch=None, values={key: value}), f"{key[:40]!r}: {value!r}")

    def test_it_survives_keys_that_come_late_and_keys_that_stay_away(self, tmp_path: Path) -> None:
        """An evaluation is logged now and then, beside a loss that is always there."""
        with self._logger(fresh_folder(tmp_path)) as logger:
            for step, keys in enumerate((["loss"], ["loss", "return"], [], ["return"], list(AWKWARD), ["loss"])):
                values: dict[str, Value] = {key: AWKWARD.get(key, float(step)) for key in keys}
                self._write(logger, Record(step=step, epoch=0, values=values), f"the keys {[key[:40] for key in keys]}")

    def test_it_leaves_records_as_they_are(self, tmp_path: Path) -> None:
        """Other loggers get the same one."""
        values: dict[str, Value] = {"loss": 1.0, "text": "a"}
        with self._logger(fresh_folder(tmp_path)) as logger:
            logger.write(Record(step=1, epoch=1, values=values))
        require(values == {"loss": 1.0, "text": "a"}, f"{self._title()} changed a record's values to {values}")

    def test_it_writes_nowhere_but_into_the_runs_folder(self, tmp_path: Path) -> None:
        """Whoever keeps a run keeps its folder."""
        folder, elsewhere = fresh_folder(tmp_path), fresh_folder(tmp_path)
        with chdir(elsewhere), self._logger(folder) as logger:
            logger.write(Record(step=1, epoch=1, values={"loss": 1.0}))
        strays = sorted(path.name for path in elsewhere.iterdir())
        require(not strays, f"{self._title()} wrote {', '.join(strays)} into the working folder; use context.run_dir")

    def test_without_a_folder_it_prints_or_refuses(self, tmp_path: Path) -> None:
        """In a sentence: a run that keeps no folder says so by ``run_dir=None``."""
        elsewhere = fresh_folder(tmp_path)
        with chdir(elsewhere):
            try:
                logger = self.build_in(None, tmp_path)
            except ComponentFailedError as error:
                told = f"{self._title()} does not reckon with a run that keeps no folder: {error}"
                raise AssertionError(f"{told}; raise a ConfigError that says so") from error
            except MimeticError:
                return
            logger.write(Record(step=1, epoch=1, values={"loss": 1.0}))
            logger.close()
        strays = sorted(path.name for path in elsewhere.iterdir())
        require(not strays, f"{self._title()} was given no folder and wrote {', '.join(strays)}; raise a ConfigError")

    def test_it_writes_over_no_log_that_is_there(self, tmp_path: Path) -> None:
        """The second run into a folder must not cost the first one its log."""
        folder = fresh_folder(tmp_path)
        with self._logger(folder) as logger:
            logger.write(Record(step=1, epoch=1, values={"loss": 1.0}))
        before = _contents(folder)
        try:
            again = self.build_in(folder, tmp_path)
        except MimeticError:
            pass
        else:
            again.write(Record(step=2, epoch=1, values={"loss": 2.0}))
            again.close()
        after = _contents(folder)
        lost = [name for name, text in before.items() if not after.get(name, b"").startswith(text)]
        require(not lost, f"{self._title()} wrote over {', '.join(lost)}; open new files with mode 'x'")

    def test_what_it_is_told_is_on_the_disk_at_once(self, tmp_path: Path) -> None:
        """A run that is killed keeps the log so far."""
        folder = fresh_folder(tmp_path)
        with self._logger(folder) as logger:
            logger.write(Record(step=1, epoch=1, values={"loss": 1.0}))
            before = sum(map(len, _contents(folder).values()))
        after = sum(map(len, _contents(folder).values()))
        require(
            before > 0 or after == 0,
            f"{self._title()} had written nothing before close(), and {after} bytes after it; flush after each record",
        )

    def test_it_takes_text_when_it_says_so(self, tmp_path: Path) -> None:
        """By having ``write_message``."""
        with self._logger(fresh_folder(tmp_path)) as logger:
            if not isinstance(logger, MessageLogger):
                raise skip(f"logger {self.name!r} takes no text")
            logger.write_message("engine autograd: asked for, ключ")

    def test_it_closes_what_it_opens(self, tmp_path: Path) -> None:
        """Every file and every thread."""
        with closing_what_it_opens(self._title()):
            self._open_write_and_close(fresh_folder(tmp_path))

    # --- what they build on ---------------------------------------------------------------------------------------

    def build_in(self, folder: Path | None, tmp_path: Path) -> Logger:
        """Build the logger over a run's folder, as a run does.

        Raises:
            MimeticError: it refuses.
        """
        logger: Logger = registry().build("logger", self.name, self.config(tmp_path), LoggerContext(run_dir=folder))
        return logger

    def attempt(self, tmp_path: Path) -> None:
        """Build it once, and close it."""
        with self._logger(fresh_folder(tmp_path)):
            pass

    @contextmanager
    def _logger(self, folder: Path) -> Iterator[Logger]:
        with refusals_told(f"{self._title()} cannot be built"):
            logger = self.build_in(folder, folder.parent)
        try:
            yield logger
        finally:
            logger.close()

    def _open_write_and_close(self, folder: Path) -> None:
        with self._logger(folder) as logger:
            logger.write(Record(step=1, epoch=1, values=AWKWARD))

    def _write(self, logger: Logger, record: Record, what: str) -> None:
        try:
            logger.write(record)
        except Exception as error:
            told = f"{self._title()} raised {type(error).__name__}: {error} when it was given {what}"
            raise AssertionError(told) from error

    def _title(self) -> str:
        return f"logger {self.name!r}"


def _contents(folder: Path) -> dict[str, bytes]:
    files = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
