"""Which registry does this process use? Discovered once, at the first question, and told about once."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mimetic.errors import PluginError
from mimetic.plugins.discovery import discover
from mimetic.plugins.registry import Registry
from mimetic.plugins.reports import report

_lock = threading.RLock()
_current: Registry | None = None
_discovering = False


def registry() -> Registry:
    """Return this process's registry; the first call discovers, and says on standard error what did not load."""
    global _current, _discovering
    with _lock:
        if _current is None:
            if _discovering:
                raise PluginError("plugins are being discovered; a plugin.py must not ask for components")
            _discovering = True
            try:
                _current = discover()
            finally:
                _discovering = False
            if _is_main_process():
                sys.stderr.write(report(_current, os.environ))
        return _current


@contextmanager
def using(replacement: Registry) -> Iterator[Registry]:
    """Let everything use another registry for a while, e.g. one made by :func:`mimetic.testing.manager_with`."""
    global _current
    with _lock:
        before, _current = _current, replacement
    try:
        yield replacement
    finally:
        with _lock:
            _current = before


def _is_main_process() -> bool:
    """Tell a command's own process from the workers that it starts, which would repeat the report."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    return multiprocessing is None or multiprocessing.parent_process() is None
