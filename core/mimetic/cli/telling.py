"""How does a command speak? In sentences, without the lines of code that they come from."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as sentences on standard error."""

    def show(message: Warning | str, *place: object, **more: object) -> None:
        sys.stderr.write(f"mimetic: warning: {message}\n")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
