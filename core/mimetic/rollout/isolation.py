"""What does a rollout leave as it was? The policy's training mode, and every global random stream."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from mimetic.seeding import derive_seed


@contextmanager
def undisturbed(policy: Any, seed: int) -> Iterator[None]:
    """Run the body, then put back training mode and global generators of Python, numpy and torch.

    Meanwhile the global generators begin from ``seed``, so that policies and environments which draw from them
    repeat themselves.
    """
    modes = [(module, module.training) for module in _modules_of(policy)]
    python_state, numpy_state = random.getstate(), np.random.get_state()
    on_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]  # torch leaves it without a type
    devices = list(range(torch.cuda.device_count())) if on_gpu else []
    try:
        with torch.random.fork_rng(devices=devices):
            random.seed(derive_seed(seed, "global python"))
            np.random.seed(derive_seed(seed, "global numpy"))
            torch.default_generator.manual_seed(derive_seed(seed, "global torch"))
            if on_gpu:
                torch.cuda.manual_seed_all(derive_seed(seed, "global torch"))
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        for module, mode in modes:
            module.training = mode


def _modules_of(policy: Any) -> Iterator[torch.nn.Module]:
    """Yield the modules of a policy, or of the algorithm that holds one."""
    root = policy if isinstance(policy, torch.nn.Module) else getattr(policy, "policy", None)
    if isinstance(root, torch.nn.Module):
        yield from root.modules()
