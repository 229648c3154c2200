"""How is a network of stable-baselines3 built from its description? As its own classes do; weights come later."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.preprocessing import get_flattened_obs_dim, is_image_space
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor, NatureCNN
from stable_baselines3.dqn.policies import QNetwork
from stable_baselines3.sac.policies import Actor as SacActor
from stable_baselines3.td3.policies import Actor as Td3Actor
from torch import nn

from mimetic.errors import MissingDependencyError, SpaceError
from mimetic.policies.activations import ACTIVATIONS
from mimetic.policies.actor_critic import sb3_learning_rate

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic_policies.sb3.config import Sb3NetworkConfig

_EXTRACTORS: Mapping[str, tuple[type[Any], str]] = {
    "flatten": (FlattenExtractor, ""),
    "nature-cnn": (NatureCNN, "features_dim"),
    "combined": (CombinedExtractor, "cnn_output_dim"),
}
NATURE_FEATURES, COMBINED_FEATURES = 512, 256
"""stable-baselines3's defaults."""

_ACTIONS = {"sac": spaces.Box, "tqc": spaces.Box, "td3": spaces.Box, "dqn": spaces.Discrete, "qr-dqn": spaces.Discrete}


def build_network(
    config: Sb3NetworkConfig, observation_space: gym.Space[Any], action_space: gym.Space[Any]
) -> BasePolicy:
    """Build the network that acts; of algorithms with a critic apart, the actor alone.

    Raises:
        SpaceError: this kind of network does not take such observations or actions.
        MissingDependencyError: it is one of sb3-contrib's, which is not installed.
    """
    require_spaces(config, observation_space, action_space)
    return _BUILDERS[config.kind](config, observation_space, action_space)


