"""How does a torch policy act cheaply? Its layers are called one after the other, without what SB3 builds around them.

``predict`` makes tensors, checks and distribution objects for each call, which takes ten times as long as a small
network itself. Here are the same operations on the same numbers: row by row they have the bits that ``predict`` has
for one row, in blocks (``blocks``) those that it has for as many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space, preprocess_obs
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn

from mimetic.policies.blocks import block_size, draw_observations
from mimetic.policies.direct_calls import direct_calls, known_call
from mimetic.policies.inputs import FlatFeatures, ObservationFeatures
from mimetic.policies.operations import Step, modules_of
from mimetic.policies.structure import Structure, has_hooks
from mimetic.policies.torch_rows import AnyRows, TensorRows, Tensors, VectorRows

if TYPE_CHECKING:
    from mimetic.types.observations import Observations

_set_grad_enabled = torch._C._set_grad_enabled
"""What ``torch.no_grad`` calls, without the object that it makes: a tenth of what a small network takes."""


class TorchNetwork:
    """A policy's layers on torch: those that are known as calls of functions, others as they are."""

    def __init__(self, structure: Structure, *, exact: bool) -> None:
        """Calculate the layers; exact: in blocks of one size, so that no row's bits depend on how many there are."""
        self._structure, self._is_gaussian = structure, structure.log_std is not None
        features, self._rows = _features(structure)
        steps = [known_call(step) for step in (*features, *structure.layers)]
        self.has_modes = bool(modules_of(steps))
        self.block: int | None = None
        """How many rows are calculated at once, where that does not depend on how many there are."""
        if exact:
            sb3_s = structure.is_sb3_s_own
            self.block = 1 if sb3_s else block_size(steps, self._draw, training=structure.policy.training)
        self._steps: Sequence[Step] = steps
        self._direct = direct_calls(steps, self._draw)

    def __call__(self, obs: Observations) -> np.ndarray:
        """``(n, *O) -> (n, K)``."""
        has_gradients = torch.is_grad_enabled()
        _set_grad_enabled(False)
        try:
            if self.block is None:
                return _numpy(self._run(self._rows(obs)))
            n, blocks = self._rows.blocks(obs, self.block)
            if len(blocks) == 1:
                return _numpy(self._run(blocks[0]))[:n]
            return _numpy(torch.cat([self._run(block) for block in blocks]))[:n]
        finally:
            _set_grad_enabled(has_gradients)

    def deviations(self) -> np.ndarray | None:
        """Return the standard deviations ``(D,)`` of a Gaussian."""
        log_std = self._structure.log_std if self._is_gaussian else None
        return None if log_std is None else np.asarray(log_std.exp().cpu().numpy())

    def _run(self, x: Any) -> torch.Tensor:
        y = x
        try:
            for step in self._direct:
                y = step(y)
        except Exception:
            if self._direct is self._steps:
                raise
            self._direct = self._steps  # whatever it is: they are called as they are, and may say it themselves
            return self._run(x)
        result: torch.Tensor = y
        return result

    def _draw(self, stream: np.random.Generator, n: int) -> Tensors:
        return self._rows(draw_observations(self._structure.policy.observation_space, stream, n))


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
