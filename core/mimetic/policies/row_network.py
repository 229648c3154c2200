"""How does SB3's own plain policy act for several rows with the bits that its ``predict`` has for one?

torch multiplies a matrix by one vector after the other, which is what it does with a single row, from and into memory
that was taken once. That saves most of what a layer costs: a call that makes a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn

from mimetic.policies.structure import Structure, has_hooks
from mimetic.policies.torch_network import TorchNetwork

if TYPE_CHECKING:
    from mimetic.types.observations import Observations

_IN_PLACE: dict[type[nn.Module], Callable[[torch.Tensor], torch.Tensor]] = {nn.Tanh: torch.tanh_, nn.ReLU: torch.relu_}

_ALIGNED = 32
"""Each row begins at a multiple of so many numbers, aligned as all memory of torch's. torch takes so many at once, too:
activations have one formula for every number, however many rows there are."""

_N_TRIALS = 32
"""So many rows are tried with a layer of each shape; kernels that differ do so in every fourth number."""


class RowNetwork:
    """Linear layers and activations, each row on its own."""

    has_modes = False
    """Nothing here differs between training and evaluation."""

    def __init__(self, structure: Structure, otherwise: TorchNetwork) -> None:
        """Calculate the layers of a policy; observations of another form than the space says go the other way."""
        self._otherwise = otherwise
        self._shape = structure.policy.observation_space.shape or ()
        linear = [layer for layer in structure.layers if isinstance(layer, nn.Linear)]
        self._widths = [linear[0].in_features, *(layer.out_features for layer in linear)]
        self._steps: list[Any] = [
            layer._parameters if isinstance(layer, nn.Linear) else _IN_PLACE[type(layer)] for layer in structure.layers
        ]
        self._memory: list[torch.Tensor] = []  # what goes into each linear layer, and what comes out of the last one
        self._rows: list[list[torch.Tensor]] = []  # each row of it
        self._seen = np.empty((0, 0), np.float32)  # the first one as an array
        self._given = np.empty((0, 0), np.float32)  # the last one

    def __call__(self, obs: Observations) -> np.ndarray:
        """``(n, *O) -> (n, K)`` float32: each row has the bits that it has alone."""
        array = np.asarray(obs)
        if array.shape[1:] != self._shape:
            return self._otherwise(obs)
        n = len(array)
        if n != len(self._seen):
            self._take_memory(n)
        self._seen[:] = array if array.ndim == 2 else array.reshape(n, -1)
        at = 0
        with torch.inference_mode():
            for step in self._steps:
                if isinstance(step, dict):  # looked up at each call: parameters may be replaced
                    weight, bias = step["weight"], step["bias"]
                    for x, y in zip(self._rows[at], self._rows[at + 1], strict=True):
                        torch.addmv(bias, weight, x, out=y)
                    at += 1
                else:
                    step(self._memory[at])
        return self._given.copy()

    def deviations(self) -> np.ndarray | None:
        """Return the standard deviations ``(D,)`` of a Gaussian."""
        return self._otherwise.deviations()

    def _take_memory(self, n: int) -> None:
        self._memory = [_aligned(n, width) for width in self._widths]
        parts = [memory[:, :width] for memory, width in zip(self._memory, self._widths, strict=True)]
        self._rows = [list(part.unbind()) for part in parts]
        self._seen, self._given = parts[0].numpy(), parts[-1].numpy()


def row_network(structure: Structure) -> RowNetwork | None:
    """Return SB3's own plain policy as products of single rows, where these have the bits of its ``predict``."""
    if not (structure.is_sb3_s_own and _is_plain(structure)):
        return None
    linear = [layer for layer in structure.layers if isinstance(layer, nn.Linear)]
    if not all(_has_bits_of_a_layer(layer.in_features, layer.out_features) for layer in linear):
        return None
    return RowNetwork(structure, TorchNetwork(structure, exact=True))


@cache
def _has_bits_of_a_layer(n_in: int, n_out: int) -> bool:
    """Whether products with single rows, and activations of all rows, have the bits that a layer gives for one row."""
    random = torch.Generator().manual_seed(0)
    weight, bias, rows = (
        torch.randn(*shape, generator=random) for shape in ((n_out, n_in), (n_out,), (_N_TRIALS, n_in))
    )
    given, taken = _aligned(_N_TRIALS, n_in), _aligned(_N_TRIALS, n_out)
    given[:, :n_in] = rows
    for row, out in zip(given[:, :n_in], taken[:, :n_out], strict=True):
        torch.addmv(bias, weight, row, out=out)
    layers = [nn.functional.linear(row, weight, bias) for row in torch.split(rows, 1)]
    return all(
        torch.equal(function(taken.clone())[:, :n_out], torch.cat([function(layer.clone()) for layer in layers]))
        for function in (torch.Tensor.contiguous, *_IN_PLACE.values())
    )


def _aligned(n: int, width: int) -> torch.Tensor:
    return torch.zeros(n, -(-width // _ALIGNED) * _ALIGNED)


def _is_plain(structure: Structure) -> bool:
    space, extractor, layers = structure.policy.observation_space, structure.extractor, structure.layers
    if not isinstance(space, spaces.Box) or is_image_space(space) or type(extractor) is not FlattenExtractor:
        return False
    if has_hooks(extractor) or has_hooks(extractor.flatten) or not isinstance(layers[0], nn.Linear):
        return False
    return all(_is_known(layer) for layer in layers)


def _is_known(layer: Any) -> bool:
    if not isinstance(layer, nn.Module) or has_hooks(layer):
        return False
    tensors = layer.parameters()
    if not all(tensor.dtype == torch.float32 and tensor.is_cpu for tensor in tensors):
        return False
    return type(layer) in _IN_PLACE or (type(layer) is nn.Linear and layer.bias is not None)
