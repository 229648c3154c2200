"""How does a zip become a policy here? Read it, see what it holds, compare spaces, build, fill; then it acts."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.preprocessing import is_image_space

from mimetic.errors import DataError, SpaceError
from mimetic.policies import PolicyOrigin, codec_of, remember_origin
from mimetic.policies.sb3_policies import describe_sb3_policy
from mimetic.seeding import torch_stream
from mimetic.spaces import refuse_unsupported
from mimetic_policies.sb3.archive import Archive, read_archive
from mimetic_policies.sb3.config import Sb3NetworkConfig, VecNormalizeConfig
from mimetic_policies.sb3.evidence import refuse_without_statistics
from mimetic_policies.sb3.networks import build_network, image_inputs, n_features, require_spaces
from mimetic_policies.sb3.policy import Normalization, Sb3Policy
from mimetic_policies.sb3.recipes import Recipe, recipe_of
from mimetic_policies.sb3.space_text import SpaceText, difference, read_space
from mimetic_policies.sb3.statistics import Statistics, check_shapes, read_statistics

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic import PolicyContext
    from mimetic_policies.sb3.config import Sb3Config

NETWORK_COMPONENT = "sb3-network"
"""The component that rebuilds what is not a plain actor-critic."""


def build(config: Sb3Config, context: PolicyContext) -> BasePolicy:
    """Rebuild the policy of a zip: SB3's ActorCriticPolicy where it is one, which trains on, else an `Sb3Policy`.

    Raises:
        DataError: the zip or the statistics are damaged or hold something else, or statistics are missing.
        SpaceError: the policy was made for other observations or actions than these.
        MissingDependencyError: it needs sb3-contrib.
    """
    archive = read_archive(config.path)
    obs_text, action_text = (_stated_space(archive, role) for role in ("observation", "action"))
    recipe = recipe_of(archive, is_dict=obs_text.kind == "Dict")
    statistics = _statistics(config, archive, recipe, obs_text)

    observation_space = _observation_space(archive, obs_text, context.observation_space, statistics)
    found = difference(action_text, context.action_space, "action")
    _require_same(archive, "action", action_text, context.action_space, found)
    description = _with_statistics(recipe.config, statistics)
    seen_space = _seen_space(description, observation_space)
    require_spaces(description, seen_space, context.action_space)
    _require_sizes(archive, recipe, seen_space)

    policy = rebuild(description, dataclasses.replace(context, observation_space=observation_space))
    _fill(policy, archive, recipe, statistics)
    if isinstance(policy.network, ActorCriticPolicy) and description.kind == "actor-critic" and statistics is None:
        codec_of(policy.network)  # refuses what SB3's own policies do not know
        remember_origin(policy.network, describe_sb3_policy(policy.network))
        return policy.network
    remember_origin(policy, PolicyOrigin(NETWORK_COMPONENT, description.model_dump(mode="json")))
    return policy


def rebuild(config: Sb3NetworkConfig, context: PolicyContext) -> Sb3Policy:
    """Build the policy `sb3-network`, whose weights come from a zip or from a policy file."""
    space = context.observation_space
    refuse_unsupported(space, "observation")
    refuse_unsupported(context.action_space, "action")
    _require_keys(config, space)
    normalization = None if config.vecnormalize is None else Normalization(config.vecnormalize, space)
    with torch_stream(context.seed, "policy"):
        network = build_network(config, _seen_space(config, space), context.action_space)
    policy = Sb3Policy(config, network, space, normalization).to(context.device)
    policy.set_training_mode(False)
    return policy


# --- statistics -------------------------------------------------------------------------------------------------


def _statistics(config: Sb3Config, archive: Archive, recipe: Recipe, space: SpaceText) -> Statistics | None:
    """Return how observations are normalised, or None when they are not. Raises: DataError when nobody can tell."""
    if isinstance(config.vecnormalize, Path):
        statistics = read_statistics(config.vecnormalize)
        return statistics if statistics.moments else None
    if config.vecnormalize is None:
        on_policy = recipe.config.kind in ("actor-critic", "recurrent-ppo")
        refuse_without_statistics(archive, space, on_policy=on_policy)
    return None


def _with_statistics(config: Sb3NetworkConfig, statistics: Statistics | None) -> Sb3NetworkConfig:
    if statistics is None:
        return config
    keys = None if "" in statistics.moments else tuple(statistics.moments)
    normalized = VecNormalizeConfig(clip_obs=statistics.clip_obs, epsilon=statistics.epsilon, keys=keys)
    return config.model_copy(update={"vecnormalize": normalized})


# --- spaces -----------------------------------------------------------------------------------------------------


def _stated_space(archive: Archive, role: str) -> SpaceText:
    try:
        return read_space(archive.data.get(f"{role}_space"))
    except DataError as error:
        raise DataError(f"{archive.path}: its {role} space {error}") from error


def _observation_space(
    archive: Archive, text: SpaceText, space: gym.Space[Any], statistics: Statistics | None
) -> gym.Space[Any]:
    """Return the environment's observations as the policy takes them. Raises: SpaceError, it was made for others."""
    normalized = frozenset(statistics.moments) if statistics else frozenset[str]()
    if statistics is not None:
        check_shapes(statistics, space)
    as_learned = _as_learned(text, space, normalized)
    found = difference(text, as_learned, "observation", any_dtype=normalized)
    _require_same(archive, "observation", text, space, found)
    return as_learned


