"""What is put around environments and policy for an evaluation?"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
from stable_baselines3.common.vec_env import VecEnv

from mimetic.config import Choice, EnvConfig, EvaluationConfig
from mimetic.envs import EpisodePlan, PlannedEpisodes, RewardVecEnvWrapper, build_vec_env
from mimetic.errors import ComponentFailedError, ConfigError, EnvError
from mimetic.evaluate.lanes import Lanes
from mimetic.evaluate.rollouts import refuse_existing
from mimetic.hookspecs import RewardContext, WrapperContext
from mimetic.plugins import registry
from mimetic.policies import Actor, as_actor
from mimetic.rollout import RolloutInfoWrapper
from mimetic.rollout.stepping import AnyVectorEnv
from mimetic.seeding import derive_seed

# --- the environments -------------------------------------------------------------------------------------------


def build_venv(env: EnvConfig, settings: EvaluationConfig, plan: EpisodePlan, out: Path | None) -> VecEnv:
    """Build the environments with everything that the settings put around them."""
    inner = tuple(choice for choice in settings.wrappers if _level(choice) == "env")
    outer: list[Callable[[gym.Env[Any, Any], int], gym.Env[Any, Any]]] = []
    if settings.videos is not None:
        outer.append(partial(_observed, choice=settings.videos, plan=plan, out=out))
    outer.append(partial(_planned, plan=plan))
    venv = build_vec_env(
        env.model_copy(update={"wrappers": (*env.wrappers, *inner)}),
        n_envs=plan.n_envs,
        seed=derive_seed(plan.seed, "environments"),
        processes=settings.processes,
        render_mode="rgb_array" if settings.videos is not None or settings.render else None,
        record=settings.save_rollouts is not None,
        outer=outer,
    )
    return put_around(venv, settings, plan.seed, out)


def put_around(venv: VecEnv, settings: EvaluationConfig, seed: int, out: Path | None) -> VecEnv:
    """Put venv-level wrappers, the reward and the window around ``venv``; close it when one cannot be made."""
    try:
        for choice in settings.wrappers:
            if _level(choice) == "venv":
                venv = choice.build(_wrapper_context(venv, venv, derive_seed(seed, f"wrapper {choice.name}"), out))
        if settings.reward is not None:
            context = RewardContext(
                observation_space=venv.observation_space, action_space=venv.action_space, base_dir=Path.cwd()
            )
            venv = RewardVecEnvWrapper(venv, settings.reward.build(context), row_by_row=True)
        if settings.render:
            context_ = _wrapper_context(venv, venv, derive_seed(seed, "render"), out)
            venv = registry().build("wrapper", "render", {"fps": settings.render_fps}, context_)
    except BaseException:
        venv.close()
        raise
    return venv


def _planned(env: gym.Env[Any, Any], index: int, *, plan: EpisodePlan) -> gym.Env[Any, Any]:
    return PlannedEpisodes(env, plan, index)


def _observed(
    env: gym.Env[Any, Any], index: int, *, choice: Choice, plan: EpisodePlan, out: Path | None
) -> gym.Env[Any, Any]:
    observer: gym.Env[Any, Any] = choice.build(
        WrapperContext(
            wrapped=env,
            env_index=index,
            seed=derive_seed(plan.seed, choice.name),
            observation_space=env.observation_space,
            action_space=env.action_space,
            n_envs=plan.n_envs,
            run_dir=out,
        )
    )
    return observer


def _level(choice: Choice) -> str:
    level: str = registry().find("wrapper", choice.name).entry.level  # type: ignore[union-attr]  # a wrapper's entry
    return level


# --- the policy -------------------------------------------------------------------------------------------------


def build_actor(
    policy: Any,
    lanes: Lanes,
    settings: EvaluationConfig,
    *,
    seed: int,
    out: Path | None = None,
    device: str = "auto",
    normalized: bool = False,
) -> Actor:
    """Make an actor of ``policy``, with what explores around it; ``normalized``: the environments normalise for it."""
    if isinstance(policy, (str, Path, Choice)):
        from mimetic.storage import open_policy

        policy = open_policy(
            policy,
            observation_space=lanes.observation_space,
            action_space=lanes.action_space,
            device=device,
            seed=derive_seed(seed, "policy"),
            venv=lanes.venv,
        )
    actor = as_actor(
        policy,
        observation_space=lanes.observation_space,
        action_space=lanes.action_space,
        n_envs=lanes.n_envs,
        deterministic=settings.deterministic,
        exact=lanes.exact,
        seed=derive_seed(seed, "policy"),
        observations_normalized=normalized,
    )
    if settings.explore is None:
        return actor
    explorer = settings.explore.build(_wrapper_context(actor, lanes, derive_seed(seed, "explore"), out))
    if not isinstance(explorer, Actor):
        raise ComponentFailedError(
            f"wrapper {settings.explore.name!r} of level 'policy' gave a {type(explorer).__name__}, no mimetic.Actor"
        )
    return explorer


def _wrapper_context(wrapped: Any, lanes: VecEnv | Lanes, seed: int, out: Path | None) -> WrapperContext:
    return WrapperContext(
        wrapped=wrapped,
        env_index=0,
        seed=seed,
        observation_space=lanes.observation_space,
        action_space=lanes.action_space,
        n_envs=lanes.num_envs if isinstance(lanes, VecEnv) else lanes.n_envs,
        run_dir=out,
    )


# --- what can be refused before anything is built ---------------------------------------------------------------


def refuse_what_cannot_end_well(settings: EvaluationConfig, out: Path | None) -> None:
    """Refuse what would fail at the end, wherever the episodes are played.

    Raises:
        ConfigError: Videos have no folder.
        TargetExistsError: Rollouts would be written over something.
    """
    if settings.videos is not None and out is None:
        raise ConfigError("videos need a folder to lie in: name one (--out DIR, or log_dir)")
    if settings.save_rollouts is not None:
        refuse_existing(settings.save_rollouts)


def refuse_for_a_venv(settings: EvaluationConfig, venv: AnyVectorEnv) -> None:
    """Refuse what only environments that are built here can do.

    Raises:
        ConfigError: Something is asked that goes inside single environments.
        EnvError: They cannot be drawn.
    """
    if settings.videos is not None:
        raise ConfigError(
            "videos: these environments are built already, and a film of exactly the counted episodes is taken inside "
            "each; pass the environment's id instead, or film with a wrapper of your own"
        )
    inner = [choice.name for choice in settings.wrappers if _level(choice) == "env"]
    if inner:
        raise ConfigError(f"wrappers: {', '.join(inner)} go around single environments, and these are built already")
    if not isinstance(venv, VecEnv):
        _refuse_for_gymnasium_s(settings)
        return
    if settings.save_rollouts is not None and not all(venv.env_is_wrapped(RolloutInfoWrapper)):
        raise ConfigError(
            "save_rollouts: raw observations and rewards are known only where each environment is wrapped in "
            "mimetic.rollout.RolloutInfoWrapper; wrap them, or pass the environment's id instead"
        )
    if settings.render and venv.render_mode not in ("rgb_array", "human"):
        raise EnvError(
            f"render: the environments were built with render_mode={venv.render_mode!r} and cannot be shown; build "
            "them with render_mode='rgb_array', or pass the environment's id instead"
        )


def _refuse_for_gymnasium_s(settings: EvaluationConfig) -> None:
    asked = {"wrappers": settings.wrappers, "render": settings.render, "reward": settings.reward}
    refused = [name for name, value in asked.items() if value]
    if refused:
        raise ConfigError(
            f"{', '.join(refused)}: are put around stable-baselines3's kind of vectorised environment, and this is "
            "one of gymnasium's; pass the environment's id instead, or wrap it yourself"
        )
