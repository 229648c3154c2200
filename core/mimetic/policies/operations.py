"""What do layers do, seen operation by operation?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from mimetic.policies.torch_rows import Tensors, parts_of

Step = Callable[[Any], Any]
"""A layer, or a function in the place of one."""


@dataclass(frozen=True, slots=True)
class Operations:
    """What was done with some rows."""

    n: int  # how many operations there were, about
    only_arithmetic: bool  # no random numbers; nothing but numbers depends on numbers
    whole_vectors: bool  # what is calculated number by number has the same formula for each


def operations_of(steps: Sequence[Step], rows: Tensors) -> Operations:
    """Call ``steps`` one after the other, beginning with ``rows``, and watch."""
    watching = _Watching()  # type: ignore[no-untyped-call]  # torch's own class says nothing of types
    watching.n_rows = len(parts_of(rows)[0])
    with watching, _Reading() as reading:
        x: Any = rows
        for step in steps:
            x = step(x)
    n_parameters = sum(parameter.numel() for module in modules_of(steps) for parameter in module.parameters())
    return Operations(
        n=max(watching.n, 2 * n_parameters),  # not all of them are known
        only_arithmetic=not (watching.saw_more or reading.saw),
        whole_vectors=not watching.saw_parts,
    )


def modules_of(steps: Sequence[Step]) -> list[nn.Module]:
    """Return the modules that are called, or a method of which is."""
    owners = (step.__self__ if isinstance(step, MethodType) else step for step in steps)
    return [owner for owner in owners if isinstance(owner, nn.Module)]


_MORE = {torch.Tag.nondeterministic_seeded, torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}

_VECTOR_BYTES = 128
"""What a loop over numbers takes at once on any processor; for what is left at the end it may have another formula."""

_MOST_NUMBERS = 32768
"""Of more numbers than these, each thread gets its share, with an end of its own."""

_ROUNDING = {"abs", "add", "div", "maximum", "minimum", "mul", "neg", "relu", "sqrt", "sub", "threshold", "where"}
_BOUNDING = {"clamp", "clamp_max", "clamp_min"}
_MOVING = {"_to_copy", "_unsafe_view", "alias", "clone", "copy", "detach", "reshape", "view"}
_BY_ROW = {"_log_softmax", "_softmax", "native_layer_norm"}
_ALIKE = _ROUNDING | _BOUNDING | _MOVING | _BY_ROW
"""Operations that have one formula for every number."""


class _Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]  # as above
    """Counts operations; sees those that are more than arithmetic, or leave a part of a vector at the end."""

    n_rows = 0
    n = 0
    saw_more = False
    saw_parts = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Say no: it would import torch's compiler, which takes a second, to keep it away from here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func.overloadpacket in flop_registry:
            self.n += flop_registry[func.overloadpacket](*args, **kwargs, out_val=result)
        self.saw_more = self.saw_more or not _MORE.isdisjoint(func.tags)
        first = result[0] if isinstance(result, tuple | list) else result
        if isinstance(first, torch.Tensor) and first.ndim and len(first) == self.n_rows:
            self.saw_parts = self.saw_parts or (_has_parts(first) and _goes_number_by_number(func, args, first))
        return result


class _Reading(TorchFunctionMode):
    """Sees whether numbers leave torch: nobody knows what is decided by them there."""

    saw = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.saw = self.saw or func in (torch.Tensor.numpy, torch.Tensor.tolist, torch.Tensor.__array__)
        return func(*args, **(kwargs or {}))


def _goes_number_by_number(func: Any, args: Any, result: torch.Tensor) -> bool:
    """Some that do are not marked so: they give as many numbers as they take, or half as many."""
    name = func.overloadpacket.__name__
    if name in _ALIKE or name.removesuffix("_") in _ALIKE:
        return False
    if torch.Tag.pointwise in func.tags or name == "glu":
        return True
    return any(arg.shape == result.shape for arg in args if isinstance(arg, torch.Tensor))


def _has_parts(result: torch.Tensor) -> bool:
    return result.nbytes % _VECTOR_BYTES != 0 or result.numel() > _MOST_NUMBERS
