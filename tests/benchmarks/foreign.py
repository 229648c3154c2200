"""A policy that somebody wrote for stable-baselines3: layers, features and evaluation of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

if TYPE_CHECKING:
    import gymnasium as gym


class NormalisedFeatures(BaseFeaturesExtractor):
    """The observation, normalised within itself."""

    def __init__(self, observation_space: gym.Space[Any]) -> None:
        assert observation_space.shape is not None
        super().__init__(observation_space, observation_space.shape[0])
        self.norm = nn.LayerNorm(self.features_dim)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Give the features."""
        features: torch.Tensor = self.norm(observations)
        return features


class ForeignPolicy(ActorCriticPolicy):
    """Evaluates actions in its own way, so that nobody else may."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["features_extractor_class"] = NormalisedFeatures
        super().__init__(*args, **kwargs)

    def evaluate_actions(
        self, obs: Any, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return values, log-probabilities and entropies."""
        features = self.extract_features(obs)
        latent_pi, latent_vf = self.mlp_extractor(features)
        distribution = self._get_action_dist_from_latent(latent_pi)
        return self.value_net(latent_vf), distribution.log_prob(actions), distribution.entropy()
