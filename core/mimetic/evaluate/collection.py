"""How does what a policy does become demonstrations? Exact episodes, each on its way to the disk when it is over."""

import os
import warnings
from array import array
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mimetic.config import Choice, EnvConfig, EvaluationConfig, validated
from mimetic.envs import DEFAULT_MAX_STEPS
from mimetic.errors import ConfigError, Fault, TargetExistsError
from mimetic.evaluate.call import env_of
from mimetic.evaluate.evaluation import advance, open_lanes, plan_of, progress_bar, warn_of_cuts
from mimetic.evaluate.ledger import FinishedEpisode, Ledger
from mimetic.evaluate.playing import Interruption, play
from mimetic.evaluate.rollouts import SUFFIX, Rollouts
from mimetic.evaluate.step_log import amount_of
from mimetic.evaluate.surroundings import build_actor
from mimetic.rollout import undisturbed
from mimetic.storage import load_demonstrations
from mimetic.types import TrajectoryDataset

MUCH_IN_MEMORY = 2**30
"""Bytes of observations that may wait for one file without a word."""


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """What was collected, and where it lies."""

    path: Path
    returns: np.ndarray  # (E,) float64, each episode's: the environment's own rewards
    lengths: np.ndarray  # (E,) int64, each episode's transitions
    n_trajectories: int  # E, unless a wrapper resets the environment within an episode
    n_terminated: int  # episodes whose task ended; the clock or the step ceiling cut the others
    complete: bool  # there is as much as was asked for
    interrupted: bool  # Ctrl-C ended it

    @property
    def n_transitions(self) -> int:
        """All transitions."""
        return int(self.lengths.sum())

    def load(self) -> TrajectoryDataset:
        """Map what was collected into memory."""
        return load_demonstrations(self.path)


def collect(
    policy: Any,
    env: EnvConfig | str,
    path: str | os.PathLike[str],
    *,
    n_episodes: int | None = None,
    n_timesteps: int | None = None,
    seed: int,
    deterministic: bool = False,
    explore: Choice | Mapping[str, Any] | str | None = None,
    wrappers: Sequence[Choice | Mapping[str, Any] | str] = (),
    n_envs: int = 1,
    processes: bool = False,
    vectorization: Literal["sb3", "native"] = "sb3",
    max_steps: int = DEFAULT_MAX_STEPS,
    render: bool = False,
    render_fps: float = 60.0,
    device: str = "auto",
    progress: bool = False,
) -> Collection:
    """Roll a policy out and keep what it did as a native dataset.

    Episode k begins from a seed of its own, so equal arguments give equal bytes, for any ``n_envs``; a policy or an
    environment that draws elsewhere is the exception. The data are the environment's own: its observations and rewards
    before any wrapper, and the actions that it received. Ctrl-C keeps the episodes that are complete.

    Args:
        policy: a stable-baselines3 algorithm or policy, a callable ``(obs, state, episode_start) -> (acts, state)``,
            an Actor, None (uniform), or a SPEC.
        env: the environment's id, or its whole configuration.
        path: where the data go. One file when it ends in ``.safetensors``, which is held in memory until it is written;
            else a folder, to which files are added as episodes come.
        n_episodes: collect at least so many episodes; exactly so many when ``n_timesteps`` is None.
        n_timesteps: collect whole episodes until they have at least so many steps.
        seed: where every episode's seed comes from.
        deterministic: take the likeliest actions instead of drawing them.
        explore: a policy-level wrapper; what it did is in ``infos.explored``.
        wrappers: wrappers around one environment or all, the first innermost.
        n_envs: how many environments are stepped together.
        processes: give each environment a process.
        vectorization: ``native`` steps ``gymnasium.make_vec``'s environments, without seeds of their own.
        max_steps: an episode that reaches so many steps is cut and marked truncated, with a warning.
        render: show the environments in a window.
        render_fps: steps per second in it.
        device: where a policy that is named by a SPEC is put.
        progress: show a bar on standard error when that is a terminal.

    Raises:
        ConfigError: (a ValueError) the arguments do not fit together, or nothing can be written to ``path``.
        TargetExistsError: something lies at ``path``.
        EnvError: the environment cannot be built, rendered or stepped; what was complete before is kept.
        SpaceError: the policy does not fit the environment.
    """
    if n_episodes is None and n_timesteps is None:
        raise ConfigError("a collection needs an end: give n_episodes, n_timesteps or both")
    settings = validated(
        EvaluationConfig,
        {
            "n_episodes": n_episodes,
            "n_timesteps": n_timesteps,
            "n_envs": n_envs,
            "deterministic": deterministic,
            "max_steps": max_steps,
            "processes": processes,
            "vectorization": vectorization,
            "render": render,
            "render_fps": render_fps,
            "save_rollouts": Path(path).absolute(),
            "explore": explore,
            "wrappers": tuple(wrappers),
        },
    )
    return record(policy, env_of(env, None), settings, seed=seed, device=device, progress=progress)


