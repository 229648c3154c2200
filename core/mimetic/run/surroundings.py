"""On which device, and by how many threads, does a run compute?"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from mimetic.errors import ConfigError


@contextmanager
def torch_threads(n_threads: int) -> Iterator[None]:
    """Let torch compute with ``n_threads``, and give it back what it had."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
