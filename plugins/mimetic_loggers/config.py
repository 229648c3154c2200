"""Settings of the loggers in the box: there are none, a logger's place is the run's folder."""

from mimetic.config import ComponentConfig


class StdoutConfig(ComponentConfig):
    """Each record as lines of text on standard output."""


class LogConfig(ComponentConfig):
    """Each record, and each message, as lines of text in ``log.txt``."""


class CsvConfig(ComponentConfig):
    """One row a record in ``progress.csv``, with a column for each key and ``step`` and ``epoch`` before them."""


class JsonlConfig(ComponentConfig):
    """One JSON object a record in ``metrics.jsonl``; numbers that JSON cannot hold become null."""


class TensorboardConfig(ComponentConfig):
    """One curve a key in the folder ``tensorboard``."""
