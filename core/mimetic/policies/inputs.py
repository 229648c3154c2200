"""What does a network see of an observation? One float row per observation, made from the space alone.

Boxes are flattened (images of bytes divided by 255), categories become one-hot vectors that start at the space's
``start``, switches floats, and a Dict, nested or not, its parts side by side in the order of the space.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from mimetic.errors import SpaceError
from mimetic.types.observations import escape_key, unescape_key

TensorObservations = torch.Tensor | Mapping[str, Any]
"""A tensor ``(N, *O)``, or a mapping of such, nested or under dotted keys."""

FLOAT64 = np.dtype(np.float64)

NORM_EPSILON = 1e-5
NORM_LIMIT = 10.0
"""Normalised inputs are clipped to this many standard deviations: a constant input that moves later stays finite."""


@dataclass(frozen=True, slots=True, eq=False)
class InputLeaf:
    """One part of an observation that is an array: where it lies, and how it becomes a row of numbers."""

    path: tuple[str, ...]  # the keys from the outermost Dict inwards; () when the observation is one array
    space: gym.Space[Any]
    width: int  # how many numbers one row has
    divisor: float  # what the numbers are divided by: 255 for images of bytes
    categories: np.ndarray | None = None  # (D,) how many there are of each, for Discrete and MultiDiscrete
    start: np.ndarray | None = None  # (D,) the smallest of each
    _made: dict[torch.device, torch.Tensor] = field(
        default_factory=dict, init=False, repr=False
    )  # offsets, by where they lie

    @property
    def key(self) -> str:
        """The dotted key of this part, as in the native dataset."""
        return ".".join(escape_key(key) for key in self.path)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of this part in one observation."""
        return tuple(self.space.shape or ())

    def pick(self, obs: Any) -> Any:
        """Take this part out of an observation: an array, a nested mapping, or one with dotted keys.

        Space and observation may each be in either form; environments that the platform builds are dotted.
        """
        if self.path and isinstance(obs, Mapping):
            if self.key in obs:
                return obs[self.key]
            is_dotted = len(self.path) == 1 and self.path[0] not in obs
            for key in map(unescape_key, self.path[0].split(".")) if is_dotted else self.path:
                if not isinstance(obs, Mapping) or key not in obs:
                    raise SpaceError(f"the observation has no key {key!r}; the space has {'.'.join(self.path)!r}")
                obs = obs[key]
        if isinstance(obs, Mapping):
            raise SpaceError(f"the observation has the keys {sorted(obs)}; expected an array for {self.space}")
        return obs

    def rows(self, values: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """``(N, *O) -> (N, width)`` of the given float dtype."""
        flat = values.reshape(len(values), -1)
        if self.categories is None:
            return flat.to(dtype) if self.divisor == 1.0 else flat.to(dtype) / self.divisor
        index = flat.long() + self._offsets_on(flat.device)
        return torch.zeros(len(flat), self.width, device=flat.device, dtype=dtype).scatter_(1, index, 1.0)

    def rows_numpy(self, values: np.ndarray, dtype: np.dtype[Any] = FLOAT64) -> np.ndarray:
        """``(N, *O) -> (N, width)`` of a float dtype, from what float32 holds of the values."""
        flat = values.reshape(len(values), -1)
        if self.categories is None:
            wide = flat.astype(np.float32, copy=False).astype(dtype, copy=False)
            return wide if self.divisor == 1.0 else wide / dtype.type(self.divisor)
        rows = np.zeros((len(flat), self.width), dtype)
        np.put_along_axis(rows, flat.astype(np.int64) + self._offsets(), 1.0, axis=1)
        return rows

    def check(self, values: np.ndarray) -> None:
        """Raise SpaceError when a category does not exist: its one-hot vector would be another one's."""
        if self.categories is None or self.start is None:
            return
        flat = values.reshape(-1, len(self.categories))
        if ((flat < self.start) | (flat >= self.start + self.categories)).any():
            raise SpaceError(f"an observation {flat.tolist()[:1]} is not in {self.space}")

    def _offsets_on(self, device: torch.device) -> torch.Tensor:
        """Return them as a tensor, made once: making it waits for the device."""
        if device not in self._made:
            self._made[device] = torch.as_tensor(self._offsets(), device=device)
        return self._made[device]

    def _offsets(self) -> np.ndarray:
        """Where in the row each category counts from."""
        assert self.categories is not None
        assert self.start is not None
        return np.asarray(np.concatenate([[0], np.cumsum(self.categories)[:-1]]) - self.start)


def input_leaves(space: gym.Space[Any], path: tuple[str, ...] = ()) -> list[InputLeaf]:
    """List the parts of an observation that are arrays, in the order of the space."""
    if isinstance(space, spaces.Dict):
        return [leaf for key, sub in space.spaces.items() for leaf in input_leaves(sub, (*path, key))]
    if isinstance(space, spaces.Discrete):
        return [InputLeaf(path, space, int(space.n), 1.0, np.array([space.n]), np.array([space.start]))]
    if isinstance(space, spaces.MultiDiscrete):
        categories, start = (part.reshape(-1).astype(np.int64) for part in (space.nvec, space.start))
        return [InputLeaf(path, space, int(categories.sum()), 1.0, categories, start)]
    divisor = 255.0 if is_image_space(space) else 1.0
    return [InputLeaf(path, space, int(np.prod(space.shape or (), dtype=int)), divisor)]


class RunningNorm(nn.Module):
    """Normalises rows by the mean and variance of all rows that it saw in training mode.

    Statistics are merged batch by batch: T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm
    for computing sample variances", 1979. In evaluation mode nothing is counted.
    """

    replayable: ClassVar[bool] = True

    count: torch.Tensor
    mean: torch.Tensor
    var: torch.Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("var", torch.ones(width))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """``(N, width) -> (N, width)``; counts the rows first when in training mode."""
        if self.training:
            self._count(rows.detach())
        normal = (rows - self.mean) / torch.sqrt(self.var + NORM_EPSILON)
        return normal.clamp(-NORM_LIMIT, NORM_LIMIT)

    @torch.no_grad()
    def _count(self, rows: torch.Tensor) -> None:
        n_new = len(rows)
        var, mean = torch.var_mean(rows, dim=0, correction=0)
        total = self.count + n_new
        share = n_new / total
        shift = mean - self.mean
        self.var.copy_(torch.where(self.count == 0, var, self.var + share * (var - self.var + shift**2 * (1 - share))))
        self.mean.add_(share * shift)
        self.count.copy_(total)


class ObservationFeatures(BaseFeaturesExtractor):
    """A features extractor that takes observations as the environment gives them, not as SB3 prepares them."""


class FlatFeatures(ObservationFeatures):
    """All of an observation as one row, normalised by running statistics when asked."""

    replayable: ClassVar[bool] = True

    _like: torch.Tensor

    def __init__(self, observation_space: gym.Space[Any], normalize: bool = False) -> None:
        leaves = input_leaves(observation_space)
        super().__init__(observation_space, sum(leaf.width for leaf in leaves))
        self.leaves = leaves
        self.norm = RunningNorm(self.features_dim) if normalize else None
        self.register_buffer("_like", torch.empty(0), persistent=False)  # `policy.double()` changes it

    def forward(self, observations: TensorObservations) -> torch.Tensor:
        """``(N, *O) -> (N, features_dim)``."""
        rows = self.rows(observations)
        return rows if self.norm is None else self.norm(rows)

    def rows(self, observations: TensorObservations) -> torch.Tensor:
        """``(N, *O) -> (N, features_dim)``, not normalised, in the dtype of the policy."""
        return flat_rows(self.leaves, observations, self._like.dtype)


def flat_rows(
    leaves: list[InputLeaf], observations: TensorObservations, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Put the rows of several parts side by side."""
    parts = [leaf.rows(leaf.pick(observations), dtype) for leaf in leaves]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
