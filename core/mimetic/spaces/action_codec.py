"""What does a distribution see of an environment's actions? One flat row each, and the codec maps both ways.

stable-baselines3's distributions know flat float actions and categories that count from 0. Environments also offer
boxes of any rank, integer boxes, ``Discrete(start=1)``, grids of categories and of switches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces

from mimetic.errors import SpaceError
from mimetic.spaces.comparison import refuse_unsupported

SQUASH_MARGIN = 1e-6
"""How far from -1 and 1 a squashed action is kept: at the bound its log-probability would have no floor."""


@dataclass(frozen=True, slots=True, eq=False)
class _Constants:
    """Numbers of a space on one device."""

    start: torch.Tensor  # (D,) int64, the smallest category of each
    low: torch.Tensor  # (D,)
    high: torch.Tensor  # (D,)
    span: torch.Tensor  # (D,) high - low, 1 where that is 0


class ActionCodec:
    """Maps environment actions ``(N, *A)`` to what a distribution over ``distribution_space`` takes, and back.

    The encoded form is ``(N,)`` int64 for Discrete and ``(N, D)`` for all else: int64 categories from 0 for
    MultiDiscrete, float32 for Box and MultiBinary. ``squash`` says that the distribution's actions lie in [-1, 1]
    and stand for the bounds of a Box. Integer boxes go through float32, which is exact up to 2**24.
    """

    def __init__(self, action_space: gym.Space[Any], *, squash: bool = False) -> None:
        refuse_unsupported(action_space, "action")
        self.action_space = action_space
        self.squash = squash
        self.shape: tuple[int, ...] = tuple(action_space.shape or ())
        self.n_dims = int(np.prod(self.shape, dtype=int))
        self.distribution_space = _distribution_space(action_space, self.n_dims, squash)
        self._is_box = isinstance(action_space, spaces.Box)
        self._is_integer_box = self._is_box and action_space.dtype.kind in "iub"  # type: ignore[union-attr]  # a Box has one
        self._start = _start(action_space)
        self._is_categories_from_0 = isinstance(action_space, spaces.Discrete) and not self._start.any()
        self._low, self._high = _bounds(action_space)
        self._own_bounds = _own_bounds(action_space)
        self._constants: dict[torch.device, _Constants] = {}

    def __repr__(self) -> str:
        return f"ActionCodec({self.action_space}, squash={self.squash})"

    def encode(self, acts: torch.Tensor | np.ndarray) -> torch.Tensor:
        """Map environment actions, ``(N, *A)`` or flattened ``(N, D)``, to the form a distribution takes.

        An array comes back as a tensor on the CPU, never sharing its memory.
        """
        rows = (_tensor(acts) if isinstance(acts, np.ndarray) else acts).reshape(len(acts), -1)
        if rows.shape[1] != self.n_dims:
            raise SpaceError(f"actions of shape {tuple(acts.shape)} do not fit {self.action_space}, shape {self.shape}")
        constants = self._on(rows.device)
        if self._is_box and self.squash:
            scaled = 2.0 * (rows.float() - constants.low) / constants.span - 1.0
            return scaled.clamp(-1.0 + SQUASH_MARGIN, 1.0 - SQUASH_MARGIN)
        if self._is_box or isinstance(self.action_space, spaces.MultiBinary):
            return rows.float()
        categories = rows.long() - constants.start
        return categories[:, 0] if isinstance(self.action_space, spaces.Discrete) else categories

    def decode(self, encoded: torch.Tensor) -> torch.Tensor:
        """Map what a distribution gave to environment actions ``(N, *A)``, still a tensor.

        A float Box that is not squashed is not clipped: its log-probability stays that of what was drawn. All
        other actions are members of the space.
        """
        constants = self._on(encoded.device)
        rows = encoded.reshape(len(encoded), -1)
        if not self._is_box:
            dtype = torch.int8 if isinstance(self.action_space, spaces.MultiBinary) else torch.int64
            return (rows.to(dtype) + constants.start.to(dtype)).reshape(-1, *self.shape)
        if self.squash:
            rows = constants.low + 0.5 * (rows + 1.0) * constants.span
        if self._is_integer_box:
            rows = rows.round()
        if self.squash or self._is_integer_box:
            rows = torch.clamp(rows, constants.low, constants.high)
        return rows.reshape(-1, *self.shape)

    def decode_numpy(self, encoded: np.ndarray) -> np.ndarray:
        """Map what a distribution gave to environment actions ``(N, *A)`` that are members of the space."""
        if self._is_categories_from_0 and encoded.dtype == self.action_space.dtype:
            return encoded
        rows = encoded.reshape(len(encoded), -1)
        if not self._is_box:  # categories and switches need no check: what a distribution gives is one of them
            members = (rows.astype(np.int64) + self._start).astype(self.action_space.dtype, copy=False)
            return np.asarray(members.reshape(-1, *self.shape))
        if self.squash:
            low, high = self._low, self._high
            rows = low + 0.5 * (rows.astype(np.float64) + 1.0) * (high - low)
        return self.clip(rows.reshape(-1, *self.shape))

    def clip(self, acts: np.ndarray) -> np.ndarray:
        """Return ``acts`` (N, *A) as members of the space, in its dtype: a Box is clipped, integers rounded first.

        Raises: SpaceError for a category or a switch that does not exist, and for an action that is not finite.
        """
        rows = np.asarray(acts).reshape(len(acts), -1)
        if rows.shape[1] != self.n_dims:
            raise SpaceError(f"actions of shape {np.shape(acts)} do not fit {self.action_space}, shape {self.shape}")
        if rows.dtype.kind == "f" and not math.isfinite(np.vdot(rows, rows)) and np.isnan(rows).any():  # vdot is cheap
            row = int(np.isnan(rows).any(axis=1).argmax())
            raise SpaceError(f"the policy's action in row {row} is not a number: {rows[row].tolist()}")
        if self._is_integer_box:
            members = _round_into(rows, self._low, self._high, self.action_space)
        elif self._is_box:
            low, high = self._own_bounds if rows.dtype == self.action_space.dtype else (self._low, self._high)
            members = np.minimum(np.maximum(rows, low), high).astype(self.action_space.dtype, copy=False)
        else:
            members = self._existing(rows)
        return members.reshape(-1, *self.shape)

    def _existing(self, rows: np.ndarray) -> np.ndarray:
        members = rows.astype(self.action_space.dtype)
        wrong = ((members != rows) | (members < self._low) | (members > self._high)).any(axis=1)
        if wrong.any():
            row = int(wrong.argmax())
            raise SpaceError(f"the policy's action in row {row}, {rows[row].tolist()}, is not in {self.action_space}")
        return members

    def _on(self, device: torch.device) -> _Constants:
        """Return the space's numbers as tensors on a device, made once."""
        if device not in self._constants:
            span = self._high - self._low
            span[span == 0] = 1.0
            with torch.inference_mode(False):  # made there, they could take no part in a gradient later
                self._constants[device] = _Constants(
                    start=torch.as_tensor(self._start, device=device),
                    low=torch.as_tensor(self._low, dtype=torch.float32, device=device),
                    high=torch.as_tensor(self._high, dtype=torch.float32, device=device),
                    span=torch.as_tensor(span, dtype=torch.float32, device=device),
                )
        return self._constants[device]


