"""Offers the loggers in the box."""

from collections.abc import Iterator

from mimetic import LoggerEntry, hookimpl

MIMETIC_API = (1, 0)


@hookimpl
def mimetic_loggers() -> Iterator[LoggerEntry]:
    """Offer a console, a text file, two tables and TensorBoard."""
    yield LoggerEntry(
        name="stdout",
        config="mimetic_loggers.config:StdoutConfig",
        factory="mimetic_loggers.text:build_stdout",
        summary="Each record as lines of text on standard output",
    )
    yield LoggerEntry(
        name="log",
        config="mimetic_loggers.config:LogConfig",
        factory="mimetic_loggers.text:build_log",
        summary="The same text in log.txt",
    )
    yield LoggerEntry(
        name="csv",
        config="mimetic_loggers.config:CsvConfig",
        factory="mimetic_loggers.csv_table:build",
        summary="One row a record in progress.csv",
    )
    yield LoggerEntry(
        name="jsonl",
        config="mimetic_loggers.config:JsonlConfig",
        factory="mimetic_loggers.json_lines:build",
        summary="One JSON object a record in metrics.jsonl",
    )
    yield LoggerEntry(
        name="tensorboard",
        config="mimetic_loggers.config:TensorboardConfig",
        factory="mimetic_loggers.tensorboard_events:build",
        summary="Curves for TensorBoard in the folder tensorboard",
        requires=("tensorboard>=2.16",),
        install="mimetic[tensorboard]",
    )
