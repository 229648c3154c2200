"""How is a small feed-forward policy run fast, with bits that do not depend on how many rows run together?

In float64 on numpy, rounded to float32 at the end. A product of two matrices may differ in its last bits from the
same product row by row, so rows are stacked: numpy then multiplies each by the matrix on its own, in one call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.torch_layers import MlpExtractor
from torch import nn

from mimetic.policies.actor_critic import MimeticPolicy
from mimetic.policies.inputs import NORM_EPSILON, NORM_LIMIT, FlatFeatures, InputLeaf

Rows = np.ndarray
"""Float64 ``(n, 1, width)``, or ``(n, width)`` when nobody asked for exact bits."""


def _sigmoid(x: Rows) -> Rows:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


_ACTIVATIONS: dict[type[nn.Module], Callable[[Any, Rows], Rows]] = {
    nn.Tanh: lambda layer, x: np.tanh(x),
    nn.ReLU: lambda layer, x: np.maximum(x, 0.0),
    nn.LeakyReLU: lambda layer, x: np.where(x > 0, x, layer.negative_slope * x),
    nn.ELU: lambda layer, x: np.where(x > 0, x, layer.alpha * np.expm1(np.minimum(x, 0.0))),
    nn.Sigmoid: lambda layer, x: _sigmoid(x),
    nn.SiLU: lambda layer, x: x * _sigmoid(x),
}


class _Memory:
    """A module's tensor as an array: its own memory on the CPU, looked up again once replaced, else a copy."""

    def __init__(self, tensors: dict[str, Any], name: str) -> None:
        self._tensors, self._name = tensors, name
        self._pointer = -1
        self._array = np.empty(0)

    def read(self) -> np.ndarray:
        tensor = self._tensors[self._name]
        if not tensor.is_cpu:
            return np.asarray(tensor.detach().cpu().numpy())
        pointer = tensor.data_ptr()
        if pointer != self._pointer:
            self._pointer, self._array = pointer, tensor.detach().numpy()
        return self._array


class PlainNetwork:
    """The actor of a feed-forward policy as numpy. It reads the parameters at each call, so it follows training."""

    def __init__(self, policy: MimeticPolicy, *, exact: bool = True) -> None:
        features = policy.pi_features_extractor
        assert isinstance(features, FlatFeatures)
        self._leaves: list[InputLeaf] = features.leaves
        norm = features.norm
        self._statistics = None if norm is None else tuple(_Memory(norm._buffers, name) for name in ("mean", "var"))
        self._layers = [_step(layer) for layer in (*policy.mlp_extractor.policy_net, policy.action_net)]
        self._exact = exact

    def __call__(self, obs: Any) -> np.ndarray:
        """``(n, *O) -> (n, K)`` float32: means or logits; exact: each row has the bits that it has alone."""
        rows = self._rows(obs)
        n = len(rows)
        if self._exact:
            rows = rows[:, None, :]
        for step in self._layers:
            rows = step(rows)
        return rows.reshape(n, -1).astype(np.float32)

    def _rows(self, obs: Any) -> Rows:
        parts = []
        for leaf in self._leaves:
            values = np.asarray(leaf.pick(obs))
            leaf.check(values)
            parts.append(leaf.rows_numpy(values))
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if self._statistics is None:
            return rows
        mean, var = (memory.read().astype(np.float64) for memory in self._statistics)
        normal: Rows = np.clip((rows - mean) / np.sqrt(var + NORM_EPSILON), -NORM_LIMIT, NORM_LIMIT)
        return normal


def _step(layer: nn.Module) -> Callable[[Rows], Rows]:
    """Return what one layer does to rows."""
    if not isinstance(layer, nn.Linear):
        return partial(_ACTIVATIONS[type(layer)], layer)
    weight, bias = _Memory(layer._parameters, "weight"), _Memory(layer._parameters, "bias")

    def linear(rows: Rows) -> Rows:
        rows = rows @ weight.read().astype(np.float64).T
        rows += bias.read()
        return rows

    return linear


def plain_network(policy: object, *, exact: bool = True) -> PlainNetwork | None:
    """Return the policy's actor as numpy when it is the plain net that it seems to be, else None.

    Whoever overrides a method, adds a hook or a layer that is not known here is run by torch.
    """
    if not isinstance(policy, MimeticPolicy) or not _is_plain(policy):
        return None
    return PlainNetwork(policy, exact=exact)


_METHODS = (
    "forward",
    "predict",
    "_predict",
    "get_distribution",
    "extract_features",
    "_features",
    "_get_action_dist_from_latent",
    "obs_to_tensor",
    "__call__",
)


def _is_plain(policy: MimeticPolicy) -> bool:
    kind = type(policy)
    if any(getattr(kind, name) is not getattr(MimeticPolicy, name) for name in _METHODS):
        return False
    features, extractor = policy.pi_features_extractor, policy.mlp_extractor
    if type(features) is not FlatFeatures or type(extractor) is not MlpExtractor or policy.use_sde:
        return False
    layers = [*extractor.policy_net, policy.action_net]
    modules = (policy, features, extractor, extractor.policy_net, *layers)
    if not all(_is_known(layer) for layer in layers) or any(_has_hooks(module) for module in modules):
        return False
    tensors = [*features.buffers(), *extractor.policy_net.parameters(), *policy.action_net.parameters()]
    return all(tensor.dtype in (torch.float32, torch.int64) for tensor in tensors)


def _is_known(layer: nn.Module) -> bool:
    return type(layer) in _ACTIVATIONS or (type(layer) is nn.Linear and layer.bias is not None)


def _has_hooks(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks)
