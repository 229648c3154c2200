"""How does a torch policy act cheaply? Its layers are called one after the other, without what SB3 builds around them.

``predict`` makes tensors, checks and distribution objects for each call, which takes ten times as long as a small
network itself. Here are the same operations on the same numbers: row by row they have the bits that ``predict`` has
for one row, in blocks (``blocks``) those that it has for as many.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space, preprocess_obs
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn
from torch.nn import functional

from mimetic.policies.blocks import block_size, draw_observations
from mimetic.policies.inputs import FlatFeatures, ObservationFeatures
from mimetic.policies.structure import Structure, has_hooks
from mimetic.policies.torch_rows import AnyRows, TensorRows, Tensors, VectorRows

if TYPE_CHECKING:
    from mimetic.types.observations import Observations

Step = Callable[[Any], torch.Tensor]


class TorchNetwork:
    """A policy's layers on torch: those that are known as calls of functions, others as they are."""

    def __init__(self, structure: Structure, *, exact: bool) -> None:
        """Calculate the layers; exact: in blocks of one size, so that no row's bits depend on how many there are."""
        self._structure, self._is_gaussian = structure, structure.log_std is not None
        features, self._rows = _features(structure)
        self._steps: list[Any] = [*features, *map(_step, structure.layers)]
        self.has_modes = any(isinstance(getattr(step, "__self__", step), nn.Module) for step in self._steps)
        self._grad_mode = torch.no_grad if self.has_modes else torch.inference_mode  # whose tensors none must keep
        self.block: int | None = None
        """How many rows are calculated at once, where that does not depend on how many there are."""
        if exact:
            sb3_s = structure.is_sb3_s_own
            self.block = 1 if sb3_s else block_size(self._steps, self._draw, training=structure.policy.training)

    def __call__(self, obs: Observations) -> np.ndarray:
        """``(n, *O) -> (n, K)``."""
        with self._grad_mode():
            if self.block is None:
                outputs = self._run(self._rows(obs))
                return _numpy(outputs)
            n, blocks = self._rows.blocks(obs, self.block)
            if len(blocks) == 1:
                return _numpy(self._run(blocks[0]))[:n]
            return _numpy(torch.cat([self._run(block) for block in blocks]))[:n]

    def deviations(self) -> np.ndarray | None:
        """Return the standard deviations ``(D,)`` of a Gaussian."""
        log_std = self._structure.log_std if self._is_gaussian else None
        return None if log_std is None else np.asarray(log_std.exp().cpu().numpy())

    def _run(self, x: Any) -> torch.Tensor:
        for step in self._steps:
            x = step(x)
        result: torch.Tensor = x
        return result

    def _draw(self, stream: np.random.Generator, n: int) -> Tensors:
        return self._rows(draw_observations(self._structure.policy.observation_space, stream, n))


# --- layers -----------------------------------------------------------------------------------------------------

_FUNCTIONS: dict[type[nn.Module], Callable[[Any], Step]] = {
    nn.Tanh: lambda layer: torch.tanh,
    nn.ReLU: lambda layer: torch.relu,
    nn.Sigmoid: lambda layer: torch.sigmoid,
    nn.LeakyReLU: lambda layer: partial(functional.leaky_relu, negative_slope=layer.negative_slope),
    nn.ELU: lambda layer: partial(functional.elu, alpha=layer.alpha),
    nn.SiLU: lambda layer: functional.silu,
    nn.GELU: lambda layer: partial(functional.gelu, approximate=layer.approximate),
}


def _step(layer: Any) -> Any:
    if not isinstance(layer, nn.Module) or has_hooks(layer):
        return layer
    if type(layer) is nn.Linear:
        return _linear(layer._parameters)
    function = _FUNCTIONS.get(type(layer))
    return layer if function is None else function(layer)


def _linear(parameters: dict[str, Any]) -> Step:
    """Look the parameters up at each call: they may be replaced."""
    linear = functional.linear
    return lambda x: linear(x, parameters["weight"], parameters["bias"])


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.numpy() if tensor.is_cpu else tensor.cpu().numpy()
    return array


# --- features ---------------------------------------------------------------------------------------------------


def _features(structure: Structure) -> tuple[list[nn.Module], TensorRows]:
    """Return what is called before the layers, and what makes the tensors that it takes."""
    policy, extractor = structure.policy, structure.extractor
    space = policy.observation_space
    is_vector = isinstance(space, spaces.Box) and not is_image_space(space)
    flat = is_vector and _flattens(extractor)
    as_given = isinstance(extractor, ObservationFeatures) and not flat
    prepare = partial(preprocess_obs, observation_space=space, normalize_images=policy.normalize_images)
    rows: TensorRows
    rows = others = AnyRows(policy, None if as_given else partial(_flat, prepare) if flat else prepare)
    if is_vector:
        rows = VectorRows(policy, others, flat=flat, casts=not as_given)
    return ([] if flat else [extractor]), rows


def _flattens(extractor: nn.Module) -> bool:
    if has_hooks(extractor):
        return False
    if type(extractor) is FlatFeatures:
        return extractor.norm is None and extractor._like.dtype == torch.float32
    return type(extractor) is FlattenExtractor and not has_hooks(extractor.flatten)


def _flat(prepare: Callable[[torch.Tensor], Any], rows: torch.Tensor) -> torch.Tensor:
    flat: torch.Tensor = prepare(rows).flatten(1)
    return flat
