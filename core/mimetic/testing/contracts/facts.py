"""How does a contract say what does not hold, and watch for what must not happen beside it?"""

import gc
import random
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch.distributions import Distribution

from mimetic.errors import MimeticError

PATIENCE_S = 2.0
"""How long a thread may take to end after what started it was closed."""


def require(holds: bool, told: str) -> None:
    """Fail with a sentence unless a fact holds; unlike ``assert``, under ``python -O`` too."""
    if not holds:
        raise AssertionError(told)


@contextmanager
def refusals_told(doing: str) -> Iterator[None]:
    """Turn an error that speaks to users into a failure that says what was tried."""
    try:
        yield
    except MimeticError as error:
        raise AssertionError(f"{doing}: {type(error).__name__}: {error}") from error


@contextmanager
def unchecked_distributions() -> Iterator[None]:
    """Let torch's distributions look at no value, as training does: those of the meta device have none."""
    checks = Distribution._validate_args
    Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        Distribution.set_default_validate_args(checks)


@contextmanager
def leaving_randomness_alone(doing: str) -> Iterator[None]:
    """Fail when the block draws from, or seeds, a generator that the whole process shares."""
    before = _shared_states()
    yield
    moved = [name for name, state in _shared_states().items() if state != before[name]]
    require(
        not moved,
        f"{doing} moved the random state of {', '.join(moved)}, which the whole process shares; draw from a generator "
        "of your own, seeded by the context's `seed`",
    )


@contextmanager
def closing_what_it_opens(doing: str) -> Iterator[None]:
    """Fail when something that the block opened is still open after it: files, sockets, processes, threads."""
    gc.collect()
    threads = set(threading.enumerate())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    left = [warning for warning in caught if issubclass(warning.category, ResourceWarning)]
    for other in caught:
        if other not in left:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    require(not left, f"{doing} left something open: {'; '.join(str(warning.message) for warning in left)}")
    running = _still_running(threads)
    require(not running, f"{doing} left threads running: {', '.join(running)}; end them in close()")


def _still_running(before: set[threading.Thread]) -> list[str]:
    give_up = time.monotonic() + PATIENCE_S
    while True:
        running = [thread.name for thread in threading.enumerate() if thread not in before and not _is_tqdms(thread)]
        if not running or time.monotonic() > give_up:
            return running
        time.sleep(0.01)


def _is_tqdms(thread: threading.Thread) -> bool:
    """Tell the one thread that tqdm keeps for all progress bars of a process."""
    return type(thread).__module__.startswith("tqdm")


def _shared_states() -> dict[str, object]:
    name, keys, *rest = np.random.get_state()
    return {
        "Python's random": random.getstate(),
        "numpy.random": (name, np.asarray(keys).tobytes(), *rest),
        "torch": torch.get_rng_state().numpy().tobytes(),
    }
