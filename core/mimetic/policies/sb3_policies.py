"""What rebuilds one of stable-baselines3's own policies? The component ``actor-critic``, with what the policy shows."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.policies import (
    ActorCriticCnnPolicy,
    ActorCriticPolicy,
    MultiInputActorCriticPolicy,
)
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor, NatureCNN

from mimetic.errors import ConfigError
from mimetic.policies.activations import activation_name
from mimetic.policies.actor_critic import MimeticPolicy
from mimetic.policies.origins import PolicyOrigin

SB3_COMPONENT = "actor-critic"
"""The policy component that rebuilds SB3's own policies; some plugin offers it."""

_PLAIN = (ActorCriticPolicy, ActorCriticCnnPolicy, MultiInputActorCriticPolicy)
_EXTRACTORS: dict[type, tuple[str, str | None]] = {
    FlattenExtractor: ("flatten", None),
    NatureCNN: ("nature-cnn", "features_dim"),
    CombinedExtractor: ("combined", "cnn_output_dim"),
}
"""The name of an extractor in the config, and which of its arguments ``features_dim`` there stands for."""


def describe_sb3_policy(policy: object) -> PolicyOrigin:
    """Return the component and config that rebuild one of SB3's own actor-critic policies.

    A subclass that only sets arguments in its constructor is rebuilt as its parent.

    Raises:
        ConfigError: the policy does more than SB3's own, so that nothing but its own code can rebuild it.
    """
    if not isinstance(policy, ActorCriticPolicy):
        raise _not_saved(policy, "it is no ActorCriticPolicy")
    if isinstance(policy, MimeticPolicy):
        raise _not_saved(policy, "it was not built by a component, and does not describe itself")
    methods = _own_methods(type(policy))
    if methods:
        raise _not_saved(policy, f"its class defines {', '.join(methods)}")
    return PolicyOrigin(SB3_COMPONENT, _config(policy))


def _config(policy: ActorCriticPolicy) -> dict[str, Any]:
    activation = activation_name(policy.activation_fn)
    if activation is None:
        raise _not_saved(policy, f"its activation function is {policy.activation_fn.__name__}")
    noise = policy.dist_kwargs or {}
    return {
        **_features(policy),
        "net_arch": _net_arch(policy.net_arch),
        "activation": activation,
        "ortho_init": policy.ortho_init,
        "log_std_init": policy.log_std_init,
        "use_sde": policy.use_sde,
        "full_std": noise.get("full_std", True),
        "use_expln": noise.get("use_expln", False),
        "squash_output": noise.get("squash_output", False),
        "share_features_extractor": policy.share_features_extractor,
        "normalize_images": policy.normalize_images,
    }


def _features(policy: ActorCriticPolicy) -> dict[str, Any]:
    kind, options = policy.features_extractor_class, dict(policy.features_extractor_kwargs)
    if kind not in _EXTRACTORS:
        raise _not_saved(policy, f"its features extractor is {kind.__name__}")
    name, width = _EXTRACTORS[kind]
    options.pop("normalized_image", None)  # follows from normalize_images
    features_dim = options.pop(width, None) if width else None
    if options:
        raise _not_saved(policy, f"its features extractor was given {', '.join(options)}")
    return {"features": name} | ({} if features_dim is None else {"features_dim": int(features_dim)})


def _net_arch(net_arch: Any) -> dict[str, list[int]]:
    parts = net_arch if isinstance(net_arch, dict) else {"pi": net_arch, "vf": net_arch}
    return {side: [int(width) for width in parts.get(side, [])] for side in ("pi", "vf")}


def _own_methods(kind: type) -> list[str]:
    """List what a class and its parents define between it and SB3's own, but for constructors."""
    own: list[str] = []
    for parent in kind.__mro__:
        if parent in _PLAIN:
            break
        own += [name for name, value in vars(parent).items() if callable(value) and name != "__init__"]
    return own


def _not_saved(policy: object, reason: str) -> ConfigError:
    return ConfigError(
        f"this {type(policy).__name__} cannot be saved as a policy file: {reason}, and no component is known that "
        "rebuilds it; build it from a policy component (a plugin can offer one)"
    )
