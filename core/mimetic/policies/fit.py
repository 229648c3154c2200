"""Does a policy fit an environment? Its spaces must, but for bounds of observations and images that it transposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.preprocessing import is_image_space

from mimetic.errors import SpaceError
from mimetic.policies.actor_critic import MimeticPolicy
from mimetic.spaces import space_difference
from mimetic.spaces.comparison import is_channel_transpose

if TYPE_CHECKING:
    import gymnasium as gym
    from stable_baselines3.common.policies import BasePolicy


def require_fit(
    policy: BaseAlgorithm | BasePolicy,
    observation_space: gym.Space[Any] | None,
    action_space: gym.Space[Any] | None,
    name: str = "the policy",
) -> None:
    """Raise SpaceError, telling the difference, unless a policy can act in an environment with these spaces.

    Bounds of observations may differ, as they do between versions of one environment. A space that is None is not
    compared.
    """
    model = policy.policy if isinstance(policy, BaseAlgorithm) else policy
    differences = {
        "observation": (model.observation_space, observation_space, _observation_difference),
        "action": (model.action_space, action_space, lambda _, own, given: space_difference(own, given)),
    }
    for role, (own, given, difference_of) in differences.items():
        difference = None if given is None else difference_of(model, own, given)
        if difference is not None:
            spaces_of_both = f"its {role} space is {own}, the environment's {given}"
            raise SpaceError(f"{name} does not fit the environment: {spaces_of_both}: {difference}")


def _observation_difference(policy: BasePolicy, own: gym.Space[Any], given: gym.Space[Any]) -> str | None:
    """Say what keeps a policy from taking these observations; images that it transposes itself do not."""
    if isinstance(own, spaces.Dict) and isinstance(given, spaces.Dict) and set(own.spaces) == set(given.spaces):
        parts = (_observation_difference(policy, sub, given.spaces[key]) for key, sub in own.spaces.items())
        return next((difference for difference in parts if difference is not None), None)
    if is_channel_transpose(own, given) and _transposes(policy, own, given):
        return None
    return space_difference(own, given, bounds=False)


def _transposes(policy: BasePolicy, own: gym.Space[Any], given: gym.Space[Any]) -> bool:
    if isinstance(policy, MimeticPolicy):
        return policy.takes_transposed_images
    height, width, channels = given.shape or ()
    return is_image_space(own) and own.shape == (channels, height, width)
