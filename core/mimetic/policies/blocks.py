"""How many rows go through a policy's layers at once, so that each has the same bits whatever runs beside it?

A product of matrices may be another kernel's work for another number of rows, with other last bits. In blocks of one
size, the last one filled up, the kernels are the same for any number of environments. What is left to know is that
these layers treat every row alike, wherever it lies and whatever lies beside it; ``block_size`` tries that, on a copy.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces

from mimetic.policies.operations import Step, modules_of, operations_of
from mimetic.policies.structure import have_hooks
from mimetic.policies.torch_rows import Tensors, bits_of, parts_of, rows_at
from mimetic.seeding import generator

if TYPE_CHECKING:
    from mimetic.types.observations import Observations

Draw = Callable[[np.random.Generator, int], Tensors]
"""Draws so many rows of what the first step takes, of all that may come."""

_SIZES = ((1 << 16, (16, 32)), (400_000, (8,)))
"""Which sizes are tried for layers that take up to so many operations a row: a block costs little more than a row then.
It would cost much more with larger layers, and a single environment would wait for rows that nobody needs."""

_N_TRIALS = 2
"""So many blocks are tried, each row at each place. Where numbers are added in another order, a tenth differs."""


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
    if have_hooks(modules_of(steps)):
        return 1
    stream = generator(0, "blocks")
    try:
        twins = copy.deepcopy(list(steps))
        if training:
            for module in modules_of(twins):
                module.eval()
        row = draw(stream, 1)
        with torch.random.fork_rng(devices={part.device for part in parts_of(row) if part.is_cuda}), torch.no_grad():
            of_a_row = operations_of(twins, row)
            sizes = next((sizes for limit, sizes in _SIZES if of_a_row.n <= limit), ())
            sizes = sizes if of_a_row.only_arithmetic else ()
            return next((size for size in sizes if _treat_rows_alike(twins, draw, stream, size)), 1)
    except Exception:  # layers that cannot be copied, or not take these rows: what is wrong with them shows in use
        return 1


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


def _treat_rows_alike(steps: Sequence[Step], draw: Draw, stream: np.random.Generator, size: int) -> bool:
    """Whether each row has the same bits after each step, wherever it lies in a block and whatever lies beside it."""
    if not operations_of(steps, draw(stream, size)).whole_vectors:
        return False
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
        outputs += bits_of(x)
    return outputs
