"""Where do numbers go? Records, the logger that collects them, and the loggers by name that they are written to."""

from mimetic.logs.hierarchy import DEBUG, DISABLED, ERROR, INFO, WARN, HierarchicalLogger
from mimetic.logs.opening import DEFAULT_LOGGERS, configure, open_loggers
from mimetic.logs.records import Logger, MessageLogger, Record, Value
from mimetic.logs.sinks import MAX_FAILURES, Sink

__all__ = [
    "DEBUG",
    "DEFAULT_LOGGERS",
    "DISABLED",
    "ERROR",
    "INFO",
    "MAX_FAILURES",
    "WARN",
    "HierarchicalLogger",
    "Logger",
    "MessageLogger",
    "Record",
    "Sink",
    "Value",
    "configure",
    "open_loggers",
]
