"""The base class of policies that learn: stable-baselines3's actor-critic, for every space that is supported here.

Networks, parameter names and signature are SB3's, so that a policy goes straight into PPO or A2C. What changes is
what goes in and out: observations pass through ``mimetic.policies.inputs``, actions through an ``ActionCodec``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import (
    DiagGaussianDistribution,
    Distribution,
    SquashedDiagGaussianDistribution,
)
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.errors import SpaceError
from mimetic.policies.inputs import FlatFeatures, InputLeaf, ObservationFeatures, TensorObservations, input_leaves
from mimetic.spaces import ActionCodec, refuse_unsupported

if TYPE_CHECKING:
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    from mimetic.policies.origins import PolicyOrigin


def sb3_learning_rate(progress_remaining: float) -> float:
    """Return the rate that SB3 itself starts from; only a policy's own optimiser uses it."""
    del progress_remaining
    return 3e-4


class MimeticPolicy(ActorCriticPolicy):
    """An actor-critic policy whose ``evaluate_actions``, ``forward`` and ``predict`` speak the environment's actions.

    Authors of policies derive from it, give the constructor a ``features_extractor_class`` and a ``net_arch``, and
    need no other method. ``options`` are SB3's: activation_fn, ortho_init, log_std_init, share_features_extractor...
    An extractor that is an ``ObservationFeatures`` gets observations as they are, any other what SB3 makes of them.

    ``squash_output`` draws from a squashed Gaussian (with ``use_sde``: SB3's squashed state-dependent noise).
    """

    replayable: ClassVar[bool] = True
    """Whether a pass is arithmetic on tensors alone: no number is read back to Python, no state kept outside of
    parameters and buffers, which are changed in place. On a GPU training then replays a recording of it. Read from
    the body of each class: a subclass says so for itself, and so does a features extractor or a layer of one's own."""

    takes_transposed_images = False
    """Whether the features extractor takes an image with its channels on the other side than the space says."""

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        lr_schedule: Callable[[float], float] = sb3_learning_rate,
        *,
        squash_output: bool | None = False,
        use_sde: bool = False,
        features_extractor_class: type[BaseFeaturesExtractor] = FlatFeatures,
        **options: Any,
    ) -> None:
        refuse_unsupported(observation_space, "observation")
        self.codec = ActionCodec(action_space, squash=bool(squash_output))
        if use_sde and not isinstance(action_space, spaces.Box):
            raise SpaceError(f"use_sde is for Box actions, the action space is {action_space}")
        self.leaves = input_leaves(observation_space)
        super().__init__(
            observation_space,
            self.codec.distribution_space,
            lr_schedule,
            use_sde=use_sde,
            squash_output=self.codec.squash and use_sde,
            features_extractor_class=features_extractor_class,
            **{key: value for key, value in options.items() if value is not None},
        )
        self.action_space = action_space

    @property
    def squash_output(self) -> bool:
        """False: actions leave this policy in the environment's bounds, so SB3 must not rescale them again."""
        return False

    def describe(self) -> PolicyOrigin | None:
        """Name the component and config that rebuild a policy made by hand; None when no component does."""
        return None

    # --- SB3's interface, in terms of the environment's actions -----------------------------------------------

    def forward(
        self, obs: TensorObservations, deterministic: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return actions ``(N, *A)``, values ``(N, 1)`` and the actions' log-probabilities ``(N,)``.

        A float Box is not clipped, as in SB3, where collection clips what it sends and learns from what was drawn.
        """
        latent_pi, latent_vf = self._latents(obs)
        distribution = self._get_action_dist_from_latent(latent_pi)
        actions = self.codec.decode(distribution.get_actions(deterministic=deterministic))
        return actions, self.value_net(latent_vf), distribution.log_prob(self.codec.encode(actions))

    def evaluate_actions(
        self, obs: TensorObservations, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return values ``(N, 1)``, log-probabilities ``(N,)`` of environment actions, entropies ``(N,)`` or None."""
        latent_pi, latent_vf = self._latents(obs)
        distribution = self._get_action_dist_from_latent(latent_pi)
        return self.value_net(latent_vf), distribution.log_prob(self.codec.encode(actions)), distribution.entropy()

    def get_distribution(self, obs: TensorObservations) -> Distribution:
        """Return the distribution over *encoded* actions: what ``codec.encode`` gives and ``codec.decode`` takes."""
        features = self._features(obs, self.pi_features_extractor)
        return self._get_action_dist_from_latent(self.mlp_extractor.forward_actor(features))

    def predict_values(self, obs: TensorObservations) -> torch.Tensor:
        """Return the values ``(N, 1)`` of observations."""
        features = self._features(obs, self.vf_features_extractor)
        values: torch.Tensor = self.value_net(self.mlp_extractor.forward_critic(features))
        return values

    def predict(
        self,
        observation: Any,
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """Choose actions, members of the space, for one observation or a batch. Leaves training mode as it is."""
        was_training = self.training
        self.set_training_mode(False)
        try:
            tensors, is_batch = self.obs_to_tensor(observation)
            with torch.no_grad():
                encoded = self._predict(tensors, deterministic=deterministic)
        finally:
            self.set_training_mode(was_training)
        actions = self.codec.decode_numpy(encoded.cpu().numpy())
        return (actions if is_batch else actions.squeeze(axis=0)), state

    def obs_to_tensor(self, observation: Any) -> tuple[torch.Tensor | dict[str, torch.Tensor], bool]:
        """Turn one observation or a batch into tensors with a leading row axis, and tell whether it was a batch."""
        if isinstance(observation, tuple):
            raise ValueError(
                "the observation is a tuple, as gymnasium's `env.reset()` returns; pass its first part: obs, info = ..."
            )
        arrays = {leaf.key: np.array(leaf.pick(observation)) for leaf in self.leaves}
        batches = {leaf.key: self._is_batch(leaf, arrays[leaf.key]) for leaf in self.leaves}
        if len(set(batches.values())) > 1:
            raise SpaceError(f"some parts of the observation are single and some are batches: {batches}")
        is_batch = next(iter(batches.values()))
        tensors = {key: _as_tensor(array if is_batch else array[None], self.device) for key, array in arrays.items()}
        return (tensors if isinstance(self.observation_space, spaces.Dict) else tensors[""]), is_batch

    def is_vectorized_observation(self, observation: np.ndarray | Mapping[str, Any]) -> bool:
        """Whether this is a batch of observations."""
        leaf = self.leaves[0]
        return self._is_batch(leaf, np.asarray(leaf.pick(observation)))

    # --- inside ---------------------------------------------------------------------------------------------------

    def extract_features(  # type: ignore[override]  # as in SB3, whose own subclass does so
        self, obs: TensorObservations, features_extractor: BaseFeaturesExtractor | None = None
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Return features ``(N, F)``, or the pair for actor and critic when they do not share an extractor."""
        if features_extractor is not None or self.share_features_extractor:
            return self._features(obs, features_extractor or self.features_extractor)
        return self._features(obs, self.pi_features_extractor), self._features(obs, self.vf_features_extractor)

    def _features(self, obs: TensorObservations, extractor: BaseFeaturesExtractor) -> torch.Tensor:
        if isinstance(extractor, ObservationFeatures):
            features: torch.Tensor = extractor(obs)
            return features
        prepared: torch.Tensor = super(ActorCriticPolicy, self).extract_features(obs, extractor)  # type: ignore[arg-type]  # SB3 knows dict alone
        return prepared

    def _latents(self, obs: TensorObservations) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.extract_features(obs)
        pi_features, vf_features = features if isinstance(features, tuple) else (features, features)
        return self.mlp_extractor.forward_actor(pi_features), self.mlp_extractor.forward_critic(vf_features)

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        if self.codec.squash and isinstance(self.action_dist, DiagGaussianDistribution):
            self.action_dist = SquashedDiagGaussianDistribution(self.codec.n_dims)
        super()._build(lr_schedule)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = super()._get_constructor_parameters()
        parameters["squash_output"] = self.codec.squash
        parameters["share_features_extractor"] = self.share_features_extractor
        return parameters

    def _is_batch(self, leaf: InputLeaf, array: np.ndarray) -> bool:
        """Tell a batch from a single observation by its shape. Raises: SpaceError when it is neither."""
        shapes = [leaf.shape]
        if self.takes_transposed_images and len(leaf.shape) == 3:
            height_first, channels_first = leaf.shape[:2], leaf.shape[1:]
            shapes += [(leaf.shape[2], *height_first), (*channels_first, leaf.shape[0])]
        for shape in shapes:
            if array.shape in (shape, (len(array) if array.ndim else 0, *shape)):
                leaf.check(array)
                return array.ndim > len(shape)
        name = f"observation {leaf.key!r}" if leaf.key else "observation"
        raise SpaceError(f"{name} shape {array.shape} != space shape {leaf.shape}, alone or with a leading row axis")


def codec_of(policy: ActorCriticPolicy) -> ActionCodec:
    """Return the codec between the environment's actions and the policy's distribution.

    For SB3's own policies it is made from the space. Raises: SpaceError where SB3's own policies do not know the
    space, e.g. ``Discrete(start=1)``.
    """
    if isinstance(policy, MimeticPolicy):
        return policy.codec
    codec = ActionCodec(policy.action_space, squash=policy.squash_output)
    known = isinstance(policy.action_space, spaces.Box) or (
        np.all(getattr(policy.action_space, "start", 0) == 0) and len(codec.shape) < 2
    )
    if not known:
        raise SpaceError(
            f"stable-baselines3's own policies do not know {policy.action_space}; the policies `mlp`, `cnn` and "
            "`multi-input` do"
        )
    return codec


def _as_tensor(array: np.ndarray, device: torch.device) -> torch.Tensor:
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:  # torch hardly calculates with these
        array = array.astype(np.int64)
    return torch.as_tensor(array, device=device)
