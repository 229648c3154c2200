"""``eval_policy``: an evaluation in one call, under the name and arguments of the reference library."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mimetic.config import EnvConfig, EvaluationConfig, validated
from mimetic.errors import ConfigError, TargetExistsError
from mimetic.evaluate.evaluation import evaluate, evaluate_venv
from mimetic.rollout.stepping import AnyVectorEnv
from mimetic.rundir import RunDir

EVALUATION = "evaluation.json"


def eval_policy(
    policy: Any,
    venv_or_env_id: AnyVectorEnv | EnvConfig | str,
    eval_n_timesteps: int | None = None,
    eval_n_episodes: int | None = None,
    render: bool = False,
    render_fps: float = 60,
    videos: bool = False,
    video_kwargs: Mapping[str, Any] | None = None,
    *,
    rng: np.random.Generator,
    log_dir: str | os.PathLike[str] | None = None,
    n_envs: int = 1,
    env_kwargs: Mapping[str, Any] | None = None,
    deterministic: bool = True,
    reward_type: str | None = None,
    reward_path: str | os.PathLike[str] | None = None,
    rollout_save_path: str | os.PathLike[str] | None = None,
    explore_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Evaluate a policy and return its statistics, with one object for each episode under ``episodes``.

    Args:
        policy: a stable-baselines3 algorithm or policy, a callable ``(obs, state, episode_start) -> (acts, state)``,
            None (uniformly random), or a SPEC.
        venv_or_env_id: the environment's id, which gives exact, repeatable episodes; or a vectorised environment of
            your own, stable-baselines3's kind or gymnasium's, whose episodes have the seed None.
        eval_n_timesteps: play whole episodes until they have at least so many steps.
        eval_n_episodes: play at least so many episodes; exactly so many when nothing else is given.
        render: draw the environments into a window.
        render_fps: steps per second in it; zero or less: as fast as it goes.
        videos: film the counted episodes into ``log_dir/videos``.
        video_kwargs: ``single_video`` (the default is True: one file per environment), or the settings of the
            component ``video``.
        rng: where the seed comes from.
        log_dir: a folder for ``evaluation.json`` and videos; nothing is written without it.
        n_envs: how many environments are stepped together.
        env_kwargs: arguments of the environment's constructor.
        deterministic: take the likeliest actions; the reference library draws them.
        reward_type: a reward component that pays instead of the environment, whose own return stays in ``env_return``.
        reward_path: the component's option ``path``.
        rollout_save_path: save the counted episodes here, raw; ``{log_dir}/`` in front stands for that folder.
        explore_kwargs: the settings of the component ``switching``, or with ``name`` of another of its kind.

    Raises:
        ConfigError: (a ValueError) neither an amount of timesteps nor of episodes is given, or settings are wrong.
    """
    if eval_n_timesteps is None and eval_n_episodes is None:
        raise ConfigError("an evaluation needs an end: give eval_n_timesteps, eval_n_episodes or both")
    folder = None if log_dir is None else Path(log_dir).absolute()
    settings = validated(
        EvaluationConfig,
        {
            "n_episodes": eval_n_episodes,
            "n_timesteps": eval_n_timesteps,
            "n_envs": n_envs,
            "deterministic": deterministic,
            "render": render,
            "render_fps": render_fps,
            "videos": _videos(videos, video_kwargs),
            "reward": _reward(reward_type, reward_path),
            "explore": None if explore_kwargs is None else {"name": "switching", **explore_kwargs},
            "save_rollouts": _rollouts(rollout_save_path, folder),
        },
    )
    if folder is not None:
        if (folder / EVALUATION).exists():
            raise TargetExistsError(
                f"{folder / EVALUATION} exists already, and nothing is written over; choose another log_dir"
            )
        folder.mkdir(parents=True, exist_ok=True)
    seed = int(rng.integers(2**31))
    if not isinstance(venv_or_env_id, EnvConfig | str):
        if env_kwargs is not None or n_envs not in (1, venv_or_env_id.num_envs):
            raise ConfigError(
                "env_kwargs and n_envs are for environments that are built here, and a built one was given"
            )
        result = evaluate_venv(policy, venv_or_env_id, settings, seed=seed)
    else:
        result = evaluate(policy, env_of(venv_or_env_id, env_kwargs), settings, seed=seed, out=folder)
    document = result.as_dict()
    if folder is not None:
        RunDir(folder, made=False).write_json(EVALUATION, document)
    return document


def env_of(env: EnvConfig | str, kwargs: Mapping[str, Any] | None) -> EnvConfig:
    """Return what is built. Arguments may be any objects here: nothing is written down."""
    if isinstance(env, str):
        env = EnvConfig(id=env)
    return env if kwargs is None else env.model_copy(update={"kwargs": {**env.kwargs, **kwargs}})


def _videos(videos: bool, kwargs: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if not videos:
        return None
    options = dict(kwargs or {})
    single = options.pop("single_video", True)
    return {"mode": "one" if single else "episodes", **options}


def _reward(kind: str | None, path: str | os.PathLike[str] | None) -> Mapping[str, Any] | None:
    if kind is None:
        if path is not None:
            raise ConfigError("reward_path says nothing without reward_type, the reward component that reads it")
        return None
    return {"name": kind} if path is None else {"name": kind, "path": os.fspath(path)}


def _rollouts(path: str | os.PathLike[str] | None, folder: Path | None) -> Path | None:
    if path is None:
        return None
    text = os.fspath(path)
    if not text.startswith("{log_dir}/"):
        return Path(text).absolute()
    if folder is None:
        raise ConfigError(f"rollout_save_path is {text!r}, and log_dir is not given")
    return folder / text.removeprefix("{log_dir}/")
