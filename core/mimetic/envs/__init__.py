"""How do environments come to be: one, or several as one, and what is known of the episodes they play?

``construction`` builds one environment, ``vectors`` and ``processes`` several; ``own_reward`` is the innermost
wrapper of each, ``episodes`` the outermost one of an exact evaluation; ``nesting`` flattens nested Dict
observations, ``rewards`` replaces the reward.
"""

from mimetic.envs.construction import EnvFactory, OuterWrapper, make_env, require_render_mode, spaces_of
from mimetic.envs.episodes import (
    DEFAULT_MAX_STEPS,
    PLAYED,
    EpisodeObserver,
    EpisodePlan,
    EpisodeRecord,
    PlannedEpisodes,
    PlayedEpisode,
    success_in,
    wrappers_of,
)
from mimetic.envs.nesting import FlatKeys, flat_space
from mimetic.envs.own_reward import OwnReward, RawEpisode
from mimetic.envs.processes import ProcessVecEnv
from mimetic.envs.rewards import RewardFn, RewardVecEnvWrapper, with_last_observations
from mimetic.envs.vectors import LocalVecEnv, build_vec_env, make_vec_env

__all__ = [
    "DEFAULT_MAX_STEPS",
    "PLAYED",
    "EnvFactory",
    "EpisodeObserver",
    "EpisodePlan",
    "EpisodeRecord",
    "FlatKeys",
    "LocalVecEnv",
    "OuterWrapper",
    "OwnReward",
    "PlannedEpisodes",
    "PlayedEpisode",
    "ProcessVecEnv",
    "RawEpisode",
    "RewardFn",
    "RewardVecEnvWrapper",
    "build_vec_env",
    "flat_space",
    "make_env",
    "make_vec_env",
    "require_render_mode",
    "spaces_of",
    "success_in",
    "with_last_observations",
    "wrappers_of",
]
