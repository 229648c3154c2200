"""How many rows go through a policy's layers at once, so that each has the same bits whatever runs beside it?

A product of matrices may be another kernel's work for another number of rows, with other last bits. In blocks of one
size, the last one filled up, the kernels are the same for any number of environments. What is left to know is that
these layers treat every row alike, wherever it lies and whatever lies beside it; ``block_size`` tries that, on a copy.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from mimetic.policies.structure import has_hooks
from mimetic.policies.torch_rows import Tensors, parts_of, rows_at
from mimetic.seeding import generator

if TYPE_CHECKING:
    from mimetic.types.observations import Observations

Step = Callable[[Any], Any]
"""A layer, or a function in the place of one."""

Draw = Callable[[np.random.Generator, int], Tensors]
"""Draws so many rows of what the first step takes, of all that may come."""

_SIZES = ((1 << 16, (16, 32)), (400_000, (8,)))
"""Which sizes are tried for layers that take up to so many operations a row: a block costs little more than a row then.
It would cost much more with larger layers, and a single environment would wait for rows that nobody needs."""

_N_TRIALS = 4
"""So many blocks are tried, each row at each place. Kernels that differ do so in every tenth number or more."""


def block_size(steps: Sequence[Step], draw: Draw, *, training: bool) -> int:
    """Return how many rows to put through ``steps`` at once; 1 for layers that need each row for itself.

    These are expensive ones, those that mix rows, draw random numbers or decide by numbers, and all that hooks look
    at. The size depends on the layers and on the form of what goes in, never on a number of environments. Nothing but
    a copy is called.

    Args:
        steps: what is called one after the other.
        draw: makes rows to try them with.
        training: the layers are in training mode now, and will be in evaluation mode when they act.
    """
    if any(has_hooks(inner) for module in _modules(steps) for inner in module.modules()):
        return 1
    stream = generator(0, "blocks")
    try:
        twins = copy.deepcopy(list(steps))
        if training:
            for module in _modules(twins):
                module.eval()
        row = draw(stream, 1)
        with torch.random.fork_rng(devices={part.device for part in parts_of(row) if part.is_cuda}), torch.no_grad():
            n_operations = _operations(twins, row)
            sizes = next((sizes for limit, sizes in _SIZES if n_operations <= limit), ())
            return next((size for size in sizes if _treat_rows_alike(twins, draw, stream, size)), 1)
    except Exception:  # layers that cannot be copied, or not take these rows: what is wrong with them shows in use
        return 1


def _modules(steps: Sequence[Step]) -> list[nn.Module]:
    owners = (step.__self__ if isinstance(step, MethodType) else step for step in steps)
    return [owner for owner in owners if isinstance(owner, nn.Module)]


# --- rows to try them with ----------------------------------------------------------------------------------------

_FAR = 1e6
"""Numbers without bounds are tried up to here; most of them are near zero."""


def draw_observations(space: gym.Space[Any], stream: np.random.Generator, n: int) -> Observations:
    """Draw n observations of the form and range of a space ``(n, *O)``, a third of the second half at its bounds."""
    if isinstance(space, spaces.Dict):
        return {key: draw_observations(part, stream, n) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Box):
        low, high = (bound.astype(np.float64).clip(-_FAR, _FAR) for bound in (space.low, space.high))
        near = stream.standard_normal((n, *space.shape)).clip(low, high)
        inside = low + (high - low) * stream.random((n, *space.shape))
        values = np.where(high - low < _FAR, inside, near)
        far = values[(n + 1) // 2 :]
        far[::6], far[3::6] = low, high
        return values.astype(space.dtype)
    twin = copy.deepcopy(space)
    twin.seed(int(stream.integers(2**31)))
    return np.stack([twin.sample() for _ in range(n)])


# --- trials -----------------------------------------------------------------------------------------------------


def _operations(steps: Sequence[Step], row: Tensors) -> float:
    """Count what a row costs; infinitely much where more than arithmetic is done with it."""
    x: Any = row
    watching = _Watching()  # type: ignore[no-untyped-call]  # as above
    with watching, _Reading() as reading, FlopCounterMode(display=False) as counter:
        for step in steps:
            x = step(x)
    if watching.saw or reading.saw:
        return float("inf")
    n_parameters = sum(parameter.numel() for module in _modules(steps) for parameter in module.parameters())
    return float(
        max(counter.get_total_flops(), 2 * n_parameters)
    )  # whose operations are not known uses them once or more


class _Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own class says nothing of types
    """Sees whether random numbers are drawn, or whether anything but numbers depends on numbers."""

    saw = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.saw = self.saw or not _TELLING.isdisjoint(func.tags)
        return func(*args, **(kwargs or {}))


class _Reading(TorchFunctionMode):
    """Sees whether numbers leave torch: nobody knows what is decided by them there."""

    saw = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.saw = self.saw or func in _LEAVING
        return func(*args, **(kwargs or {}))


_TELLING = {torch.Tag.nondeterministic_seeded, torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_LEAVING = (torch.Tensor.numpy, torch.Tensor.tolist, torch.Tensor.__array__)


def _treat_rows_alike(steps: Sequence[Step], draw: Draw, stream: np.random.Generator, size: int) -> bool:
    """Whether each row has the same bits after each step, wherever it lies in a block and whatever lies beside it."""
    return all(_treats_alike(steps, draw(stream, 2 * size), size) for _ in range(_N_TRIALS))


def _treats_alike(steps: Sequence[Step], rows: Tensors, size: int) -> bool:
    """Try the first half of the rows, with the second half beside them."""
    order = torch.arange(size, device=parts_of(rows)[0].device)
    elsewhere = [order.roll(shift) for shift in range(size)]
    among_others = [order + size * (order % 2), order + size * (1 - order % 2)]
    filled_up = [order.clamp(max=size // 2)]
    where = torch.stack([*elsewhere, *among_others, *filled_up])  # (trials, size): which row lies at each place
    tried = where < size
    outputs = [_outputs(steps, rows_at(rows, places)) for places in where]
    for of_trials in zip(*outputs, strict=True):
        bits = torch.stack(of_trials)  # (trials, size, bytes)
        expected = bits[0]
        if bits.shape[1] != size or not torch.equal(bits[tried], expected[where[tried]]):
            return False
    return True


def _outputs(steps: Sequence[Step], x: Any) -> list[torch.Tensor]:
    """Return the bits of what each step gives."""
    outputs = []
    for step in steps:
        x = step(x)
        outputs += [output.contiguous().view(torch.uint8) for output in parts_of(x)]
    return outputs
