"""What becomes of every installed plugin? One loop that never dies and never hides anything.

A plugin is let in whole or not at all. Whatever its code raises, ``SystemExit`` included, is that plugin's reason
and nobody else's; only Ctrl-C passes. Nothing depends on the order of the path or of installation.
"""

import contextlib
import dataclasses
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import pluggy

from mimetic.errors import MimeticDeprecationWarning, PluginError
from mimetic.hookspecs import Entry
from mimetic.plugins.api import check_api, check_version, stated_in_source
from mimetic.plugins.implementations import entries_of, register
from mimetic.plugins.installed import Candidate, installed_candidates
from mimetic.plugins.reasons import refusing
from mimetic.plugins.records import Component, PluginRecord, PluginState, Refusal
from mimetic.plugins.registry import Registry
from mimetic.plugins.switches import STRICT, Switches, switches_from
from mimetic.plugins.weight import Weight, weighed


def discover(path: Sequence[str] | None = None, *, environ: Mapping[str, str] = os.environ) -> Registry:
    """Find, import and judge every installed plugin.

    Args:
        path: folders to look for metadata in; default ``sys.path``.
        environ: where the three switches are read from.

    Raises:
        PluginError: only under ``MIMETIC_STRICT_PLUGINS=1``, when anything is wrong.
    """
    return assemble(installed_candidates(path), switches_from(environ))


def assemble(candidates: Iterable[Candidate], switches: Switches) -> Registry:
    """Judge candidates, whatever they were read from, and gather them in a registry."""
    records: list[PluginRecord] = []
    managers: dict[str, pluggy.PluginManager] = {}
    with contextlib.redirect_stdout(sys.stderr):  # a plugin that prints must not spoil a JSON document
        for name, (winner, *others) in by_name(candidates):
            record, manager = _judge(winner, switches)
            if manager is not None:
                managers[name] = manager
            records += [record, *(passed_over(other, winner, switches) for other in others)]
    registry = Registry(records, managers, switches.unknown_names({record.name for record in records}))
    if switches.strict:
        _insist(registry)
    return registry


def by_name(candidates: Iterable[Candidate]) -> Iterator[tuple[str, list[Candidate]]]:
    """Yield each plugin name with the candidates that have it, the one that wins first."""
    ordered = sorted(candidates, key=lambda candidate: (candidate.name, candidate.rank))
    for name, same_name in groupby(ordered, key=attrgetter("name")):
        yield name, list(same_name)


def _judge(candidate: Candidate, switches: Switches) -> tuple[PluginRecord, pluggy.PluginManager | None]:
    """Import one plugin, unless it is switched off, and record what became of it."""
    disabled = switches.reason_against(candidate.name)
    if disabled:
        return _record(candidate, PluginState.DISABLED, disabled), None
    if candidate.hidden_by:
        return _hidden(candidate), None
    try:
        plugin, weight = _import(candidate)
        with _noting_deprecations() as deprecations:
            manager, entries = _admit(plugin, candidate.module)
    except Refusal as refusal:
        return _record(candidate, refusal.state, str(refusal), error=refusal.__cause__), None
    record = _record(candidate, PluginState.ACTIVE, "", entries)
    return dataclasses.replace(record, weight=weight, deprecations=tuple(deprecations)), manager


def _admit(plugin: object, module: str) -> tuple[pluggy.PluginManager, tuple[Entry, ...]]:
    with refusing("it cannot be registered: "):
        check_api(plugin, module)
        manager = register(plugin)
        return manager, entries_of(manager)


@contextlib.contextmanager
def _noting_deprecations() -> Iterator[list[str]]:
    """Collect what pluggy warns about: hooks, or arguments of hooks, that are deprecated (``warn_on_impl``)."""
    noted: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MimeticDeprecationWarning)
        yield noted
    for warning in caught:
        if issubclass(warning.category, MimeticDeprecationWarning):
            noted.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _import(candidate: Candidate) -> tuple[object, Weight]:
    if candidate.fault:
        raise Refusal(candidate.fault)
    try:
        with refusing(""):
            return weighed(candidate.load)
    except Refusal as refusal:
        stated = stated_in_source(candidate.module) if isinstance(refusal.__cause__, ImportError) else None
        if stated is not None:
            check_version(stated)
        if _is_left_behind(candidate, refusal.__cause__):
            reason = f"its module {candidate.module!r} is not there: perhaps only the metadata of a removed package is"
            raise Refusal(reason) from refusal.__cause__
        raise


def _is_left_behind(candidate: Candidate, error: BaseException | None) -> bool:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return missing is not None and (candidate.module + ".").startswith(missing + ".")


def passed_over(other: Candidate, winner: Candidate, switches: Switches) -> PluginRecord:
    """Record a plugin whose name another one has."""
    disabled = switches.reason_against(other.name)
    if disabled:
        return _record(other, PluginState.DISABLED, disabled)
    if other.hidden_by:
        return _hidden(other)
    taken = (
        f"{winner.distribution} {winner.version} (entry point {winner.value}) has the name {other.name!r} too and wins"
    )
    return _record(other, PluginState.DUPLICATE, f"{taken}; uninstall one, or ask its author for another name")


def _hidden(candidate: Candidate) -> PluginRecord:
    reason = f"another copy of the distribution hides it: {candidate.hidden_by}; remove one of them"
    return _record(candidate, PluginState.DUPLICATE, reason)


def _record(
    candidate: Candidate,
    state: PluginState,
    reason: str,
    entries: Iterable[Entry] = (),
    *,
    error: BaseException | None = None,
) -> PluginRecord:
    components = tuple(Component(e, candidate.name, candidate.distribution, candidate.version) for e in entries)
    provider = (candidate.distribution, candidate.version)
    return PluginRecord(candidate.name, state, reason, *provider, candidate.value, components, error)


def _insist(registry: Registry) -> None:
    """Raise for everything that discovery would only have reported."""
    complaints = registry.complaints()
    if not complaints:
        return
    errors = [record.error for record in registry.plugins if record.error is not None]
    traces = ["".join(traceback.format_exception(error)) for error in errors]
    raise PluginError("\n".join([f"{STRICT} is set, and:", *complaints, *traces])) from next(iter(errors), None)
