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

    Meanwhile the policy is in evaluation mode, and the global generators begin from ``seed``, so that policies and
    environments which draw from them repeat themselves.
    """
    root = _module_of(policy)
    modes = [] if root is None else [(module, module.training) for module in root.modules()]
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
            if root is not None and root.training:
                root.train(False)
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        if root is not None and modes[0][1] and not root.training:
            root.train(True)
        for module, mode in modes:
            module.training = mode


def _module_of(policy: Any) -> torch.nn.Module | None:
    """Return a policy, or that of the algorithm that holds one, as a module."""
    root = policy if isinstance(policy, torch.nn.Module) else getattr(policy, "policy", None)
    return root if isinstance(root, torch.nn.Module) else None
