"""How well does a policy do? The way from a policy and an environment to statistics, in the order of events."""

import sys
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_wrapper
from tqdm import tqdm

from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.envs import EpisodePlan
from mimetic.errors import ConfigError
from mimetic.evaluate.lanes import Lanes
from mimetic.evaluate.ledger import FinishedEpisode, Ledger
from mimetic.evaluate.native import make_native
from mimetic.evaluate.planned_lanes import PlannedLanes
from mimetic.evaluate.playing import play
from mimetic.evaluate.result import EvaluationResult, statistics_of
from mimetic.evaluate.rollouts import Rollouts
from mimetic.evaluate.surroundings import (
    build_actor,
    build_venv,
    put_around,
    refuse_for_a_venv,
    refuse_what_cannot_end_well,
)
from mimetic.evaluate.vector_lanes import VectorLanes
from mimetic.evaluate.venv_lanes import Lent, VenvLanes
from mimetic.policies import Actor
from mimetic.rollout import undisturbed
from mimetic.rollout.stepping import AnyVectorEnv, normalizes_observations

if TYPE_CHECKING:
    from tqdm.std import tqdm as ProgressBar

UNTIL_STOPPED = sys.maxsize
"""As a number of episodes: until somebody closes the window, or Ctrl-C."""


def evaluate(
    policy: Any,
    env: EnvConfig,
    settings: EvaluationConfig,
    *,
    seed: int | None = None,
    out: Path | None = None,
    device: str = "auto",
    progress: bool = False,
) -> EvaluationResult:
    """Evaluate ``policy`` in environments that are built for it, exactly as many episodes as count.

    Episode k begins from a seed of its own, so the result does not depend on ``settings.n_envs``. Ctrl-C ends it
    early: the result then holds the episodes that are complete. Nothing global is changed: training mode and random
    streams are as before.

    Args:
        policy: a stable-baselines3 algorithm or policy, a callable, an Actor, None (uniform), or a SPEC.
        env: what is built, with nothing but ``render_mode`` added.
        settings: how.
        seed: where every episode's seed comes from, in place of ``settings.seed``.
        out: the folder for videos.
        device: where a policy that is named by a SPEC is put.
        progress: show a bar on standard error when that is a terminal.

    Raises:
        ConfigError: The settings do not fit together.
        EnvError: The environment cannot be built, rendered or stepped.
        SpaceError: The policy does not fit the environment.
    """
    seed = settings.seed if seed is None else seed
    plan = plan_of(settings, seed)
    refuse_what_cannot_end_well(settings, out)
    with ExitStack() as stack:
        stack.enter_context(undisturbed(policy, seed))
        lanes, raw_spaces = open_lanes(env, settings, plan, out)
        stack.callback(lanes.close)
        actor = build_actor(policy, lanes, settings, seed=seed, out=out, device=device)
        rollouts = _rollouts(settings, raw_spaces)
        return _evaluated(lanes, actor, plan, rollouts, progress)


def evaluate_venv(
    policy: Any, venv: AnyVectorEnv, settings: EvaluationConfig, *, seed: int, progress: bool = False
) -> EvaluationResult:
    """Evaluate ``policy`` in vectorised environments that the caller built, and which stay open.

    The prefix of episodes that counts is chosen as in :func:`evaluate`, but no episode has a seed of its own, so the
    records have none; gymnasium's environments are reset from one for all together. Normalising wrappers of
    stable-baselines3 count nothing meanwhile.

    Raises:
        ConfigError: The settings ask for something that only environments built here can do.
        EnvError: An environment never ends its episode.
    """
    refuse_for_a_venv(settings, venv)
    refuse_what_cannot_end_well(settings, None)
    plan = plan_of(settings, seed, n_envs=venv.num_envs)
    record = settings.save_rollouts is not None
    with ExitStack() as stack:
        stack.enter_context(undisturbed(policy, seed))
        if isinstance(venv, VecEnv):
            normalizer = unwrap_vec_wrapper(venv, VecNormalize)
            if isinstance(normalizer, VecNormalize):
                stack.callback(setattr, normalizer, "training", normalizer.training)
                normalizer.training = False
            wrapped = put_around(Lent(venv), settings, seed, None)
            lanes: Lanes = VenvLanes(wrapped, plan, record=record)
            raw_spaces = (venv.get_attr("raw_observation_space", [0])[0], venv.action_space) if record else None
        else:
            lanes = VectorLanes(venv, plan, record=record)
            raw_spaces = (lanes.observation_space, lanes.action_space)
        stack.callback(lanes.close)
        actor = build_actor(policy, lanes, settings, seed=seed, normalized=normalizes_observations(venv))
        return _evaluated(lanes, actor, plan, _rollouts(settings, raw_spaces), progress)


