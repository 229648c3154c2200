"""How is an exception of somebody else's code caught, and told in one line?"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from mimetic.plugins.records import Refusal

LONGEST = 300  # characters of a message that are shown
MACHINERY = ("<frozen ", "<string>")  # frames that say nothing about where a plugin failed


def describe(error: BaseException) -> str:
    """Return ``ValueError: message (plugin.py:12)`` in one line, even when the error cannot print itself."""
    try:
        message = " ".join(str(error).split())
    except Exception:
        message = "(its message cannot be printed)"
    if len(message) > LONGEST:
        message = message[:LONGEST] + "..."
    name = type(error).__name__
    place = "" if isinstance(error, SyntaxError) else _place(error)
    return (f"{name}: {message}" if message else name) + place


@contextmanager
def refusing(subject: str) -> Iterator[None]:
    """Turn whatever the block raises, ``SystemExit`` included, into a :class:`Refusal`; only Ctrl-C passes."""
    try:
        yield
    except (KeyboardInterrupt, Refusal):
        raise
    except BaseException as error:
        raise Refusal(f"{subject}{describe(error)}") from error


def _place(error: BaseException) -> str:
    """Return `` (file:line)`` of the innermost frame that is Python source."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    places = [f" ({file}:{line})" for file, line in frames if not file.startswith(MACHINERY)]
    return places[-1] if places else ""
