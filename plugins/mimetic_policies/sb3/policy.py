"""What acts in the end: a network of stable-baselines3 behind the normalisation that it learned under.

It acts like SB3's own `predict`, bit for bit. Random numbers come from torch's global generator alone, so that an
actor can let them come from an episode's stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import BasePolicy
from torch import nn

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic_policies.sb3.config import Sb3NetworkConfig, VecNormalizeConfig
    from mimetic_policies.sb3.statistics import Moments


class Normalization(nn.Module):
    """Normalises observations as VecNormalize does; its statistics are buffers, saved with the weights."""

    def __init__(self, config: VecNormalizeConfig, space: gym.Space[Any]) -> None:
        super().__init__()
        self._clip_obs, self._epsilon = config.clip_obs, config.epsilon
        self.keys = config.keys
        parts = [space] if config.keys is None else [space[key] for key in config.keys]  # type: ignore[index]  # a Dict
        for index, part in enumerate(parts):
            self.register_buffer(f"mean_{index}", torch.zeros(part.shape or (), dtype=torch.float64))
            self.register_buffer(f"var_{index}", torch.ones(part.shape or (), dtype=torch.float64))

    def load(self, moments: Mapping[str, Moments]) -> None:
        """Take the statistics over."""
        for index, key in enumerate([""] if self.keys is None else self.keys):
            self.get_buffer(f"mean_{index}").copy_(torch.from_numpy(moments[key].mean))
            self.get_buffer(f"var_{index}").copy_(torch.from_numpy(moments[key].var))

    def forward(self, obs: Any) -> Any:
        """``(n, *O) -> (n, *O)``, or one without a row axis, arrays or a mapping of such; counts nothing."""
        if self.keys is None:
            return self._normal(0, obs)
        return {**obs, **{key: self._normal(index, obs[key]) for index, key in enumerate(self.keys)}}

    def _normal(self, index: int, obs: np.ndarray) -> np.ndarray:
        mean, var = (self.get_buffer(f"{name}_{index}").cpu().numpy() for name in ("mean", "var"))
        normal = np.clip((obs - mean) / np.sqrt(var + self._epsilon), -self._clip_obs, self._clip_obs)
        return np.asarray(normal, np.float32)


class Sb3Policy(BasePolicy):
    """A policy that acts and is not trained: any of stable-baselines3's but a plain actor-critic."""

    def __init__(
        self,
        config: Sb3NetworkConfig,
        network: BasePolicy,
        observation_space: gym.Space[Any],
        normalization: Normalization | None,
    ) -> None:
        super().__init__(observation_space, network.action_space)
        self.kind = config.kind
        self.network, self.normalization = network, normalization
        self._exploration_rate = config.exploration_rate
        self._has_noise_matrix = bool(getattr(network, "use_sde", False))

    @property
    def recurrent(self) -> bool:
        """Whether its state carries something from step to step."""
        return self.kind == "recurrent-ppo"

    def predict(
        self,
        observation: Any,
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """Choose actions, members of the space, for one observation or a batch."""
        if self.normalization is not None:
            observation = self.normalization(observation)
        if self._has_noise_matrix and not deterministic:
            self.network.reset_noise(1)  # type: ignore[operator]  # those with such a matrix have it
        acts, state = self.network.predict(observation, state, episode_start, deterministic)
        if self._exploration_rate and not deterministic:
            acts = self._explored(acts)
        return acts, state

    def _predict(self, observation: Any, deterministic: bool = False) -> torch.Tensor:
        """Act on a tensor of observations that are normalised already."""
        return self.network._predict(observation, deterministic)

    def _explored(self, acts: np.ndarray) -> np.ndarray:
        """Replace each action by a random one as often as in training: epsilon-greedy."""
        assert isinstance(self.action_space, spaces.Discrete)
        explores = torch.rand(acts.shape).numpy() < self._exploration_rate
        drawn = torch.randint(int(self.action_space.n), acts.shape).numpy()
        return np.where(explores, drawn, acts)
