"""What does a run change around itself, and how is it put back? Threads, and the random streams of other libraries."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from mimetic.errors import ConfigError
from mimetic.seeding import derive_seed


@contextmanager
def torch_threads(n_threads: int) -> Iterator[None]:
    """Let torch compute with ``n_threads``, and give it back what it had."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def global_streams(seed: int, name: str) -> Iterator[None]:
    """Start the global generators of Python, numpy and torch from a stream, and put them back afterwards.

    Nothing of ours draws from them. Components of others may, and dropout does: so their draws depend on the seed
    too, and what is drawn inside never moves what is drawn outside.
    """
    python, numbers = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        derived = derive_seed(seed, name)
        random.seed(derived)
        np.random.seed(derived)
        torch.manual_seed(derived)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numbers)


def find_device(name: str) -> torch.device:
    """Return the device of that name; ``auto`` is the CUDA device where there is one, else the CPU.

    Raises:
        ConfigError: there is no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"device: torch cannot use {name!r} here ({reason}); auto and cpu always work") from None
    return device
