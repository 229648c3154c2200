"""How do observations become tensors with a row each, all at once or in blocks of one size?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BaseModel

    from mimetic.types.observations import Observations

Tensors = torch.Tensor | Mapping[str, torch.Tensor]
"""Rows, or parts of rows by name."""

_FLOAT32 = np.dtype(np.float32)


class TensorRows(Protocol):
    """Makes tensors of observations."""

    def __call__(self, obs: Observations, /) -> Tensors:
        """Return all rows."""

    def blocks(self, obs: Observations, size: int, /) -> tuple[int, Sequence[Tensors]]:
        """Return how many rows there are, and blocks of ``size`` of them; something fills up the last one.

        Blocks of more than one row lie in memory that begins as all of torch's does: kernels may ask how it is aligned.
        """


class AnyRows:
    """What SB3 makes of an observation, whatever it is."""

    def __init__(self, policy: BaseModel, prepare: Callable[[Any], Any] | None) -> None:
        """``prepare`` is called with the tensors that ``policy`` makes, where it is not None."""
        self._policy, self._prepare = policy, prepare
        self._n, self._places = 0, [torch.empty(0)]  # for n rows: which of them are in each block

    def __call__(self, obs: Observations) -> Tensors:
        """Return all rows."""
        tensors: Any = self._policy.obs_to_tensor(obs)[0]  # type: ignore[arg-type]  # SB3 knows dict alone
        return tensors if self._prepare is None else self._prepare(tensors)  # type: ignore[no-any-return]  # SB3's say so

    def blocks(self, obs: Observations, size: int) -> tuple[int, list[Tensors]]:
        """Return how many rows there are, and blocks of ``size`` of them, each a copy; of one row, where it is."""
        rows = self(obs)
        n = len(parts_of(rows)[0])
        if size == 1:
            return n, single_rows(rows)
        if n != self._n:
            places = torch.arange(-(-n // size) * size, device=self._policy.device).clamp(max=n - 1)
            self._n, self._places = n, list(torch.split(places, size))
        return n, [rows_at(rows, where) for where in self._places]


class VectorRows:
    """Float32 arrays, which most policies see; what else comes is taken, or refused, as any observation is."""

    def __init__(self, policy: BaseModel, others: AnyRows, *, flat: bool, casts: bool) -> None:
        """``flat``: to rows ``(n, width)``; ``casts``: of any dtype."""
        assert policy.observation_space.shape is not None
        self._others, self._device = others, policy.device
        self._is_on_cpu = policy.device.type == "cpu"
        self._shape, self._casts = policy.observation_space.shape, casts
        self._reshapes = flat and len(self._shape) != 1
        self._buffers: list[tuple[np.ndarray, torch.Tensor]] = []  # the memory of each block, and what is given of it

    def __call__(self, obs: Observations) -> Tensors:
        """Return all rows, in memory of their own."""
        array = np.asarray(obs)
        if not self._takes(array):
            return self._others(obs)
        rows = torch.from_numpy(array.astype(_FLOAT32, "C"))
        rows = rows.reshape(len(rows), -1) if self._reshapes else rows
        return rows if self._is_on_cpu else rows.to(self._device)

    def blocks(self, obs: Observations, size: int) -> tuple[int, list[Tensors]]:
        """Return how many rows there are, and blocks of ``size`` of them, in memory that is used again.

        What fills up the last block is of earlier calls, or zero: no row sees it.
        """
        array = np.asarray(obs)
        if not self._takes(array):
            return self._others.blocks(obs, size)
        n = len(array)
        if size == 1:
            return n, single_rows(self(obs))
        while len(self._buffers) * size < n:
            block = torch.zeros(size, *self._shape)
            self._buffers.append((block.numpy(), block.reshape(size, -1) if self._reshapes else block))
        blocks: list[Tensors] = []
        for begin, (memory, block) in zip(range(0, n, size), self._buffers, strict=False):
            memory[: n - begin] = array[begin : begin + size]
            blocks.append(block if self._is_on_cpu else block.to(self._device))
        return n, blocks

    def _takes(self, array: np.ndarray) -> bool:
        return array.shape[1:] == self._shape and (self._casts or array.dtype == _FLOAT32)


def parts_of(rows: Tensors) -> list[torch.Tensor]:
    """Return the tensors that rows consist of."""
    return [rows] if isinstance(rows, torch.Tensor) else list(rows.values())


def bits_of(rows: Tensors) -> list[torch.Tensor]:
    """Return the bytes of what rows consist of."""
    return [part.contiguous().view(torch.uint8) for part in parts_of(rows)]


def rows_at(rows: Tensors, where: torch.Tensor) -> Any:
    """Copy the rows at some places into memory of their own."""
    if isinstance(rows, torch.Tensor):
        return rows.index_select(0, where)
    return {name: part.index_select(0, where) for name, part in rows.items()}


def single_rows(rows: Tensors) -> list[Tensors]:
    """Split rows into blocks of one, in the memory where they are."""
    if isinstance(rows, torch.Tensor):
        return list(torch.split(rows, 1))
    parts = {name: torch.split(part, 1) for name, part in rows.items()}
    return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
