"""Where can a plugin add something? This file is the answer: every hook, every entry, every context.

A plugin's ``plugin.py`` implements registration hooks. Each yields *entries*: plain, frozen descriptions whose
``config`` and ``factory`` are ``"module:attribute"`` strings, so that nothing heavy is imported before a run
needs it. When a component is built, its factory is called as ``build(config, context)``: ``config`` is an
instance of the entry's pydantic model, ``context`` the frozen dataclass of its kind below.

Fields are only ever added to entries and contexts, arguments only ever added to hooks (docs/stability.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pluggy

if TYPE_CHECKING:
    from pathlib import Path

    import gymnasium as gym
    import torch
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.vec_env import VecEnv

    from mimetic.algorithms import Report
    from mimetic.evaluate import EvaluationResult
    from mimetic.logs import HierarchicalLogger
    from mimetic.losses import WeightedTerm
    from mimetic.run import RunInfo, RunResult
    from mimetic.types import Demonstrations

PROJECT = "mimetic"
API_VERSION = (1, 0)
"""What this core offers. A plugin states the version that it needs as ``MIMETIC_API = (major, minor)``."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

Kind = Literal["algorithm", "policy", "loss", "data-source", "wrapper", "logger", "reward", "command"]


# --- entries: what a plugin offers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentEntry:
    """What every component of a plugin says about itself."""

    kind: ClassVar[Kind]

    name: str  # "mlp" or "vendor.name": lower case, digits, "-" and one "." after the vendor
    config: str  # "module:Model", a pydantic model; the module imports pydantic and `mimetic.config` alone
    factory: str  # "module:build", called as build(config, context)
    summary: str  # one line, without a full stop
    requires: tuple[str, ...] = ()  # distributions as in a requirements file, e.g. "tensorboard>=2.16"
    install: str = ""  # what to install when one is absent, e.g. "mimetic[tensorboard]"; default: the one absent


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmEntry(ComponentEntry):
    """A way of learning. The factory takes an :class:`AlgorithmContext`, gives a :class:`mimetic.Trainer`."""

    kind: ClassVar[Kind] = "algorithm"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEntry(ComponentEntry):
    """A policy, trainable or not. The factory takes a :class:`PolicyContext`."""

    kind: ClassVar[Kind] = "policy"
    trainable: bool = True  # False: can be evaluated and collected from, not trained (e.g. `random`)
    suffixes: tuple[str, ...] = ()  # a bare path that ends so stands for this component with `path` set to it


