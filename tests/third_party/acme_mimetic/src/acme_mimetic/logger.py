"""A logger that writes one line a record."""

from pathlib import Path

from acme_mimetic.config import LinesConfig
from mimetic import ConfigError, LoggerContext, Record


class Lines:
    """Writes ``step key=value ...``."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("x", encoding="utf-8")

    def write(self, record: Record) -> None:
        """Write one record."""
        values = " ".join(f"{key}={value}" for key, value in sorted(record.values.items()))
        self._file.write(f"{record.step} {values}\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def build(config: LinesConfig, context: LoggerContext) -> Lines:
    """Open the file in the run's folder."""
    if context.run_dir is None:
        raise ConfigError("acme.lines needs a run folder to write to")
    return Lines(context.run_dir / config.filename)
