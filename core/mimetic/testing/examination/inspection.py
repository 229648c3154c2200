"""What does a plugin's own process look at? Its import, its settings, its implementations, in that order.

What is found is told line by line, and each step is told before it is taken: whoever listens knows where it ended, even
when the plugin takes the interpreter down.
"""

import faulthandler
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from typing import Any

from mimetic.errors import MimeticError, PluginError
from mimetic.hookspecs import PROJECT, CommandEntry
from mimetic.plugins import Component, PluginState, Registry, using
from mimetic.plugins.api import stated_version
from mimetic.plugins.discovery import assemble
from mimetic.plugins.factories import import_target
from mimetic.plugins.installed import GROUP, Candidate, installed_candidates, normalised
from mimetic.plugins.records import PluginRecord
from mimetic.plugins.switches import Switches
from mimetic.plugins.weight import heavy_among
from mimetic.testing.examination.findings import ComponentReport, Depth, Level
from mimetic.testing.examination.telling import Teller, title

LIGHT_ENOUGH_FOR_SETTINGS = {"pydantic"}


def main(job: Mapping[str, Any]) -> None:
    """Inspect one plugin, as :mod:`mimetic.testing.examination.processes` asks for it."""
    faulthandler.enable()
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # nothing that is tried here opens a window
    os.environ.setdefault("MPLBACKEND", "Agg")
    with open(job["events"], "a", encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            inspect_plugin(_candidate(job["candidate"]), Teller(file), Depth(job["depth"]))
        finally:
            os.chdir(os.path.dirname(folder))
    os._exit(0)  # whatever the plugin left running


def inspect_plugin(candidate: Candidate, tell: Teller, depth: Depth) -> None:
    """Look at everything that can be seen of one plugin, and tell it."""
    tell.doing(f"importing {candidate.module}")
    [record] = assemble([candidate], Switches()).plugins
    tell.plugin(
        state=record.state,
        reason=record.reason,
        import_s=round(record.weight.seconds, 4),
        heavy=list(record.weight.heavy),
        api=_api_of(candidate),
    )
    _judge_plugin(record, candidate, tell)
    if record.state == PluginState.ACTIVE:
        with using(_surroundings(candidate)) as known:
            _inspect_components(known, record, tell, depth)
    tell.done()


def _judge_plugin(record: PluginRecord, candidate: Candidate, tell: Teller) -> None:
    if record.state != PluginState.ACTIVE:
        tell.find(Level.ERROR, "plugin", record.reason)
        return
    level = Level.ERROR if record.weight.heavy else Level.WARNING
    for remark in record.weight.remarks():
        tell.find(level, "plugin", remark)
    for deprecation in record.deprecations:
        tell.find(Level.WARNING, "plugin", deprecation)
    if _api_of(candidate) is None:
        message = "it states no version of the plugin interface: write MIMETIC_API = (1, 0) into its plugin.py"
        tell.find(Level.WARNING, "plugin", message)


def _inspect_components(known: Registry, record: PluginRecord, tell: Teller, depth: Depth) -> None:
    """Look at all settings before the first implementation is imported, to see what each of the two brings along."""
    looked_into = record.components if depth != Depth.ENTRIES else ()
    with_settings = [each for each in looked_into if _check_settings(known, each, tell)]
    complete = [each for each in with_settings if _check_factory(each, tell)]
    for component in record.components:
        report = ComponentReport(component.kind, component.name, component.entry.summary)
        if depth == Depth.CONTRACTS and component in complete:
            from mimetic.testing.examination.trials import try_component  # torch is not light

            report = try_component(component, tell)
        tell.component(report)


def _check_settings(known: Registry, component: Component, tell: Teller) -> bool:
    if isinstance(component.entry, CommandEntry):
        return True
    tell.doing(f"importing the settings of {title(component)}")
    before = set(sys.modules)
    try:
        model = known.config_model(component)
        model.model_json_schema()
    except Exception as error:
        tell.find(Level.ERROR, component, _told(error, "its settings have no JSON schema"))
        return False
    heavy = set(heavy_among(set(sys.modules) - before)) - LIGHT_ENOUGH_FOR_SETTINGS
    if heavy:
        told = f"the module of its settings imports {', '.join(sorted(heavy))}; pydantic and mimetic.config are enough"
        tell.find(Level.ERROR, component, f"{told} to check a run file")
    from mimetic.plugins.keys import keys_of  # pydantic is not light

    silent = [key.name for key in keys_of(model) if not key.doc]
    if silent:
        tell.find(Level.WARNING, component, f"no text says what its settings mean: {', '.join(silent)}")
    return True


def _check_factory(component: Component, tell: Teller) -> bool:
    tell.doing(f"importing the implementation of {title(component)}")
    try:
        from mimetic.plugins.requirements import missing_requirements  # packaging is not light

        missing = [fault for faults in missing_requirements(component).values() for fault in faults]
        if missing:
            tell.find(Level.WARNING, component, f"not tried: it needs {'; '.join(missing)}")
            return False
        factory = import_target(component, "factory", component.entry.factory, PluginError)
    except MimeticError as error:
        tell.find(Level.ERROR, component, str(error))
        return False
    return _check_call(component, factory, tell)


def _check_call(component: Component, factory: Any, tell: Teller) -> bool:
    """Look whether a factory can be called as factories are."""
    arguments = ("argv",) if component.kind == "command" else ("config", "context")
    target = component.entry.factory
    if not callable(factory):
        tell.find(Level.ERROR, component, f"its factory {target!r} is of type {type(factory).__name__}, no function")
        return False
    try:
        inspect.signature(factory).bind(*arguments)
    except TypeError as error:
        told = f"its factory {target!r} cannot be called with ({', '.join(arguments)}): {error}"
        tell.find(Level.ERROR, component, told)
        return False
    except ValueError:  # a callable that tells nobody its signature
        return True
    return True


# --- the plugin and its surroundings ----------------------------------------------------------------------------


def _candidate(plain: Mapping[str, str]) -> Candidate:
    load: Callable[[], object] = EntryPoint(plain["name"], plain["value"], GROUP).load
    return Candidate(**plain, load=load)


def _surroundings(candidate: Candidate) -> Registry:
    """Return the plugin beside those in the box, which it may ask for; others could disturb the picture."""
    box = [each for each in installed_candidates() if normalised(each.distribution) == PROJECT]
    others = [each for each in box if each.name != candidate.name]
    return assemble([candidate, *others], Switches())


def _api_of(candidate: Candidate) -> str | None:
    module = sys.modules.get(candidate.module)
    stated = None if module is None else stated_version(_object(candidate), candidate.module)
    return "{}.{}".format(*stated) if isinstance(stated, tuple) and len(stated) == 2 else None


def _object(candidate: Candidate) -> object:
    try:
        return candidate.load()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def _told(error: Exception, otherwise: str) -> str:
    return str(error) if isinstance(error, MimeticError) else f"{otherwise}: {type(error).__name__}: {error}"