def require_spaces(config: Sb3NetworkConfig, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
    """Raise SpaceError when a network of this kind does not take such observations, or gives other actions."""
    wanted = _ACTIONS.get(config.kind)
    if wanted is not None and not isinstance(action_space, wanted):
        raise SpaceError(f"a {config.kind} policy gives {wanted.__name__} actions; the action space is {action_space}")
    if isinstance(observation_space, spaces.Dict) != (config.features == "combined"):
        raise SpaceError(f"the features {config.features!r} are not for observations of {observation_space}")
    if config.features == "nature-cnn" and not _is_image(config, observation_space):
        raise SpaceError(f"the features 'nature-cnn' are for images, channels first; observed is {observation_space}")


def n_features(config: Sb3NetworkConfig, space: gym.Space[Any]) -> int:
    """Return how many features an observation becomes, without building anything large."""
    if config.features == "nature-cnn":
        return config.features_dim or NATURE_FEATURES
    if not isinstance(space, spaces.Dict):
        return int(get_flattened_obs_dim(space))
    return sum(
        (config.features_dim or COMBINED_FEATURES) if _is_image(config, part) else int(get_flattened_obs_dim(part))
        for part in space.spaces.values()
    )


def image_inputs(config: Sb3NetworkConfig, space: gym.Space[Any]) -> dict[str, int]:
    """Return how many numbers the layer behind each image's convolutions takes, by the name of its weight."""
    if config.features == "nature-cnn":
        images = {"": space}
    else:
        parts = space.spaces if isinstance(space, spaces.Dict) else {}
        images = {f"extractors.{key}.": part for key, part in parts.items() if _is_image(config, part)}
    return {f"features_extractor.{prefix}linear.0.weight": _behind(config, part) for prefix, part in images.items()}


def _behind(config: Sb3NetworkConfig, image: gym.Space[Any]) -> int:
    """Return how many numbers convolutions make of an image."""
    try:
        smallest = NatureCNN(image, features_dim=1, normalized_image=not config.normalize_images)
    except RuntimeError as error:
        raise SpaceError(f"images of {image} are too small for the convolutions, channels first: {error}") from error
    layer = smallest.linear[0]
    assert isinstance(layer, nn.Linear)
    return layer.in_features


def _is_image(config: Sb3NetworkConfig, space: gym.Space[Any]) -> bool:
    return is_image_space(space, normalized_image=not config.normalize_images)


# --- the kinds --------------------------------------------------------------------------------------------------


def _actor_critic(config: Sb3NetworkConfig, obs_space: Any, action_space: Any) -> BasePolicy:
    return ActorCriticPolicy(obs_space, action_space, sb3_learning_rate, **_two_headed(config))


def _recurrent(config: Sb3NetworkConfig, obs_space: Any, action_space: Any) -> BasePolicy:
    assert config.lstm is not None
    policy: BasePolicy = _contrib("common.recurrent.policies", "RecurrentActorCriticPolicy", config.kind)(
        obs_space,
        action_space,
        sb3_learning_rate,
        **_two_headed(config),
        lstm_hidden_size=config.lstm.hidden_size,
        n_lstm_layers=config.lstm.n_layers,
        shared_lstm=config.lstm.critic == "shared",
        enable_critic_lstm=config.lstm.critic == "lstm",
    )
    return policy


def _two_headed(config: Sb3NetworkConfig) -> dict[str, Any]:
    kind, options = _extractor(config)
    return {
        "net_arch": {"pi": list(config.net_arch.pi), "vf": list(config.net_arch.vf)},
        "activation_fn": ACTIVATIONS[config.activation],
        "use_sde": config.use_sde,
        "full_std": config.full_std,
        "use_expln": config.use_expln,
        "squash_output": config.squash_output,
        "features_extractor_class": kind,
        "features_extractor_kwargs": options,
        "share_features_extractor": config.share_features_extractor,
        "normalize_images": config.normalize_images,
    }


def _sac(config: Sb3NetworkConfig, obs_space: Any, action_space: Any) -> BasePolicy:
    return SacActor(obs_space, action_space, **_one_headed(config, obs_space), **_squashed_noise(config))


def _tqc(config: Sb3NetworkConfig, obs_space: Any, action_space: Any) -> BasePolicy:
    actor = _contrib("tqc.policies", "Actor", config.kind)
    policy: BasePolicy = actor(obs_space, action_space, **_one_headed(config, obs_space), **_squashed_noise(config))
    return policy


def _squashed_noise(config: Sb3NetworkConfig) -> dict[str, Any]:
    return {key: getattr(config, key) for key in ("use_sde", "full_std", "use_expln", "clip_mean")}


def _td3(config: Sb3NetworkConfig, obs_space: Any, action_space: Any) -> BasePolicy:
    return Td3Actor(obs_space, action_space, **_one_headed(config, obs_space))


def _dqn(config: Sb3NetworkConfig, obs_space: Any, action_space: Any) -> BasePolicy:
    return QNetwork(obs_space, action_space, **_one_headed(config, obs_space))


def _qr_dqn(config: Sb3NetworkConfig, obs_space: Any, action_space: Any) -> BasePolicy:
    network = _contrib("qrdqn.policies", "QuantileNetwork", config.kind)
    policy: BasePolicy = network(
        obs_space, action_space, **_one_headed(config, obs_space), n_quantiles=config.n_quantiles
    )
    return policy


def _one_headed(config: Sb3NetworkConfig, observation_space: gym.Space[Any]) -> dict[str, Any]:
    kind, options = _extractor(config)
    extractor = kind(observation_space, **options)
    return {
        "net_arch": list(config.net_arch.pi),
        "activation_fn": ACTIVATIONS[config.activation],
        "features_extractor": extractor,
        "features_dim": extractor.features_dim,
        "normalize_images": config.normalize_images,
    }


def _extractor(config: Sb3NetworkConfig) -> tuple[type[Any], dict[str, Any]]:
    kind, width = _EXTRACTORS[config.features]
    options: dict[str, Any] = {} if not width else {"normalized_image": not config.normalize_images}
    return kind, options | ({width: config.features_dim} if width and config.features_dim is not None else {})


def _contrib(module: str, name: str, kind: str) -> Any:
    """Import one of sb3-contrib's classes."""
    try:
        return getattr(importlib.import_module(f"sb3_contrib.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "sb3_contrib":
            raise
        raise MissingDependencyError(
            f"a {kind} policy needs sb3-contrib, which is not installed. Install it: pip install 'mimetic[contrib]'"
        ) from error


_BUILDERS: Mapping[str, Callable[..., BasePolicy]] = {
    "actor-critic": _actor_critic,
    "recurrent-ppo": _recurrent,
    "sac": _sac,
    "tqc": _tqc,
    "td3": _td3,
    "dqn": _dqn,
    "qr-dqn": _qr_dqn,
}
