"""How are trajectories collected? At least as many as asked, without a bias towards short ones."""

import itertools
import logging
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnv

from mimetic.envs import DEFAULT_MAX_STEPS
from mimetic.errors import ConfigError, EnvError
from mimetic.policies import Actor, as_actor
from mimetic.rollout.isolation import undisturbed
from mimetic.rollout.running import RunningEpisodes
from mimetic.rollout.statistics import rollout_stats
from mimetic.rollout.stepping import (
    AnyVectorEnv,
    Step,
    VectorSteps,
    VenvSteps,
    Where,
    normalizes_observations,
    steps_of,
)
from mimetic.rollout.stopping import StopCondition, make_min_timesteps
from mimetic.rollout.transitions import flatten_trajectories_with_rew, unwrap_traj
from mimetic.rollout.wrappers import RolloutInfoWrapper
from mimetic.seeding import derive_seed
from mimetic.types import Trajectory, TransitionsWithRew

AnyPolicy = Any
"""An SB3 algorithm or policy, an Actor, a callable ``(obs, state, episode_start) -> (acts, state)``, or None."""

_LOG = logging.getLogger(__name__)


def policy_to_callable(
    policy: AnyPolicy, venv: AnyVectorEnv, deterministic_policy: bool = False, *, seed: int = 0
) -> Actor:
    """Return what acts for ``policy`` in ``venv``: ``(obs, state, episode_start) -> (acts, state)``.

    None acts uniformly at random.

    Raises:
        ConfigError: (a ValueError) a callable is asked to be deterministic, which only it can know.
        SpaceError: (a ValueError) The policy was made for other spaces.
    """
    steps = steps_of(venv)
    own_ways = callable(policy) and not isinstance(policy, (Actor, BaseAlgorithm, BasePolicy))
    if deterministic_policy and own_ways:
        raise ConfigError("deterministic_policy=True says nothing to a callable: let it return the actions you want")
    return as_actor(
        policy,
        observation_space=steps.observation_space,
        action_space=steps.action_space,
        n_envs=steps.n_envs,
        deterministic=deterministic_policy,
        seed=seed,
        observations_normalized=normalizes_observations(venv),
    )


def generate_trajectories(
    policy: AnyPolicy,
    venv: AnyVectorEnv,
    sample_until: StopCondition,
    rng: np.random.Generator,
    *,
    deterministic_policy: bool = False,
    max_steps: int = DEFAULT_MAX_STEPS,
) -> list[Trajectory]:
    """Roll ``policy`` out until ``sample_until`` holds, and every episode that was running then is over.

    An environment retires at the end of the episode in which the condition comes true. So short episodes are not
    preferred, and there may be more trajectories than asked. Their order is shuffled by ``rng``. Global random streams
    and the policy's training mode stay as they were.

    Args:
        policy: what acts; None acts uniformly at random.
        venv: where: stable-baselines3's kind, or gymnasium's, whichever way it resets itself, which then begins from
            a seed of ``rng`` and gives trajectories without infos. It is reset first.
        sample_until: takes the finished trajectories, says whether they are enough.
        rng: where seeds and the order come from.
        deterministic_policy: take the likeliest action instead of drawing one.
        max_steps: an episode that reaches so many steps is cut into a truncated trajectory, with a warning.
    """
    if max_steps < 1:
        raise ConfigError(f"max_steps is {max_steps}; expected at least 1")
    seed = int(rng.integers(2**31))
    with undisturbed(policy, seed):
        actor = policy_to_callable(policy, venv, deterministic_policy, seed=seed)
        trajectories = _collect(actor, steps_of(venv), sample_until, seed, max_steps)
    order = rng.permutation(len(trajectories))
    return [trajectories[index] for index in order]


