"""mimetic_loggers, the loggers in the box: console, text file, CSV, JSON lines, TensorBoard."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic_loggers.csv_table import CsvTable as CsvTable
    from mimetic_loggers.json_lines import JsonLines as JsonLines
    from mimetic_loggers.tensorboard_events import TensorboardEvents as TensorboardEvents
    from mimetic_loggers.text import (
        Stdout as Stdout,
        TextLog as TextLog,
    )

_MODULE_OF = {
    "CsvTable": "csv_table",
    "JsonLines": "json_lines",
    "Stdout": "text",
    "TensorboardEvents": "tensorboard_events",
    "TextLog": "text",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic_loggers' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic_loggers.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too, loaded or not."""
    return sorted({*globals(), *_MODULE_OF})
