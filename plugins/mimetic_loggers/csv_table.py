"""Records as a table in progress.csv: a key that turns up late becomes a column, and older rows are padded."""

import csv
import io
from collections.abc import Iterable, Iterator

from mimetic import LoggerContext, Record
from mimetic_loggers.config import CsvConfig
from mimetic_loggers.files import LogFile, required_folder


class CsvTable:
    """One row a record; ``step`` and ``epoch`` are the first columns, the others stand in order of arrival."""

    def __init__(self, file: LogFile) -> None:
        """Write to ``file``, which is empty."""
        self._file = file
        self._columns: tuple[str, ...] = ()

    def write(self, record: Record) -> None:
        """Add a row, and first the columns that it needs."""
        row = {**record.values, "step": record.step, "epoch": record.epoch}
        missing = [key for key in ("step", "epoch", *record.values) if key not in self._columns]
        if missing:
            self._widen(dict.fromkeys(missing))
        self._file.append(_line(row.get(column) for column in self._columns))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _widen(self, missing: Iterable[str]) -> None:
        columns = (*self._columns, *missing)
        self._file.replace(self._padded(columns))
        self._columns = columns

    def _padded(self, columns: tuple[str, ...]) -> Iterator[str]:
        yield _line(columns)
        padding = [""] * (len(columns) - len(self._columns))
        with self._file.path.open(encoding="utf-8", newline="") as handle:
            rows = csv.reader(handle)
            next(rows, None)
            yield from (_line([*row, *padding]) for row in rows)


def _line(cells: Iterable[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def build(config: CsvConfig, context: LoggerContext) -> CsvTable:
    """Build the logger ``csv``."""
    return CsvTable(LogFile(required_folder("csv", context.run_dir) / "progress.csv"))