def record(
    policy: Any,
    env: EnvConfig,
    settings: EvaluationConfig,
    *,
    seed: int,
    device: str = "auto",
    progress: bool = False,
) -> Collection:
    """Collect as :func:`collect` into ``settings.save_rollouts``; nothing of the episodes stays in memory."""
    assert settings.save_rollouts is not None
    path = settings.save_rollouts
    require_free(path)
    plan = plan_of(settings, seed)
    tally = _Tally(path)
    interruption = Interruption()
    with ExitStack() as stack:
        stack.enter_context(undisturbed(policy, seed))
        lanes, raw_spaces = open_lanes(env, settings, plan, None)
        stack.callback(lanes.close)
        actor = build_actor(policy, lanes, settings, seed=seed, device=device)
        stack.callback(_remove_if_empty, path)
        rollouts = stack.enter_context(Rollouts(path, *raw_spaces, at_once=actor.live))
        bar = stack.enter_context(progress_bar(plan, progress))

        def on_counted(episodes: list[FinishedEpisode]) -> None:
            rollouts.add(episodes)
            tally.add(episodes)
            advance(bar, episodes, plan)

        ledger = Ledger(plan.n_episodes, plan.n_timesteps, on_counted, keeps=False)
        stopped = play(lanes, actor, plan, ledger, interruption=interruption)
    warn_of_cuts(tally.cut, ledger.n_counted, plan)
    return tally.collection(complete=not stopped, interrupted=interruption.asked)


class _Tally:
    """What the collected episodes amount to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._returns, self._lengths = array("d"), array("q")
        self._n_trajectories = self._n_terminated = 0
        self._n_bytes: int | None = 0 if path.suffix == SUFFIX else None  # that wait in memory; None: nothing to say
        self.cut: list[int] = []

    def add(self, episodes: Sequence[FinishedEpisode]) -> None:
        """Count episodes."""
        amounts = [amount_of(each.trajectories) for each in episodes]
        self._returns.extend([each.env_return or 0.0 for each in episodes])
        self._lengths.extend([n_steps for n_steps, _ in amounts])
        self._n_trajectories += sum(len(each.trajectories) for each in episodes)
        self._n_terminated += sum(each.terminated for each in episodes)
        self.cut += [each.number for each in episodes if each.cut]
        if self._n_bytes is not None:
            self._n_bytes += sum(n_bytes for _, n_bytes in amounts)
            if self._n_bytes > MUCH_IN_MEMORY:
                self._n_bytes = None
                warnings.warn(
                    f"{self._path.name} is one file, so all of it waits in memory until the end, and that is more than "
                    f"{MUCH_IN_MEMORY / 2**30:g} GiB now; a path without {SUFFIX} becomes a folder that is written as "
                    "episodes come",
                    stacklevel=2,
                )

    def collection(self, *, complete: bool, interrupted: bool) -> Collection:
        """Say what there is."""
        return Collection(
            path=self._path,
            returns=np.array(self._returns, np.float64),
            lengths=np.array(self._lengths, np.int64),
            n_trajectories=self._n_trajectories,
            n_terminated=self._n_terminated,
            complete=complete,
            interrupted=interrupted,
        )


# --- the place --------------------------------------------------------------------------------------------------


def require_free(path: Path) -> None:
    """Refuse a place where something lies, or where nothing can be written, before anything is played.

    Raises:
        TargetExistsError: something is there; an empty folder is not, unless one file is to be written.
        ConfigError: it is no place to write to.
    """
    is_empty_folder = path.is_dir() and not any(path.iterdir())
    if os.path.lexists(path) and not (is_empty_folder and path.suffix != SUFFIX):
        raise TargetExistsError(f"{path} exists already, and nothing is written over; choose another path")
    above = next(each for each in path.parents if os.path.lexists(each))
    if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        reason = "may not be written to" if above.is_dir() else "is no folder"
        raise ConfigError(Fault(f"{path} cannot be made: {above} {reason}"))


def _remove_if_empty(path: Path) -> None:
    """Leave no empty folder behind, when no episode was complete."""
    if path.is_dir() and not any(path.iterdir()):
        path.rmdir()
