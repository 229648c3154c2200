"""How is a plain feed-forward policy run fast, with bits that do not depend on how many rows run together?

In float64 on numpy, rounded to float32 at the end. A product of two matrices may differ in its last bits from the
same product row by row, so rows are stacked: numpy then multiplies each by the matrix on its own, in one call.
Where nobody asks for exact bits it is float32 throughout, on the parameters' own memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn

from mimetic.policies.actor_critic import MimeticPolicy
from mimetic.policies.inputs import NORM_EPSILON, NORM_LIMIT, FlatFeatures, InputLeaf, input_leaves
from mimetic.policies.structure import Structure, has_hooks

Rows = np.ndarray
"""Float64 ``(n, 1, width)``; float32 ``(n, width)`` when nobody asked for exact bits."""


def _sigmoid(x: Rows) -> Rows:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


_ACTIVATIONS: dict[type[nn.Module], Callable[[Any, Rows], Rows]] = {
    nn.Tanh: lambda layer, x: np.tanh(x, out=x),
    nn.ReLU: lambda layer, x: np.maximum(x, 0.0, out=x),
    nn.LeakyReLU: lambda layer, x: np.where(x > 0, x, layer.negative_slope * x),
    nn.ELU: lambda layer, x: np.where(x > 0, x, layer.alpha * np.expm1(np.minimum(x, 0.0))),
    nn.Sigmoid: lambda layer, x: _sigmoid(x),
    nn.SiLU: lambda layer, x: x * _sigmoid(x),
}


class _Memory:
    """Tensors of modules as arrays: their own memory on the CPU, looked up again once one is replaced, else copies."""

    def __init__(self, places: Sequence[tuple[dict[str, Any], str]]) -> None:
        self._places = places
        self._pointers: list[int] = []
        self._arrays: list[np.ndarray] = []

    def read(self) -> list[np.ndarray]:
        pointers = [tensors[name].data_ptr() for tensors, name in self._places]
        if pointers != self._pointers:
            tensors = [tensors[name].detach() for tensors, name in self._places]
            self._arrays = [tensor.cpu().numpy() for tensor in tensors]
            self._pointers = pointers if all(tensor.is_cpu for tensor in tensors) else []
        return self._arrays


class PlainNetwork:
    """The actor of a feed-forward policy as numpy. It reads the parameters at each call, so it follows training."""

    has_modes = False
    """Nothing here differs between training and evaluation."""

    def __init__(self, structure: Structure, leaves: list[InputLeaf], *, exact: bool) -> None:
        self._structure, self._leaves, self._exact = structure, leaves, exact
        norm = getattr(structure.extractor, "norm", None)
        self._statistics = None if norm is None else _Memory([(norm._buffers, name) for name in ("mean", "var")])
        self._dtype = np.dtype(np.float64 if exact else np.float32)
        linear = [layer for layer in structure.layers if isinstance(layer, nn.Linear)]
        self._parameters = _Memory([(layer._parameters, name) for layer in linear for name in ("weight", "bias")])
        self._steps = [
            None if isinstance(layer, nn.Linear) else partial(_ACTIVATIONS[type(layer)], layer)
            for layer in structure.layers
        ]
        plain = len(leaves) == 1 and not leaves[0].path and leaves[0].categories is None and leaves[0].divisor == 1.0
        self._is_one_array = plain and norm is None  # nothing but its shape changes

    def __call__(self, obs: Any) -> np.ndarray:
        """``(n, *O) -> (n, K)`` float32: means or logits; exact: each row has the bits that it has alone."""
        rows = self._rows(obs)
        if self._exact:
            rows = rows[:, None, :]
        parameters = iter(self._parameters.read())
        for step in self._steps:
            if step is None:
                weight = next(parameters)
                rows = rows @ weight.astype(np.float64).T if self._exact else rows.dot(weight.T)  # dot starts sooner
                rows += next(parameters)
            else:
                rows = step(rows)  # in place: the first layer is a linear one, so the rows are ours
        return rows[:, 0].astype(np.float32) if self._exact else rows

    def deviations(self) -> np.ndarray | None:
        """Return the standard deviations ``(D,)`` of a Gaussian."""
        log_std = self._structure.log_std
        return None if log_std is None else np.asarray(np.exp(log_std.cpu().numpy()))

    def _rows(self, obs: Any) -> Rows:
        if self._is_one_array:
            rows = np.asarray(obs, np.float32)
            rows = rows if rows.ndim == 2 else rows.reshape(len(rows), -1)
            return rows.astype(np.float64) if self._exact else rows
        parts = []
        for leaf in self._leaves:
            values = np.asarray(leaf.pick(obs))
            leaf.check(values)
            parts.append(leaf.rows_numpy(values, self._dtype))
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if self._statistics is None:
            return rows
        mean, var = (array.astype(self._dtype, copy=False) for array in self._statistics.read())
        normal: Rows = np.clip((rows - mean) / np.sqrt(var + NORM_EPSILON), -NORM_LIMIT, NORM_LIMIT)
        return normal


def plain_network(structure: Structure, *, exact: bool) -> PlainNetwork | None:
    """Return a policy's layers as numpy when they are the plain net that they seem to be, else None.

    SB3's own policies are run so where nobody asks for exact bits: else theirs are those of SB3's ``predict``.
    """
    ours = isinstance(structure.policy, MimeticPolicy)
    leaves = _leaves_of(structure)
    if leaves is None or (exact and not ours) or not all(_is_known(layer) for layer in structure.layers):
        return None
    if not isinstance(structure.layers[0], nn.Linear):
        return None
    tensors = [*structure.extractor.buffers()]
    tensors += [tensor for layer in structure.layers for tensor in layer.parameters()]
    if not all(tensor.dtype in (torch.float32, torch.int64) for tensor in tensors):
        return None
    return PlainNetwork(structure, leaves, exact=exact)


def _leaves_of(structure: Structure) -> list[InputLeaf] | None:
    """Return the parts of an observation that are put into one row; None when something else happens to it."""
    extractor = structure.extractor
    if has_hooks(extractor):
        return None
    if type(extractor) is FlatFeatures:
        return extractor.leaves
    space = structure.policy.observation_space
    flattens = type(extractor) is FlattenExtractor and not has_hooks(extractor.flatten)
    return input_leaves(space) if flattens and isinstance(space, spaces.Box) and not is_image_space(space) else None


def _is_known(layer: Any) -> bool:
    if not isinstance(layer, nn.Module) or has_hooks(layer):
        return False
    return type(layer) in _ACTIVATIONS or (type(layer) is nn.Linear and layer.bias is not None)