@dataclass(frozen=True, slots=True, kw_only=True)
class LossEntry(ComponentEntry):
    """A summand of the objective. The factory takes a :class:`LossContext`, gives ``term(LossInputs) -> scalar``."""

    kind: ClassVar[Kind] = "loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSourceEntry(ComponentEntry):
    """A place demonstrations come from. The factory takes a :class:`DataSourceContext`."""

    kind: ClassVar[Kind] = "data-source"
    suffixes: tuple[str, ...] = ()  # a bare path that ends so stands for this component with `path` set to it


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapperEntry(ComponentEntry):
    """Something around an environment, a vectorised environment or a policy; takes a :class:`WrapperContext`."""

    kind: ClassVar[Kind] = "wrapper"
    level: Literal["env", "venv", "policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggerEntry(ComponentEntry):
    """A place records go to. The factory takes a :class:`LoggerContext`, gives ``write(Record)`` and ``close()``."""

    kind: ClassVar[Kind] = "logger"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardEntry(ComponentEntry):
    """A reward in place of the environment's. The factory takes a :class:`RewardContext`.

    It gives ``(obs, acts, next_obs, dones) -> (B,)``.
    """

    kind: ClassVar[Kind] = "reward"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry:
    """A word after ``mimetic``. ``factory`` names the command itself: ``run(argv: list[str]) -> int``."""

    kind: ClassVar[Kind] = "command"

    name: str
    factory: str  # "module:run"; gets the words after its name, gives the exit status
    summary: str
    requires: tuple[str, ...] = ()
    install: str = ""


Entry = ComponentEntry | CommandEntry


# --- contexts: what a factory is told ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AlgorithmContext:
    """What a trainer is made of."""

    policy: ActorCriticPolicy
    losses: tuple[WeightedTerm, ...]
    demonstrations: Demonstrations
    seed: int
    device: torch.device
    logger: HierarchicalLogger


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicyContext:
    """What a policy acts in. ``base_dir`` is where relative paths in its config start from."""

    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    device: torch.device
    seed: int
    base_dir: Path
    venv: VecEnv | None = None  # what it will act in, where that is known: for one that looks at more than observations


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossContext:
    """What a loss term may need to know before the first batch."""

    action_space: gym.Space[Any]
    device: torch.device


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataSourceContext:
    """The spaces that the run already knows, and where relative paths start from."""

    observation_space: gym.Space[Any] | None
    action_space: gym.Space[Any] | None
    base_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrapperContext:
    """What is wrapped: a ``gymnasium.Env``, an SB3 ``VecEnv`` or a :class:`mimetic.Actor`, by the entry's level."""

    wrapped: Any
    env_index: int  # 0 for levels "venv" and "policy"
    seed: int
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    n_envs: int
    run_dir: Path | None = None  # where files may be written; None: nowhere was named


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoggerContext:
    """Where a logger may write. None when the run keeps no folder: then it may only print."""

    run_dir: Path | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RewardContext:
    """The spaces of the environment whose reward is replaced, and where relative paths start from."""

    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    base_dir: Path


# --- registration hooks: called once, at discovery --------------------------------------------------------------


@hookspec
def mimetic_algorithms() -> Iterator[AlgorithmEntry]:  # type: ignore[empty-body]  # a specification has no body
    """Offer ways of learning."""


@hookspec
def mimetic_policies() -> Iterator[PolicyEntry]:  # type: ignore[empty-body]  # a specification has no body
    """Offer policies."""


@hookspec
def mimetic_losses() -> Iterator[LossEntry]:  # type: ignore[empty-body]  # a specification has no body
    """Offer loss terms."""


@hookspec
def mimetic_data_sources() -> Iterator[DataSourceEntry]:  # type: ignore[empty-body]  # a specification has no body
    """Offer places that demonstrations come from."""


@hookspec
def mimetic_wrappers() -> Iterator[WrapperEntry]:  # type: ignore[empty-body]  # a specification has no body
    """Offer wrappers around environments, vectorised environments or policies."""


@hookspec
def mimetic_loggers() -> Iterator[LoggerEntry]:  # type: ignore[empty-body]  # a specification has no body
    """Offer places that records go to."""


@hookspec
def mimetic_rewards() -> Iterator[RewardEntry]:  # type: ignore[empty-body]  # a specification has no body
    """Offer rewards that replace the environment's."""


@hookspec
def mimetic_commands() -> Iterator[CommandEntry]:  # type: ignore[empty-body]  # a specification has no body
    """Offer commands."""


# --- observers of a run: called once per event, outside the hot loop --------------------------------------------


@hookspec
def mimetic_run_started(run: RunInfo) -> None:
    """Everything is built, nothing is learned yet."""


@hookspec
def mimetic_epoch_ended(run: RunInfo, report: Report) -> None:
    """One full pass over the demonstrations is done; ``report`` is the epoch's last."""


@hookspec
def mimetic_evaluated(run: RunInfo, epoch: int, result: EvaluationResult) -> None:
    """The policy was evaluated after ``epoch`` epochs."""


@hookspec
def mimetic_run_finished(run: RunInfo, result: RunResult) -> None:
    """The run is complete and its folder written."""


@hookspec
def mimetic_run_failed(run: RunInfo, error: BaseException) -> None:
    """The run ended early: ``error`` is what ended it, ``KeyboardInterrupt`` included."""


ENTRY_OF_HOOK: Mapping[str, type[Entry]] = {
    "mimetic_algorithms": AlgorithmEntry,
    "mimetic_policies": PolicyEntry,
    "mimetic_losses": LossEntry,
    "mimetic_data_sources": DataSourceEntry,
    "mimetic_wrappers": WrapperEntry,
    "mimetic_loggers": LoggerEntry,
    "mimetic_rewards": RewardEntry,
    "mimetic_commands": CommandEntry,
}
"""The registration hooks, and what each must yield."""

KINDS: tuple[Kind, ...] = tuple(entry.kind for entry in ENTRY_OF_HOOK.values())
"""The kinds of component, in the order of the hooks."""
