"""Which engine serves a job?"""

from collections.abc import Mapping

from mimetic.errors import ConfigError, Fault, suggestion
from mimetic_bc.engines.autograd import AutogradEngine
from mimetic_bc.engines.interface import Engine, Job
from mimetic_bc.engines.mlp import MlpEngine

ENGINES: tuple[type[Engine], ...] = (MlpEngine, AutogradEngine)
"""The fastest first; the last one serves every job."""


def choose_engine(name: str, job: Job) -> tuple[Engine, str]:
    """Return the engine called ``name``, or for ``auto`` the first that does not decline, and why it was taken.

    Raises:
        ConfigError: there is no such engine, or it cannot serve the job.
    """
    if name == "auto":
        return _first_willing(job)
    named = {engine.name: engine for engine in ENGINES}
    if name not in named:
        known = ", ".join(("auto", *named))
        raise ConfigError(
            Fault(f"no engine is called {name!r}{suggestion(name, ('auto', *named))} (known: {known})", "engine")
        )
    reason = named[name].declines(job)
    if reason is not None:
        raise ConfigError(Fault(f"{name!r} cannot serve this training: {reason}; 'auto' takes one that can", "engine"))
    return named[name](job), "asked for"


def _first_willing(job: Job) -> tuple[Engine, str]:
    refusals = []
    for engine in ENGINES:
        reason = engine.declines(job)
        if reason is None:
            break
        refusals.append(f"{engine.name} cannot: {reason}")
    return engine(job), "; ".join(refusals) or "the fastest that can serve this policy, objective, optimiser and device"


def facts_of(engine: Engine, reason: str, job: Job) -> dict[str, str]:
    """Say what runs, why, and in which way, for the manifest of a run."""
    precision = {} if job.autocast is None else {"precision": str(job.autocast).removeprefix("torch.")}
    return {"engine": engine.name, "engine_reason": reason, **precision, **engine.facts}


def in_words(facts: Mapping[str, str]) -> str:
    """Say the same in a line."""
    more = (f"; {key} {value}" for key, value in facts.items() if not key.startswith("engine"))
    return f"engine {facts['engine']}: {facts['engine_reason']}{''.join(more)}"
