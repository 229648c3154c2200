"""How does a list of logger names become a logger?"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mimetic.config import Choice, parse_choice
from mimetic.hookspecs import LoggerContext
from mimetic.logs.hierarchy import HierarchicalLogger
from mimetic.logs.sinks import Sink

DEFAULT_LOGGERS = ("stdout", "log", "csv")
"""What :func:`configure` opens when it is given no names, as the reference library does."""

_OTHER_NAMES = {"json": "jsonl"}  # the reference library's name for the same thing


def configure(
    folder: str | os.PathLike[str] | None = None, format_strs: Sequence[str] | None = None
) -> HierarchicalLogger:
    """Return a logger that writes to ``folder`` (default: a new temporary folder) by the loggers of these names.

    A name may carry options, as on the command line: ``"acme.server:project=hopper"``.

    Raises:
        UnknownComponentError: no plugin offers a logger of that name; the message lists those that there are.
        TargetExistsError: a log lies in ``folder`` already.
    """
    names = DEFAULT_LOGGERS if format_strs is None else format_strs
    choices = [parse_choice(_OTHER_NAMES.get(name, name), "logger") for name in names]
    return open_loggers(choices, Path(tempfile.mkdtemp(prefix="mimetic-")) if folder is None else Path(folder))


def open_loggers(choices: Sequence[Choice], folder: Path | None) -> HierarchicalLogger:
    """Build the chosen loggers over ``folder``; None: they keep no files, and those that must will say so."""

    def open_in(place: Path | None) -> list[Sink]:
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
        sinks: list[Sink] = []
        try:
            for choice in choices:
                sinks.append(Sink(choice.name, choice.build(LoggerContext(run_dir=place))))
        except BaseException:
            for sink in sinks:
                sink.close()
            raise
        return sinks

    return HierarchicalLogger(open_in(folder), folder, open_nested=open_in)