def _distribution_space(space: gym.Space[Any], n_dims: int, squash: bool) -> gym.Space[Any]:
    if squash and not isinstance(space, spaces.Box):
        raise SpaceError(f"squash_output is for Box actions, the action space is {space}")
    if isinstance(space, spaces.Box):
        if squash and not (np.isfinite(space.low).all() and np.isfinite(space.high).all() and space.is_bounded()):
            raise SpaceError(f"squash_output needs a bounded action space, {space} is not")
        bound = 1.0 if squash else np.inf
        return spaces.Box(-bound, bound, (n_dims,), np.float32)
    if isinstance(space, spaces.Discrete):
        return spaces.Discrete(int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        return spaces.MultiDiscrete(space.nvec.reshape(-1))
    return spaces.MultiBinary(n_dims)


def _start(space: gym.Space[Any]) -> np.ndarray:
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        return np.asarray(space.start, np.int64).reshape(-1)
    return np.zeros(1, np.int64)


def _bounds(space: gym.Space[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest member, flattened: float64 for a Box, int64 for all else."""
    if isinstance(space, spaces.Box):
        return space.low.reshape(-1).astype(np.float64), space.high.reshape(-1).astype(np.float64)
    start = _start(space)
    if isinstance(space, spaces.Discrete):
        return start, start + int(space.n) - 1
    if isinstance(space, spaces.MultiDiscrete):
        return start, start + space.nvec.reshape(-1).astype(np.int64) - 1
    return start, start + 1


def _own_bounds(space: gym.Space[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of a Box, flattened, in its own dtype; as ``_bounds`` for all else."""
    return (space.low.flatten(), space.high.flatten()) if isinstance(space, spaces.Box) else _bounds(space)


def _round_into(rows: np.ndarray, low: np.ndarray, high: np.ndarray, space: gym.Space[Any]) -> np.ndarray:
    """Round, clip and cast without ever leaving the range of the integer dtype."""
    assert isinstance(space, spaces.Box)
    rounded = np.rint(rows.astype(np.float64)) if rows.dtype.kind == "f" else rows
    inside = (rounded > low) & (rounded < high)
    members = np.where(inside, rounded, 0).astype(space.dtype)
    members = np.where(rounded >= high, space.high.reshape(-1), members)
    return np.where(rounded <= low, space.low.reshape(-1), members).astype(space.dtype)


def _tensor(acts: np.ndarray) -> torch.Tensor:
    """Copy an array of any dtype into a tensor that torch calculates with."""
    return torch.from_numpy(acts.astype(np.float32 if acts.dtype.kind == "f" else np.int64, order="C"))
