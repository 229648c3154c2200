"""Which network does a zip hold? Told by the names and shapes of its weights, and by settings that weights do not show.

A network of the user's own is refused by name: its code is not in the zip, and any other would act in another way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from mimetic.errors import DataError
from mimetic_policies.sb3.config import Sb3NetworkConfig
from mimetic_policies.sb3.layers import Weights, as_today, first_few, first_input, layers_of, matrix_shape
from mimetic_policies.sb3.space_text import read_space

if TYPE_CHECKING:
    from mimetic_policies.sb3.archive import Archive

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where a kind of policy keeps the network that acts."""

    parts: str  # the first words of its weights' names
    acting: str  # what the names of the weights that act begin with
    layers: str  # what the names of its layers begin with, behind that
    ends_in_actions: bool  # the last of these layers gives actions or values
    activation: str  # by default


_HEADS = "mlp_extractor action_net value_net log_std features_extractor pi_features_extractor vf_features_extractor"
_ACTOR = "actor actor_target critic critic_target"
_KINDS: Mapping[str, _Kind] = {
    "actor-critic": _Kind(_HEADS, "", "mlp_extractor.policy_net.", False, "tanh"),
    "recurrent-ppo": _Kind(f"{_HEADS} lstm_actor lstm_critic critic", "", "mlp_extractor.policy_net.", False, "tanh"),
    "sac": _Kind(_ACTOR, "actor.", "latent_pi.", False, "relu"),
    "tqc": _Kind(_ACTOR, "actor.", "latent_pi.", False, "relu"),
    "td3": _Kind(_ACTOR, "actor.", "mu.", True, "relu"),
    "dqn": _Kind("q_net q_net_target", "q_net.", "q_net.", True, "relu"),
    "qr-dqn": _Kind("quantile_net quantile_net_target", "quantile_net.", "quantile_net.", True, "relu"),
}

_KNOWN_CLASSES = (
    "stable_baselines3.",
    "sb3_contrib.tqc.",
    "sb3_contrib.qrdqn.",
    "sb3_contrib.trpo.",
    "sb3_contrib.common.recurrent.",
    "sb3_contrib.ppo_recurrent.",
    "imitation.policies.base.FeedForward32Policy",  # chooses the widths of layers, which the weights show
)
_SHOWN_BY_WEIGHTS = (
    "net_arch n_critics n_quantiles use_sde log_std_init lstm_hidden_size n_lstm_layers shared_lstm enable_critic_lstm"
)
_FOR_TRAINING = "ortho_init optimizer_class optimizer_kwargs adam_epsilon device"
_READ = (
    "activation_fn normalize_images share_features_extractor full_std use_expln squash_output clip_mean "
    "features_extractor_class features_extractor_kwargs lstm_kwargs"
)
_KNOWN_ARGUMENTS = frozenset(f"{_SHOWN_BY_WEIGHTS} {_FOR_TRAINING} {_READ}".split())
_ACTIVATIONS = {
    "Tanh": "tanh",
    "ReLU": "relu",
    "LeakyReLU": "leaky_relu",
    "ELU": "elu",
    "GELU": "gelu",
    "SiLU": "silu",
    "Sigmoid": "sigmoid",
}
_EXTRACTORS = {"FlattenExtractor": "flatten", "NatureCNN": "nature-cnn", "CombinedExtractor": "combined"}
_EXTRACTOR_ARGUMENTS = frozenset(("features_dim", "cnn_output_dim", "normalized_image"))


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """What a zip's network is made of."""

    config: Sb3NetworkConfig
    weights: Weights  # of the network that acts, by its own names
    n_features: int  # how many numbers its first layer takes


def recipe_of(archive: Archive, *, is_dict: bool) -> Recipe:
    """Tell which network a zip holds; ``is_dict``: its observations are a Dict.

    Raises:
        DataError: the network has parts that are not known here; names them.
    """
    try:
        _require_known_class(archive.data.get("policy_class"))
        return _recipe(archive, is_dict=is_dict)
    except ValidationError as error:
        reason = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise DataError(f"{archive.path}: its settings are not stable-baselines3's ({reason})") from error
    except DataError as error:
        raise DataError(f"{archive.path}: {error}") from error


