"""How are plain feed-forward layers run fast, with bits that do not depend on how many rows run together?

In float64 on numpy, rounded to float32 at the end. A product of two matrices may differ in its last bits from the
same product row by row, so rows are stacked: numpy then multiplies each by the matrix on its own, in one call.
Where nobody asks for exact bits it is float32 throughout, on the parameters' own memory. What lies before the layers
is plain too (``FlatRows``), or torch calculates it (``torch_network``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn

from mimetic.policies.inputs import NORM_EPSILON, NORM_LIMIT, FlatFeatures, InputLeaf, input_leaves
from mimetic.policies.structure import Structure, has_hooks
from mimetic.policies.torch_network import TorchNetwork

if TYPE_CHECKING:
    from mimetic.types.observations import Observations

Rows = np.ndarray
"""Float64 ``(n, 1, width)``; float32 ``(n, width)`` when nobody asked for exact bits."""


def _sigmoid(x: Rows) -> Rows:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


_ACTIVATIONS: dict[type[nn.Module], Callable[[Any], Callable[[Rows], Rows]]] = {
    nn.Tanh: lambda layer: lambda x: np.tanh(x, out=x),
    nn.ReLU: lambda layer: lambda x: np.maximum(x, 0.0, out=x),
    nn.LeakyReLU: lambda layer: lambda x: np.where(x > 0, x, layer.negative_slope * x),
    nn.ELU: lambda layer: lambda x: np.where(x > 0, x, layer.alpha * np.expm1(np.minimum(x, 0.0))),
    nn.Sigmoid: lambda layer: _sigmoid,
    nn.SiLU: lambda layer: lambda x: x * _sigmoid(x),
}
"""What calculates a layer, in place where that is faster."""


_LARGE = 10_000
"""With more parameters, layers behind features of torch's stay with torch: numpy would copy them at each call."""


class _Memory:
    """Tensors of modules as arrays, matrices transposed.

    They are the tensors' own memory on the CPU, looked up again once one is replaced, else copies.
    """

    def __init__(self, places: Sequence[tuple[dict[str, Any], str]]) -> None:
        self._places = places
        self._pointers: list[int] = []
        self._arrays: list[np.ndarray] = []

    def read(self) -> list[np.ndarray]:
        pointers = [tensors[name].data_ptr() for tensors, name in self._places]
        if pointers != self._pointers:
            tensors = [tensors[name].detach() for tensors, name in self._places]
            self._arrays = [tensor.cpu().numpy().T for tensor in tensors]
            self._pointers = pointers if all(tensor.is_cpu for tensor in tensors) else []
        return self._arrays


class Features(Protocol):
    """Makes rows of numbers of observations."""

    has_modes: bool
    """Whether it may do otherwise in training mode than in evaluation mode."""

    def __call__(self, obs: Observations, /) -> np.ndarray:
        """``(n, *O) -> (n, width)`` floats."""


class PlainNetwork:
    """Layers as numpy. It reads the parameters at each call, so it follows training."""

    def __init__(self, structure: Structure, features: Features, *, exact: bool) -> None:
        """Calculate the layers of a policy with what ``features`` gives."""
        self._features, self._exact = features, exact
        self.has_modes = features.has_modes
        linear = [layer for layer in structure.layers if isinstance(layer, nn.Linear)]
        self._parameters = _Memory([(layer._parameters, name) for layer in linear for name in ("weight", "bias")])
        self._activations: list[list[Callable[[Rows], Rows]]] = []  # behind each linear layer
        for layer in structure.layers:
            if isinstance(layer, nn.Linear):
                self._activations.append([])
            else:
                self._activations[-1].append(_ACTIVATIONS[type(layer)](layer))
        gaussian = structure.log_std is not None
        self._log_std = _Memory([(structure.policy._parameters, "log_std")]) if gaussian else None

    def __call__(self, obs: Observations) -> np.ndarray:
        """``(n, *O) -> (n, K)`` float32: means or logits; exact: each row has the bits that it has alone."""
        rows = self._features(obs)
        if self._exact:
            rows = rows[:, None, :].astype(np.float64, copy=False)
        parameters = iter(self._parameters.read())
        for activations, weight, bias in zip(self._activations, parameters, parameters, strict=True):
            rows = rows @ weight.astype(np.float64) if self._exact else rows.dot(weight)  # dot starts sooner
            rows += bias
            for activation in activations:
                rows = activation(rows)  # in place, since the rows are ours now
        return rows[:, 0].astype(np.float32) if self._exact else rows

    def deviations(self) -> np.ndarray | None:
        """Return the standard deviations ``(D,)`` of a Gaussian."""
        return None if self._log_std is None else np.asarray(np.exp(self._log_std.read()[0]))


class FlatRows:
    """The parts of an observation side by side, normalised where the features extractor does so."""

    has_modes = False
    """Nothing here differs between training and evaluation."""

    def __init__(self, extractor: nn.Module, leaves: list[InputLeaf], *, exact: bool) -> None:
        """Make rows of ``leaves``, in float64 for exact bits."""
        self._leaves = leaves
        norm = getattr(extractor, "norm", None)
        self._statistics = None if norm is None else _Memory([(norm._buffers, name) for name in ("mean", "var")])
        self._dtype = np.dtype(np.float64 if exact else np.float32)
        plain = len(leaves) == 1 and not leaves[0].path and leaves[0].categories is None and leaves[0].divisor == 1.0
        self._is_one_array = plain and norm is None  # nothing but its shape changes

    def __call__(self, obs: Any) -> Rows:
        """``(n, *O) -> (n, width)``."""
        if self._is_one_array:
            rows = np.asarray(obs, np.float32)
            rows = rows if rows.ndim == 2 else rows.reshape(len(rows), -1)
            return rows.astype(self._dtype, copy=False)
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
    """Return a policy's layers as numpy, behind features that torch calculates where these are not plain; else None.

    SB3's own policies are run so where nobody asks for exact bits: else theirs are those of SB3's ``predict``.
    """
    if (exact and structure.is_sb3_s_own) or not all(_is_known(layer) for layer in structure.layers):
        return None
    if not isinstance(structure.layers[0], nn.Linear):
        return None
    parameters = [tensor for layer in structure.layers for tensor in layer.parameters()]
    if not all(tensor.dtype == torch.float32 for tensor in parameters):
        return None
    leaves = _leaves_of(structure)
    if leaves is not None:
        return PlainNetwork(structure, FlatRows(structure.extractor, leaves, exact=exact), exact=exact)
    large = exact and sum(tensor.numel() for tensor in parameters) > _LARGE
    if large or not all(tensor.is_cpu for tensor in parameters):
        return None
    return PlainNetwork(structure, TorchNetwork(replace(structure, layers=()), exact=exact), exact=exact)


def _leaves_of(structure: Structure) -> list[InputLeaf] | None:
    """Return the parts of an observation that are put into one row; None when something else happens to it."""
    extractor = structure.extractor
    if has_hooks(extractor):
        return None
    if type(extractor) is FlatFeatures:
        return extractor.leaves if extractor._like.dtype == torch.float32 else None
    space = structure.policy.observation_space
    flattens = type(extractor) is FlattenExtractor and not has_hooks(extractor.flatten)
    return input_leaves(space) if flattens and isinstance(space, spaces.Box) and not is_image_space(space) else None


def _is_known(layer: Any) -> bool:
    if not isinstance(layer, nn.Module) or has_hooks(layer):
        return False
    return type(layer) in _ACTIVATIONS or (type(layer) is nn.Linear and layer.bias is not None)
