"""What happens when a logger fails? It is reported once, switched off after three failures, and the run goes on."""

import sys
import traceback
from collections.abc import Callable

from mimetic.logs.records import Logger, MessageLogger, Record

MAX_FAILURES = 3


class Sink:
    """One logger under its component name, kept from taking the run down with it."""

    def __init__(self, name: str, logger: Logger) -> None:
        """Guard ``logger``; ``name`` is what reports and ``exclude`` call it."""
        self.name = name
        self.logger = logger
        self.n_failures = 0
        self.closed = False

    @property
    def active(self) -> bool:
        """Whether records still reach the logger."""
        return not self.closed and self.n_failures < MAX_FAILURES

    def write(self, record: Record) -> None:
        """Hand ``record`` to the logger."""
        self._guarded("write", lambda: self.logger.write(record))

    def write_message(self, message: str) -> None:
        """Hand ``message`` to the logger when it is one that takes text."""
        logger = self.logger
        if isinstance(logger, MessageLogger):
            self._guarded("write_message", lambda: logger.write_message(message))

    def close(self) -> None:
        """Close the logger, also when it was switched off. Closing twice is harmless."""
        if self.closed:
            return
        try:
            self.logger.close()
        except Exception:
            self._report("close", once=False)
        self.closed = True

    def _guarded(self, what: str, action: Callable[[], None]) -> None:
        if not self.active:
            return
        try:
            action()
        except Exception:
            self.n_failures += 1
            self._report(what, once=True)

    def _report(self, what: str, *, once: bool) -> None:
        if not once or self.n_failures == 1:
            traceback.print_exc()
            _tell(f"mimetic: logger {self.name!r} failed in {what}() (traceback above); the run goes on")
        if once and self.n_failures == MAX_FAILURES:
            _tell(f"mimetic: logger {self.name!r} failed {MAX_FAILURES} times and is switched off; the run goes on")


def _tell(message: str) -> None:
    sys.stderr.write(message + "\n")