def _recipe(archive: Archive, *, is_dict: bool) -> Recipe:
    name = _kind_of(archive.weights)
    kind, settings = _KINDS[name], _settings(archive.data.get("policy_kwargs"))
    weights = _acting_weights(kind, archive.weights)
    layers = layers_of(weights, kind.layers)
    options: dict[str, Any] = {
        "kind": name,
        "net_arch": {"pi": [n_out for _, n_out in layers], "vf": []},
        "activation": _activation(settings, kind.activation),
        "normalize_images": settings.get("normalize_images", True),
        **_features(settings, weights, is_dict=is_dict),
    }
    n_features = layers[0][0] if layers else first_input(weights)
    if kind.ends_in_actions:
        n_outputs = options["net_arch"]["pi"].pop()
    if name in ("actor-critic", "recurrent-ppo"):
        options |= _two_heads(settings, weights, layers)
    if name == "recurrent-ppo":
        options["lstm"], n_features = _lstm(settings, weights, n_features)
    if name in ("sac", "tqc"):
        options |= _squashed_noise(settings, weights)
    if name in ("dqn", "qr-dqn"):
        options["exploration_rate"] = archive.data.get("exploration_rate") or 0.0
    if name == "qr-dqn":
        n_actions = (read_space(archive.data.get("action_space")).counts or (1,))[0]
        options["n_quantiles"] = n_outputs // max(1, n_actions)
    return Recipe(Sb3NetworkConfig.model_validate(options), weights, n_features)


# --- what is known ----------------------------------------------------------------------------------------------


def _require_known_class(entry: object) -> None:
    if not isinstance(entry, Mapping):
        return
    methods = " ".join(str(value) for value in entry.values() if str(value).startswith("<function "))
    named = re.search(r"<function (\w+)\.", methods)
    name = f"{entry.get('__module__')}.{named[1] if named else ''}"
    if not name.startswith(_KNOWN_CLASSES):
        raise DataError(
            f"its policy is {name}, whose code is not in the zip; known are the policies of stable-baselines3, and "
            "those of sb3-contrib for TQC, QR-DQN, TRPO and RecurrentPPO"
        )


def _kind_of(weights: Weights) -> str:
    """Tell the kind of policy by the names of its weights."""
    if "lstm_actor.weight_ih_l0" in weights:
        name = "recurrent-ppo"
    elif "action_net.weight" in weights:
        name = "actor-critic"
    elif "q_net.q_net.0.weight" in weights:
        name = "dqn"
    elif "quantile_net.quantile_net.0.weight" in weights:
        name = "qr-dqn"
    elif any(key.startswith("actor.log_std") for key in weights):
        outputs = layers_of(weights, "critic.qf0.", chained=False)
        name = "tqc" if outputs and outputs[-1][1] > 1 else "sac"
    elif "actor.mu.0.weight" in weights:
        name = "td3"
    else:
        raise DataError(f"its weights are those of no policy that is known here: {first_few(weights)}")
    known = _KINDS[name].parts.split()
    others = [key for key in weights if key.partition(".")[0] not in known]
    if others:
        raise DataError(f"its {name} policy has weights of its own, whose use is not in the zip: {first_few(others)}")
    return name


def _settings(entry: object) -> Settings:
    """Return the arguments of the policy, which the zip prints when it can; pickled ones are not read."""
    entry = entry if isinstance(entry, Mapping) else {}
    settings = {key: value for key, value in entry.items() if not key.startswith(":")}
    unknown = [key for key, value in settings.items() if key not in _KNOWN_ARGUMENTS and value is not None]
    if unknown:
        raise DataError(f"its policy has arguments that are not known here: {first_few(unknown)}")
    return settings


def _acting_weights(kind: _Kind, weights: Weights) -> Weights:
    acting = {name.removeprefix(kind.acting): value for name, value in weights.items() if name.startswith(kind.acting)}
    return acting if kind.acting else as_today(acting)


# --- settings ---------------------------------------------------------------------------------------------------


def _activation(settings: Settings, default: str) -> str:
    text = settings.get("activation_fn")
    if text is None:
        return default
    named = re.fullmatch(r"<class 'torch\.nn\.modules\.activation\.(\w+)'>", str(text))
    if named is None or named[1] not in _ACTIVATIONS:
        raise DataError(f"its activation function is {str(text)[:100]}; known are {', '.join(_ACTIVATIONS)}")
    return _ACTIVATIONS[named[1]]


