"""The policy ``multi-input``: Dict observations, nested ones too, each part in its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from stable_baselines3.common.preprocessing import is_image_space
from torch import nn

from mimetic.errors import SpaceError
from mimetic.policies import InputLeaf, ObservationFeatures, RunningNorm, input_leaves
from mimetic.policies.actor_critic import sb3_learning_rate
from mimetic_policies.learned import LearnedPolicy, build_learned
from mimetic_policies.nature import NatureFeatures

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic import PolicyContext
    from mimetic_policies.config import MultiInputConfig


class CombinedFeatures(ObservationFeatures):
    """Images (bytes from 0 to 255 in three dimensions) by convolutions, all else flattened, in the space's order.

    Parameters are named as in stable-baselines3's CombinedExtractor; a part of a nested Dict is called ``outer/inner``.
    """

    replayable: ClassVar[bool] = True

    def __init__(
        self,
        observation_space: gym.Space[Any],
        features_dim: int = 256,
        layout: str = "auto",
        normalize_images: bool = True,
        normalize_obs: bool = False,
    ) -> None:
        leaves = input_leaves(observation_space)
        width = sum(features_dim if is_image_space(leaf.space) else leaf.width for leaf in leaves)
        super().__init__(observation_space, width)
        self.parts = [(leaf, module_name(leaf)) for leaf in leaves]
        if len({name for _, name in self.parts}) < len(leaves):
            raise SpaceError(f"keys of the observation space are too alike for names of parameters: {self.parts}")
        self.extractors = nn.ModuleDict(
            {
                name: NatureFeatures(leaf.space, features_dim, layout, normalize_images, f"observation {leaf.key!r}")
                for leaf, name in self.parts
                if is_image_space(leaf.space)
            }
        )
        self.norms = nn.ModuleDict(
            {
                name: RunningNorm(leaf.width)
                for leaf, name in self.parts
                if normalize_obs and name not in self.extractors
            }
        )

    def forward(self, observations: Any) -> torch.Tensor:
        """``(N, *O)`` for each part ``-> (N, features_dim)``."""
        return torch.cat([self._part(leaf, name, leaf.pick(observations)) for leaf, name in self.parts], dim=1)

    def _part(self, leaf: InputLeaf, name: str, values: torch.Tensor) -> torch.Tensor:
        if name in self.extractors:
            features: torch.Tensor = self.extractors[name](values)
            return features
        rows = leaf.rows(values)
        return self.norms[name](rows) if name in self.norms else rows


def module_name(leaf: InputLeaf) -> str:
    """Return what torch lets the parameters of one part be called."""
    name = "/".join(key.replace(".", "%2E") for key in leaf.path) or "observation"
    return f"{name}_" if hasattr(nn.ModuleDict(), name) else name


class MultiInputPolicy(LearnedPolicy):
    """A policy for observations in parts."""

    replayable: ClassVar[bool] = True
    component: ClassVar[str] = "multi-input"
    features: ClassVar[type[ObservationFeatures]] = CombinedFeatures
    takes_transposed_images = True

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        lr_schedule: Callable[[float], float] = sb3_learning_rate,
        *,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        features_extractor_class: type[CombinedFeatures] = CombinedFeatures,
        **options: Any,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch=[64, 64] if net_arch is None else net_arch,
            features_extractor_class=features_extractor_class,
            **options,
        )

    def describe_features(self) -> dict[str, Any]:
        """Say how each part becomes features."""
        given = {
            "features_dim": 256,
            "layout": "auto",
            "normalize_images": True,
            "normalize_obs": False,
            **self.features_extractor_kwargs,
        }
        return {key: given[key] for key in ("features_dim", "layout", "normalize_images", "normalize_obs")}


def build(config: MultiInputConfig, context: PolicyContext) -> MultiInputPolicy:
    """Build the policy of a run file."""
    options = {
        "features_dim": config.features_dim,
        "layout": config.layout,
        "normalize_images": config.normalize_images,
        "normalize_obs": config.normalize_obs,
    }
    policy = build_learned(MultiInputPolicy, config, context, {"features_extractor_kwargs": options})
    assert isinstance(policy, MultiInputPolicy)
    return policy
