"""How do environments come to be: one, or several as one, and what is known of the episodes they play?

``construction`` builds one environment, ``vectors`` and ``processes`` several; ``own_reward`` is the innermost
wrapper of each, ``episodes`` the outermost one of an exact evaluation; ``nesting`` flattens nested Dict
observations, ``rewards`` replaces the reward.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.envs.construction import (
        EnvFactory as EnvFactory,
        OuterWrapper as OuterWrapper,
        make_env as make_env,
        require_render_mode as require_render_mode,
        spaces_of as spaces_of,
    )
    from mimetic.envs.episodes import (
        DEFAULT_MAX_STEPS as DEFAULT_MAX_STEPS,
        PLAYED as PLAYED,
        EpisodeObserver as EpisodeObserver,
        EpisodePlan as EpisodePlan,
        EpisodeRecord as EpisodeRecord,
        PlannedEpisodes as PlannedEpisodes,
        PlayedEpisode as PlayedEpisode,
        success_in as success_in,
        wrappers_of as wrappers_of,
    )
    from mimetic.envs.nesting import (
        FlatKeys as FlatKeys,
        flat_space as flat_space,
    )
    from mimetic.envs.own_reward import (
        OwnReward as OwnReward,
        RawEpisode as RawEpisode,
    )
    from mimetic.envs.processes import (
        ProcessVecEnv as ProcessVecEnv,
    )
    from mimetic.envs.rewards import (
        RewardFn as RewardFn,
        RewardVecEnvWrapper as RewardVecEnvWrapper,
        with_last_observations as with_last_observations,
    )
    from mimetic.envs.vectors import (
        LocalVecEnv as LocalVecEnv,
        build_vec_env as build_vec_env,
        make_vec_env as make_vec_env,
    )

_MODULE_OF = {
    "DEFAULT_MAX_STEPS": "episodes",
    "EnvFactory": "construction",
    "EpisodeObserver": "episodes",
    "EpisodePlan": "episodes",
    "EpisodeRecord": "episodes",
    "FlatKeys": "nesting",
    "LocalVecEnv": "vectors",
    "OuterWrapper": "construction",
    "OwnReward": "own_reward",
    "PLAYED": "episodes",
    "PlannedEpisodes": "episodes",
    "PlayedEpisode": "episodes",
    "ProcessVecEnv": "processes",
    "RawEpisode": "own_reward",
    "RewardFn": "rewards",
    "RewardVecEnvWrapper": "rewards",
    "build_vec_env": "vectors",
    "flat_space": "nesting",
    "make_env": "construction",
    "make_vec_env": "vectors",
    "require_render_mode": "construction",
    "spaces_of": "construction",
    "success_in": "episodes",
    "with_last_observations": "rewards",
    "wrappers_of": "episodes",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic.envs' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.envs.{_MODULE_OF[name]}"), name)