def _as_learned(text: SpaceText, space: gym.Space[Any], normalized: frozenset[str], key: str = "") -> gym.Space[Any]:
    """Turn images channels first where SB3 did, and order a Dict as the policy knew it; the bounds stay the space's."""
    if text.parts is not None and isinstance(space, spaces.Dict) and set(text.parts) == set(space.spaces):
        parts = text.parts.items()
        return spaces.Dict([(name, _as_learned(part, space[name], normalized, name)) for name, part in parts])
    if key in normalized or not isinstance(space, spaces.Box) or len(space.shape) != 3 or not is_image_space(space):
        return space
    height, width, channels = space.shape
    if text.shape != (channels, height, width) or text.shape == space.shape:
        return space
    low, high = (bound.transpose(2, 0, 1) for bound in (space.low, space.high))
    return spaces.Box(low, high, dtype=np.uint8)


def _require_keys(config: Sb3NetworkConfig, space: gym.Space[Any]) -> None:
    keys = config.vecnormalize.keys if config.vecnormalize is not None else None
    known = list(space.spaces) if isinstance(space, spaces.Dict) else None
    if config.vecnormalize is not None and ((keys is None) != (known is None) or set(keys or ()) - set(known or ())):
        raise SpaceError(f"vecnormalize.keys is {keys}, which does not fit observations of {space}")


def _seen_space(config: Sb3NetworkConfig, space: gym.Space[Any]) -> gym.Space[Any]:
    """Return what the network sees: as VecNormalize has it, normalised images are no images any more."""
    normalized = config.vecnormalize
    if normalized is None:
        return space
    if normalized.keys is None:
        return _normal_space(space, normalized.clip_obs)
    assert isinstance(space, spaces.Dict)
    keys = normalized.keys
    parts = space.spaces.items()
    return spaces.Dict(
        [(key, _normal_space(part, normalized.clip_obs) if key in keys else part) for key, part in parts]
    )


def _normal_space(space: gym.Space[Any], clip_obs: float) -> gym.Space[Any]:
    return spaces.Box(-clip_obs, clip_obs, space.shape, np.float32) if is_image_space(space) else space


def _require_same(archive: Archive, role: str, text: SpaceText, space: gym.Space[Any], found: str | None) -> None:
    if found is not None:
        raise SpaceError(f"{archive.path}: made for the {role} space {text}, not for {space}: {found}")


# --- weights ----------------------------------------------------------------------------------------------------


def _require_sizes(archive: Archive, recipe: Recipe, space: gym.Space[Any]) -> None:
    """Compare what the first layers take with what observations become, before anything is built of that size."""
    expected = n_features(recipe.config, space)
    if recipe.n_features != expected:
        raise SpaceError(
            f"{archive.path}: its network takes {recipe.n_features} numbers, and observations of {space} become "
            f"{expected}: it was made for others"
        )
    for name, n_inputs in image_inputs(recipe.config, space).items():
        shape = tuple(recipe.weights[name].shape) if name in recipe.weights else ()
        if len(shape) != 2 or shape[1] != n_inputs:
            raise SpaceError(
                f"{archive.path}: its weight {name!r} has shape {shape}; images of {space} need {n_inputs}"
            )


def _fill(policy: Sb3Policy, archive: Archive, recipe: Recipe, statistics: Statistics | None) -> None:
    try:
        policy.network.load_state_dict(recipe.weights)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise DataError(
            f"{archive.path}: its weights are not those of the {recipe.config.kind} policy that it describes: {reason}"
        ) from error
    if statistics is not None and policy.normalization is not None:
        policy.normalization.load(statistics.moments)
