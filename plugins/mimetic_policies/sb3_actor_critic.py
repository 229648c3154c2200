"""The policy ``actor-critic``: stable-baselines3's own class, so that such a policy can be saved and rebuilt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor, NatureCNN

from mimetic.policies import codec_of
from mimetic.policies.activations import ACTIVATIONS
from mimetic.policies.actor_critic import sb3_learning_rate
from mimetic.seeding import torch_stream
from mimetic.spaces import refuse_unsupported

if TYPE_CHECKING:
    from mimetic import PolicyContext
    from mimetic_policies.config import ActorCriticConfig

_EXTRACTORS: dict[str, tuple[type[Any], str]] = {
    "flatten": (FlattenExtractor, ""),
    "nature-cnn": (NatureCNN, "features_dim"),
    "combined": (CombinedExtractor, "cnn_output_dim"),
}


def build(config: ActorCriticConfig, context: PolicyContext) -> ActorCriticPolicy:
    """Build the policy of a run file or of a policy file."""
    refuse_unsupported(context.observation_space, "observation")
    refuse_unsupported(context.action_space, "action")
    extractor, width = _EXTRACTORS[config.features]
    with torch_stream(context.seed, "policy"):
        policy = ActorCriticPolicy(
            context.observation_space,
            context.action_space,
            sb3_learning_rate,
            net_arch={"pi": list(config.net_arch.pi), "vf": list(config.net_arch.vf)},
            activation_fn=ACTIVATIONS[config.activation],
            ortho_init=config.ortho_init,
            use_sde=config.use_sde,
            log_std_init=config.log_std_init,
            full_std=config.full_std,
            use_expln=config.use_expln,
            squash_output=config.squash_output,
            features_extractor_class=extractor,
            features_extractor_kwargs={} if config.features_dim is None else {width: config.features_dim},
            share_features_extractor=config.share_features_extractor,
            normalize_images=config.normalize_images,
        )
    codec_of(policy)  # refuses what SB3's own policies do not know
    return policy.to(context.device)