def _features(settings: Settings, weights: Weights, *, is_dict: bool) -> dict[str, Any]:
    """Tell the features extractor: named in the settings, else shown by its weights and the kind of observation."""
    _require_known_extractor(settings)
    image = next(
        (name for name in weights if re.fullmatch(r"features_extractor\.(.+\.)?linear\.0\.weight", name)), None
    )
    features_dim = None if image is None else matrix_shape(image, weights[image])[0]
    if is_dict:
        return {"features": "combined", "features_dim": features_dim}
    return {"features": "flatten"} if image is None else {"features": "nature-cnn", "features_dim": features_dim}


def _require_known_extractor(settings: Settings) -> None:
    text, options = settings.get("features_extractor_class"), settings.get("features_extractor_kwargs") or {}
    named = re.fullmatch(r"<class 'stable_baselines3\.common\.torch_layers\.(\w+)'>", str(text))
    if text is not None and (named is None or named[1] not in _EXTRACTORS):
        raise DataError(
            f"its features extractor is {str(text)[:100]}, whose code is not in the zip; known are "
            f"{', '.join(_EXTRACTORS)}"
        )
    unknown = sorted(set(options) - _EXTRACTOR_ARGUMENTS) if isinstance(options, Mapping) else [str(options)]
    if unknown:
        raise DataError(f"its features extractor has arguments that are not known here: {first_few(unknown)}")


def _two_heads(settings: Settings, weights: Weights, layers: list[tuple[int, int]]) -> dict[str, Any]:
    values = layers_of(weights, "mlp_extractor.value_net.")
    if layers and values and layers[0][0] != values[0][0]:
        raise DataError(f"its actor takes {layers[0][0]} features and its critic {values[0][0]}")
    log_std, n_actions = weights.get("log_std"), weights["action_net.weight"].shape[0]
    use_sde = log_std is not None and log_std.ndim == 2
    return {
        "net_arch": {"pi": [n_out for _, n_out in layers], "vf": [n_out for _, n_out in values]},
        "share_features_extractor": settings.get("share_features_extractor", True),
        "use_sde": use_sde,
        "full_std": not use_sde or log_std.shape[1] == n_actions,  # type: ignore[union-attr]  # use_sde says so
        "use_expln": settings.get("use_expln", False),
        "squash_output": settings.get("squash_output", False),
    }


def _squashed_noise(settings: Settings, weights: Weights) -> dict[str, Any]:
    log_std = weights.get("log_std")
    if log_std is None:
        return {}
    clipped = "mu.0.weight" in weights
    n_actions = weights["mu.0.weight" if clipped else "mu.weight"].shape[0]
    return {
        "use_sde": True,
        "full_std": log_std.ndim == 2 and log_std.shape[1] == n_actions,
        "use_expln": settings.get("use_expln", False),
        "clip_mean": settings.get("clip_mean", 2.0) if clipped else 0.0,
    }


def _lstm(settings: Settings, weights: Weights, n_inner: int) -> tuple[dict[str, Any], int]:
    """Return the LSTM, and how many features it takes."""
    others = set(settings.get("lstm_kwargs") or ()) - {"dropout"}  # which nothing does once training is over
    if others:
        raise DataError(f"its LSTM has arguments that are not known here: {first_few(sorted(others))}")
    name = "lstm_actor.weight_ih_l"
    n_hidden = matrix_shape("lstm_actor.weight_hh_l0", weights["lstm_actor.weight_hh_l0"])[1]
    shapes = [matrix_shape(key, weights[key]) for key in weights if key.startswith(name)]
    n_features = matrix_shape(f"{name}0", weights[f"{name}0"])[1]
    expected = [(4 * n_hidden, n_features)] + [(4 * n_hidden, n_hidden)] * (len(shapes) - 1)
    if sorted(shapes) != sorted(expected) or n_inner != n_hidden:
        raise DataError(f"its LSTM of {n_hidden} units does not fit the layers around it")
    without = "linear" if "critic.weight" in weights else "shared"
    critic = "lstm" if "lstm_critic.weight_ih_l0" in weights else without
    return {"hidden_size": n_hidden, "n_layers": len(shapes), "critic": critic}, n_features
