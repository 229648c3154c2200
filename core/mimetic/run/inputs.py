"""Which demonstrations does a run learn from, and for which spaces?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.config import RunConfig
from mimetic.envs import spaces_of
from mimetic.errors import ConfigError, Fault, SpaceError
from mimetic.hookspecs import DataSourceContext
from mimetic.policies import MimeticPolicy
from mimetic.spaces import space_difference
from mimetic.types import Demonstrations, as_demonstrations, check_demonstrations, concatenate_demonstrations


@dataclass(frozen=True, slots=True, eq=False)
class Spaces:
    """The spaces that a policy is trained for."""

    observation: gym.Space[Any]
    action: gym.Space[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What the demonstrations of a run are."""

    demonstrations: Demonstrations  # of all sources, checked
    sources: tuple[tuple[str, Demonstrations], ...]  # each one by its component's name
    spaces: Spaces


def gather(config: RunConfig, base_dir: Path) -> Inputs:
    """Build every source of demonstrations, compare their spaces with the environment's, and join them.

    Raises:
        SpaceError: two of them do not fit together.
        ConfigError: neither an environment nor a source states the spaces.
    """
    of_env = None if config.env is None else Spaces(*spaces_of(config.env))
    context = DataSourceContext(
        observation_space=of_env.observation if of_env else None,
        action_space=of_env.action if of_env else None,
        base_dir=base_dir,
    )
    sources = tuple((choice.name, as_demonstrations(choice.build(context))) for choice in config.demonstrations)
    spaces = agreed_spaces(of_env, config.env.id if config.env else "", sources)
    joined = concatenate_demonstrations([each for _, each in sources])
    return Inputs(check_demonstrations(joined, spaces.observation, spaces.action), sources, spaces)


def agreed_spaces(of_env: Spaces | None, env_id: str, sources: Sequence[tuple[str, Demonstrations]]) -> Spaces:
    """Return the spaces that the environment and every source that states some agree on.

    What bounds an observation differs between releases of one environment, and nothing is trained by it.
    """
    stated: list[tuple[str, gym.Space[Any] | None, gym.Space[Any] | None]] = []
    if of_env is not None:
        stated.append((f"environment {env_id!r}", of_env.observation, of_env.action))
    for index, (name, each) in enumerate(sources):
        stated.append((f"demonstrations.{index} ({name})", each.observation_space, each.action_space))
    return Spaces(
        _agreed("observation", [(who, space) for who, space, _ in stated if space is not None], bounds=False),
        _agreed("action", [(who, space) for who, _, space in stated if space is not None], bounds=True),
    )


def check_policy(name: str, policy: object, spaces: Spaces) -> None:
    """Raise, before a run writes anything, unless the policy that a component built can learn in these spaces.

    Raises:
        ConfigError: it acts, and has nothing that could be trained.
        SpaceError: its images have their channels on the other side, and it does not turn them itself.
    """
    if not isinstance(policy, ActorCriticPolicy):
        what = f"{name!r} built a {type(policy).__name__}, which acts but cannot be trained"
        raise ConfigError(Fault(f"{what}; expected an ActorCriticPolicy", "policy"))
    difference = space_difference(policy.observation_space, spaces.observation, bounds=False)
    if difference is not None and not isinstance(policy, MimeticPolicy):
        raise SpaceError(f"policy {name!r} takes other observations than the demonstrations hold: {difference}")


def _agreed(role: str, stated: Sequence[tuple[str, gym.Space[Any]]], *, bounds: bool) -> gym.Space[Any]:
    if not stated:
        raise ConfigError(
            Fault(f"is missing, and no source of demonstrations states its {role} space: name the environment", "env")
        )
    first, space = stated[0]
    for who, other in stated[1:]:
        difference = space_difference(space, other, bounds=bounds)
        if difference is not None:
            raise SpaceError(f"{first} and {who} have different {role} spaces: {difference}")
    return space
