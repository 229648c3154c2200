"""How is a torch optimiser made without waiting a second for torch's compiler?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_COMPILER = "torch._dynamo"
_STAND_IN = "__dynamo_disable"


@contextmanager
def without_compiler() -> Iterator[None]:
    """Make optimisers here without importing ``torch._dynamo``.

    The first optimiser that a process makes imports it, for the sake of code that compiles the making of optimisers:
    a second of start-up, and nobody here does. torch keeps what it looked up there in an attribute; for as long as
    this lasts, that is the function itself. Where torch does it in another way, this does nothing.
    """
    import torch

    make = getattr(torch.optim.Optimizer.add_param_group, "__wrapped__", None)
    if _COMPILER in sys.modules or make is None or hasattr(make, _STAND_IN):
        yield
        return
    setattr(make, _STAND_IN, make)
    try:
        yield
    finally:
        delattr(make, _STAND_IN)
