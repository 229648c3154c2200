"""How does a torch policy act cheaply? Its layers are called one after the other, without what SB3 builds around them.

``predict`` makes tensors, checks and distribution objects for each call, which takes ten times as long as a small
network itself. Here are the same operations on the same numbers, so the results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space, preprocess_obs
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn
from torch.nn import functional

from mimetic.policies.inputs import FlatFeatures, ObservationFeatures
from mimetic.policies.structure import Structure, has_hooks
from mimetic.types.observations import Observations, n_rows

Step = Callable[[Any], torch.Tensor]


class TorchNetwork:
    """A policy's layers on torch: those that are known as calls of functions, others as they are."""

    def __init__(self, structure: Structure, *, exact: bool) -> None:
        """Calculate the layers; exact: row by row, so that each row has the bits that it has alone."""
        self._structure, self._exact = structure, exact
        steps = [*_features(structure), *map(_step, structure.layers)]
        self._tensors, self._steps = steps[0], steps[1:]
        self.has_modes = any(isinstance(getattr(step, "__self__", step), nn.Module) for step in steps)
        self._grad_mode = torch.no_grad if self.has_modes else torch.inference_mode  # whose tensors none must keep

    def __call__(self, obs: Observations) -> np.ndarray:
        """``(n, *O) -> (n, K)``."""
        with self._grad_mode():
            given = self._tensors(obs)
            if not self._exact or n_rows(obs) == 1:
                outputs = self._run(given)
            else:
                outputs = torch.cat([self._run(row) for row in _rows(given)])
            return np.asarray(outputs.cpu().numpy())

    def deviations(self) -> np.ndarray | None:
        """Return the standard deviations ``(D,)`` of a Gaussian."""
        log_std = self._structure.log_std
        return None if log_std is None else np.asarray(log_std.exp().cpu().numpy())

    def _run(self, x: Any) -> torch.Tensor:
        for step in self._steps:
            x = step(x)
        result: torch.Tensor = x
        return result


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
        return partial(_linear, layer._parameters)
    function = _FUNCTIONS.get(type(layer))
    return layer if function is None else function(layer)


def _linear(parameters: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    """Look the parameters up at each call: they may be replaced."""
    return functional.linear(x, parameters["weight"], parameters["bias"])


# --- features ---------------------------------------------------------------------------------------------------


def _features(structure: Structure) -> list[Any]:
    """Return how observations become tensors with a row each, and then what the layers take."""
    policy, extractor = structure.policy, structure.extractor
    space = policy.observation_space
    is_vector = isinstance(space, spaces.Box) and not is_image_space(space)
    if is_vector and _flattens(extractor):
        return [partial(_floats, policy, space.shape, policy.device, flat=True)]
    tensors = partial(_any_tensors, policy)
    if isinstance(extractor, ObservationFeatures):
        return [tensors, extractor]
    if is_vector:
        return [partial(_floats, policy, space.shape, policy.device, flat=False), extractor]
    prepare = partial(preprocess_obs, observation_space=space, normalize_images=policy.normalize_images)
    return [tensors, prepare, extractor]


def _flattens(extractor: nn.Module) -> bool:
    if has_hooks(extractor):
        return False
    if type(extractor) is FlatFeatures:
        return extractor.norm is None and extractor._like.dtype == torch.float32
    return type(extractor) is FlattenExtractor and not has_hooks(extractor.flatten)


def _floats(policy: Any, shape: Any, device: torch.device, obs: Any, *, flat: bool) -> torch.Tensor:
    """``(n, *O)`` of any dtype ``-> (n, *O)``, or flat ``(n, width)``, float32, in memory of its own."""
    array = np.asarray(obs)
    if array.shape[1:] != shape:  # which the policy knows how to take, or to refuse
        rows: torch.Tensor = _any_tensors(policy, obs).float()
    else:
        rows = torch.from_numpy(np.array(array, np.float32, order="C"))
    rows = rows.reshape(len(rows), -1) if flat and len(shape) != 1 else rows
    return rows if device.type == "cpu" else rows.to(device)


def _any_tensors(policy: Any, obs: Any) -> Any:
    return policy.obs_to_tensor(obs)[0]


def _rows(tensors: Any) -> list[Any]:
    if isinstance(tensors, dict):
        parts = {key: part.split(1) for key, part in tensors.items()}
        return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
    return list(tensors.split(1))
