"""Records as text for people: on standard output, and in log.txt."""

import sys

from tqdm import tqdm

from mimetic import LoggerContext, Record
from mimetic_loggers.config import LogConfig, StdoutConfig
from mimetic_loggers.files import LogFile, required_folder

LINE_WIDTH = 100


def as_text(record: Record) -> str:
    """Return the record as lines: its step and epoch, then the values in as many columns as a line takes."""
    head = f"step {record.step}" if record.epoch is None else f"step {record.step}, epoch {record.epoch}"
    cells = [f"{key} {_shown(value)}" for key, value in record.values.items()]
    width = max(map(len, cells), default=0) + 3
    n_columns = max(1, LINE_WIDTH // width)
    rows = (cells[start : start + n_columns] for start in range(0, len(cells), n_columns))
    return "\n".join([head, *("  " + "".join(cell.ljust(width) for cell in row).rstrip() for row in rows)])


def _shown(value: float | int | str | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).replace("\n", " ")


class Stdout:
    """Text on standard output, wherever that leads at the time, and clear of any progress bar."""

    def write(self, record: Record) -> None:
        """Print the record."""
        self.write_message(as_text(record))

    def write_message(self, message: str) -> None:
        """Print the message."""
        tqdm.write(message, file=sys.stdout)
        sys.stdout.flush()

    def close(self) -> None:
        """Leave standard output open: it is not ours."""


class TextLog:
    """The same text in a file."""

    def __init__(self, file: LogFile) -> None:
        """Write to ``file``."""
        self._file = file

    def write(self, record: Record) -> None:
        """Add the record."""
        self.write_message(as_text(record))

    def write_message(self, message: str) -> None:
        """Add the message."""
        self._file.append(message + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def build_stdout(config: StdoutConfig, context: LoggerContext) -> Stdout:
    """Build the logger ``stdout``."""
    return Stdout()


def build_log(config: LogConfig, context: LoggerContext) -> TextLog:
    """Build the logger ``log``."""
    return TextLog(LogFile(required_folder("log", context.run_dir) / "log.txt"))