def rollout(
    policy: AnyPolicy,
    venv: AnyVectorEnv,
    sample_until: StopCondition,
    rng: np.random.Generator,
    *,
    unwrap: bool = True,
    exclude_infos: bool = True,
    verbose: bool = True,
    **kwargs: Any,
) -> list[Trajectory]:
    """Collect as :func:`generate_trajectories`, and give the environments' raw observations and rewards.

    Args:
        policy: what acts.
        venv: where; for ``unwrap`` each environment has a :class:`RolloutInfoWrapper` innermost.
        sample_until: when it is enough.
        rng: where seeds and the order come from.
        unwrap: replace observations and rewards by the raw ones.
        exclude_infos: leave the infos out, which are large.
        verbose: log count, returns and lengths.
        **kwargs: for :func:`generate_trajectories`.

    Raises:
        EnvError: ``unwrap`` is asked, and an environment has no :class:`RolloutInfoWrapper`.
    """
    if unwrap and not (isinstance(venv, VecEnv) and all(venv.env_is_wrapped(RolloutInfoWrapper))):
        raise EnvError(
            "raw observations are known only where each environment is wrapped in mimetic.rollout.RolloutInfoWrapper: "
            "wrap them (make_vec_env takes post_wrappers), or pass unwrap=False"
        )
    trajectories = generate_trajectories(policy, venv, sample_until, rng, **kwargs)
    if verbose:
        _LOG.info("rollout: %s", rollout_stats(trajectories))
    if unwrap:
        trajectories = [unwrap_traj(trajectory) for trajectory in trajectories]
    if exclude_infos:
        trajectories = [replace(trajectory, infos=None) for trajectory in trajectories]
    return trajectories


def generate_transitions(
    policy: AnyPolicy,
    venv: AnyVectorEnv,
    n_timesteps: int,
    rng: np.random.Generator,
    *,
    truncate: bool = True,
    **kwargs: Any,
) -> TransitionsWithRew:
    """Collect at least ``n_timesteps`` steps of whole episodes; exactly the first so many with ``truncate``."""
    trajectories = generate_trajectories(policy, venv, make_min_timesteps(n_timesteps), rng, **kwargs)
    transitions = flatten_trajectories_with_rew(trajectories)
    return transitions[:n_timesteps] if truncate else transitions


def _collect(
    actor: Actor, steps: VectorSteps | VenvSteps, sample_until: StopCondition, seed: int, max_steps: int
) -> list[Trajectory]:
    trajectories: list[Trajectory] = []
    obs: Any = steps.reset(derive_seed(seed, "environments"))
    state = None
    if isinstance(obs, tuple):
        raise EnvError("Tuple observations are not supported: wrap the environment so that it gives an array or a Dict")
    running = RunningEpisodes(steps, obs, max_steps, record=True)
    episode_seeds = (derive_seed(seed, "episode", number) for number in itertools.count())
    active = set(range(steps.n_envs))
    begun: Where | None = Where(np.ones(steps.n_envs, bool), sorted(active))
    warned = False
    while active:
        for index in () if begun is None else begun.numbers:
            actor.begin_episode(index, next(episode_seeds))
        acts, state = actor(obs, state, np.zeros(steps.n_envs, bool) if begun is None else begun.mask)
        step = _marked(steps.step(acts), actor.last_infos)
        over = running.add(acts, step, infos=isinstance(steps, VenvSteps))
        obs, begun = step.obs, step.begun
        if not over and begun is None:
            continue
        for index in over:
            if not warned and (step.dones is None or not step.dones.mask[index]):
                warned = True
                warnings.warn(ceiling_warning(index, max_steps), stacklevel=3)
            trajectories.append(running.finish(index, step))
        if over and sample_until(trajectories):
            active -= set(over)
            for index in over:
                running.leave(index)
        running.go_on(over, step)
    _LOG.info("collected %d trajectories, %d steps", len(trajectories), sum(map(len, trajectories)))
    return trajectories


def _marked(step: Step, marks: Mapping[str, np.ndarray]) -> Step:
    """Put what an actor noted about its actions into the infos of those environments that have infos of their own."""
    if not marks or isinstance(step.infos, Mapping):
        return step
    noted = [{key: column[index] for key, column in marks.items()} for index in range(len(step.infos))]
    return step._replace(infos=[{**info, **more} for info, more in zip(step.infos, noted, strict=True)])


def ceiling_warning(index: int, max_steps: int) -> str:
    """Say that an episode was cut because it did not end."""
    return (
        f"environment {index} made {max_steps:,} steps without an end, so its episode was cut and is marked truncated; "
        "max_steps sets the limit"
    )
