"""How is a component tried by somebody who knows nothing about it? With its default settings, in small worlds.

What is refused in a sentence is no fault: a loss term for numbers may refuse choices. What raises, or breaks its
contract in a world that it accepted, is.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from mimetic.errors import ComponentFailedError, ConfigError, MimeticError
from mimetic.hookspecs import WrapperEntry
from mimetic.plugins import Component, registry
from mimetic.testing.contracts.algorithms import AlgorithmContract
from mimetic.testing.contracts.commands import CommandContract
from mimetic.testing.contracts.component import ComponentContract, Contract
from mimetic.testing.contracts.env_wrappers import EnvWrapperContract
from mimetic.testing.contracts.loggers import LoggerContract
from mimetic.testing.contracts.losses import LossContract
from mimetic.testing.contracts.policies import PolicyContract
from mimetic.testing.contracts.policy_wrappers import PolicyWrapperContract
from mimetic.testing.contracts.rewards import RewardContract
from mimetic.testing.contracts.sources import DataSourceContract
from mimetic.testing.contracts.suite import Verdict, facts_of, outcome
from mimetic.testing.contracts.venv_wrappers import VenvWrapperContract
from mimetic.testing.contracts.worlds import CHOICE, DIRECTION, VECTOR, Walk
from mimetic.testing.examination.findings import ComponentReport, Level
from mimetic.testing.examination.telling import Teller, title

IMAGE = spaces.Box(0, 255, (36, 40, 3), np.uint8)
PARTS = spaces.Dict({"eye": IMAGE, "hand": VECTOR})
MOST_WORLDS = 2
"""In how many of the worlds that a component accepts it is held to its contract."""

JUDGED_BEFORE = "every_setting_says_what_it_means"
"""A fact that the inspection has looked at; here it is a warning."""

World = Mapping[str, Any]
"""Attributes of a suite."""

SUITES: Mapping[str, type[Contract]] = {
    "algorithm": AlgorithmContract,
    "policy": PolicyContract,
    "loss": LossContract,
    "data-source": DataSourceContract,
    "env wrapper": EnvWrapperContract,
    "venv wrapper": VenvWrapperContract,
    "policy wrapper": PolicyWrapperContract,
    "logger": LoggerContract,
    "reward": RewardContract,
    "command": CommandContract,
}

_ACTIONS: tuple[World, ...] = ({"action_spaces": (CHOICE,)}, {"action_spaces": (DIRECTION,)})
WORLDS: Mapping[str, tuple[World, ...]] = {
    "loss": _ACTIONS,
    "policy wrapper": _ACTIONS,
    "policy": tuple(
        {"observation_spaces": (seen,), "action_spaces": (done,)}
        for seen in (VECTOR, IMAGE, PARTS)
        for done in (CHOICE, DIRECTION)
    ),
    "env wrapper": ({}, {"make_env": lambda _: Walk(action_space=DIRECTION)}),
    "reward": ({}, {"action_space": DIRECTION}),
}


def try_component(component: Component, tell: Teller) -> ComponentReport:
    """Hold a component to the contract of its kind, in worlds that it accepts; tell every fact that fails."""
    counts = dict.fromkeys(Verdict, 0)
    tell.doing(f"building {title(component)}")
    suites = _accepted(component, tell)
    for number, suite in enumerate(suites):
        for fact in _facts(suite, first=number == 0):
            tell.doing(f"trying {title(component)}: {fact.replace('_', ' ')}")
            result = outcome(suite, fact)
            counts[result.verdict] += 1
            if result.verdict == Verdict.FAILS:
                tell.find(Level.ERROR, component, f"{fact.replace('_', ' ')}: no, {result.told}")
    return ComponentReport(
        component.kind,
        component.name,
        component.entry.summary,
        held=counts[Verdict.HOLDS],
        failed=counts[Verdict.FAILS],
        skipped=counts[Verdict.SKIPPED],
    )


def _accepted(component: Component, tell: Teller) -> list[type[Contract]]:
    """Return suites in worlds that the component takes; tell when there is none, or when building it fails."""
    needed = _needed_settings(component)
    if needed:
        message = f"not tried: its settings have no defaults ({needed}); its own tests hold it to its contract"
        tell.find(Level.NOTE, component, message)
        return []
    suites, refusals = [], []
    for suite in _suites(component):
        refusal = _refusal(suite)
        if refusal is None:
            suites.append(suite)
        elif _is_failure(refusal):
            tell.find(Level.ERROR, component, str(refusal))
            return []
        else:
            refusals.append(str(refusal.__cause__))
    if not suites:
        tell.find(Level.NOTE, component, f"not tried: {refusals[0]}")
    return suites[:MOST_WORLDS]


def _suites(component: Component) -> Iterator[type[Contract]]:
    kind = component.kind if not isinstance(component.entry, WrapperEntry) else f"{component.entry.level} wrapper"
    for world in WORLDS.get(kind, ({},)):
        yield type("Trial", (SUITES[kind],), {"name": component.name, **world})


def _needed_settings(component: Component) -> str:
    """Say which settings must be given, or nothing when there are defaults for all."""
    if component.kind == "command":
        return ""
    try:
        registry().make_config(component.kind, component.name)
    except ConfigError as error:
        return "; ".join(fault.path or fault.message for fault in error.faults)
    return ""


def _refusal(suite: type[Contract]) -> AssertionError | None:
    """Build a component in the world of a suite; return what came of it when it was not built."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            suite().attempt(Path(folder))
        except AssertionError as refused:
            return refused
        except Exception as error:  # while it was closed, say
            failure = AssertionError(f"raised {type(error).__name__}: {error}")
            failure.__cause__ = error
            return failure
    return None


def _is_failure(refusal: AssertionError) -> bool:
    cause = refusal.__cause__
    return not isinstance(cause, MimeticError) or isinstance(cause, ComponentFailedError)


def _facts(suite: type[Contract], *, first: bool) -> list[str]:
    """Return the facts to try: those about settings alone are the same in every world, and told already."""
    of_settings = [JUDGED_BEFORE] if first else facts_of(ComponentContract)
    return [fact for fact in facts_of(suite) if fact not in of_settings]
