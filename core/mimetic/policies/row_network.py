"""How does SB3's own plain policy act for several rows with the bits that its ``predict`` has for one?

torch multiplies a matrix by one vector after the other, which is what it does with a single row, from and into memory
that was taken once. That saves most of what a layer costs: a call that makes a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn

from mimetic.policies.blocks import draw_observations
from mimetic.policies.structure import Structure, has_hooks
from mimetic.policies.torch_network import TorchNetwork
from mimetic.seeding import generator

if TYPE_CHECKING:
    from mimetic.types.observations import Observations

_IN_PLACE: dict[type[nn.Module], Callable[[torch.Tensor], torch.Tensor]] = {nn.Tanh: torch.tanh_, nn.ReLU: torch.relu_}

_ALIGNED = 32
"""Each row begins at a multiple of so many numbers, aligned as all memory of torch's is. For activations, too, it is then
the same for any number of rows: torch takes so many numbers at once."""

_N_TRIALS = 32


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
        self._memory = [torch.zeros(n, -(-width // _ALIGNED) * _ALIGNED) for width in self._widths]
        parts = [memory[:, :width] for memory, width in zip(self._memory, self._widths, strict=True)]
        self._rows = [list(part.unbind()) for part in parts]
        self._seen, self._given = parts[0].numpy(), parts[-1].numpy()


def row_network(structure: Structure) -> RowNetwork | None:
    """Return SB3's own plain policy as products of single rows, where these have the bits of its ``predict``."""
    if not (structure.is_sb3_s_own and _is_plain(structure)):
        return None
    single = TorchNetwork(structure, exact=True)
    network = RowNetwork(structure, single)
    obs = draw_observations(structure.policy.observation_space, generator(0, "rows"), _N_TRIALS)
    return network if network(obs).tobytes() == single(obs).tobytes() else None


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
