"""Records as JSON objects, one a line, in metrics.jsonl."""

import json
import math

from mimetic import LoggerContext, Record
from mimetic_loggers.config import JsonlConfig
from mimetic_loggers.files import LogFile, required_folder


class JsonLines:
    """One object a record: ``step``, ``epoch`` and the values. NaN and infinities, which JSON lacks, become null."""

    def __init__(self, file: LogFile) -> None:
        """Write to ``file``."""
        self._file = file

    def write(self, record: Record) -> None:
        """Add a line."""
        values = {"step": record.step, "epoch": record.epoch, **{k: _finite(v) for k, v in record.values.items()}}
        self._file.append(json.dumps(values, allow_nan=False, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _finite(value: float | int | str | None) -> float | int | str | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def build(config: JsonlConfig, context: LoggerContext) -> JsonLines:
    """Build the logger ``jsonl``."""
    return JsonLines(LogFile(required_folder("jsonl", context.run_dir) / "metrics.jsonl"))
