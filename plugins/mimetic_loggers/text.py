"""Records as text for people: on standard output, and in log.txt."""

import sys

from tqdm import tqdm

from mimetic import LoggerContext, Record
from mimetic_loggers.config import LogConfig, StdoutConfig
from mimetic_loggers.files import LogFile, required_folder


def as_text(record: Record) -> str:
    """Return the record as lines: its step and epoch, then one line a key, with the values in one column."""
    head = f"step {record.step}" if record.epoch is None else f"step {record.step}, epoch {record.epoch}"
    width = max(map(len, record.values), default=0)
    return "\n".join([head, *(f"  {key:<{width}}  {_shown(value)}" for key, value in record.values.items())])


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