def _evaluated(
    lanes: Lanes, actor: Actor, plan: EpisodePlan, rollouts: Rollouts | None, progress: bool
) -> EvaluationResult:
    with rollouts or nullcontext(), progress_bar(plan, progress) as bar:

        def on_counted(episodes: list[FinishedEpisode]) -> None:
            advance(bar, episodes, plan)
            if rollouts is not None:
                rollouts.add(episodes)

        ledger = Ledger(plan.n_episodes, plan.n_timesteps, on_counted)
        interrupted = play(lanes, actor, plan, ledger)
        records = lanes.finish([each.record for each in ledger.counted])
    warn_of_cuts([each.number for each in ledger.counted if each.cut], len(ledger.counted), plan)
    return EvaluationResult(
        statistics=statistics_of(ledger.counted, plan.seed),
        episodes=tuple(records),
        trajectories=rollouts.saved() if rollouts else None,
        interrupted=interrupted,
    )


def plan_of(settings: EvaluationConfig, seed: int, n_envs: int | None = None) -> EpisodePlan:
    """Say which episodes are played where."""
    if settings.n_episodes is None and settings.n_timesteps is None:
        raise ConfigError("an evaluation needs an end: give n_episodes, n_timesteps or both")
    wanted = settings.n_envs
    if settings.n_timesteps is None and settings.n_episodes is not None:
        wanted = min(wanted, settings.n_episodes)  # more would have nothing to play
    return EpisodePlan(seed, n_envs or wanted, settings.n_episodes, settings.n_timesteps, settings.max_steps)


def open_lanes(
    env: EnvConfig, settings: EvaluationConfig, plan: EpisodePlan, out: Path | None
) -> tuple[Lanes, tuple[gym.Space[Any], gym.Space[Any]]]:
    """Build what is stepped; return it with the spaces of the raw observations and actions."""
    if settings.vectorization == "native":
        native = make_native(env, settings, plan.n_envs)
        spaces = (native.single_observation_space, native.single_action_space)
        record = settings.save_rollouts is not None
        return VectorLanes(native, plan, record=record, alike=True, close=native.close), spaces
    venv = build_venv(env, settings, plan, out)
    return PlannedLanes(venv, plan, record=settings.save_rollouts is not None), venv.get_attr("raw_spaces", [0])[0]


# --- what goes on beside ----------------------------------------------------------------------------------------


def _rollouts(settings: EvaluationConfig, raw_spaces: tuple[gym.Space[Any], gym.Space[Any]] | None) -> Rollouts | None:
    if settings.save_rollouts is None or raw_spaces is None:
        return None
    return Rollouts(settings.save_rollouts, *raw_spaces)


def progress_bar(plan: EpisodePlan, progress: bool) -> "AbstractContextManager[ProgressBar[Any]]":
    """Return a bar on standard error that counts episodes, or steps when there is no number of episodes."""
    in_steps = plan.n_episodes is None
    total = plan.n_timesteps if in_steps else plan.n_episodes
    return tqdm(
        total=None if total == UNTIL_STOPPED else total,
        unit="step" if in_steps else "episode",
        disable=None if progress else True,
        leave=False,
        dynamic_ncols=True,
    )


def advance(bar: "ProgressBar[Any]", episodes: Sequence[FinishedEpisode], plan: EpisodePlan) -> None:
    """Move the bar on by some episodes."""
    bar.update(sum(each.length for each in episodes) if plan.n_episodes is None else len(episodes))


def warn_of_cuts(cut: Sequence[int], n_counted: int, plan: EpisodePlan) -> None:
    """Warn of the episodes that the step ceiling cut."""
    if cut:
        warnings.warn(
            f"{len(cut)} of {n_counted} episodes made {plan.max_steps:,} steps without an end (the first is episode "
            f"{cut[0]}), so they were cut and are marked truncated; max_steps sets the limit",
            stacklevel=4,
        )
