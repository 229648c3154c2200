"""Which hooks does a plugin object implement, and what do they yield?

Everything that would make pluggy skip an implementation in silence, or call it wrongly, is refused here with a
sentence: a misspelt hook, a forgotten marker, an argument that does not exist or has a default.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import MappingProxyType, ModuleType
from typing import Any

import pluggy

import mimetic.hookspecs as hookspecs
from mimetic.errors import suggestion
from mimetic.hookspecs import ENTRY_OF_HOOK, PROJECT, Entry
from mimetic.plugins.entries import check_entry
from mimetic.plugins.reasons import refusing
from mimetic.plugins.records import Refusal

MOST_ENTRIES = 10_000  # of one hook; a generator without an end must not hang discovery

_MARKS = pluggy.PluginManager(PROJECT)  # only asked how a function is marked; nothing is ever registered here

HOOK_ARGUMENTS = MappingProxyType(
    {
        name: tuple(inspect.signature(getattr(hookspecs, name)).parameters)
        for name in vars(hookspecs)
        if _MARKS.parse_hookspec_opts(hookspecs, name) is not None
    }
)
"""Every hook, registration and observer, with the names of its arguments."""


def register(plugin: object) -> pluggy.PluginManager:
    """Return a manager that holds this plugin alone, so that no plugin can stop, wrap or reorder another.

    Raises:
        Refusal: the object is no plugin, or one of its hooks would not be called as its author meant.
    """
    if plugin is None or isinstance(plugin, type):
        told = "None" if plugin is None else f"the class {plugin.__name__}, which nobody instantiates"
        raise Refusal(f"its entry point names {told}; name the module, or an instance, that holds the hooks")
    implemented = [name for name in dir(plugin) if _check_attribute(plugin, name)]
    if not implemented:
        raise Refusal(
            "it implements no hook: no function in it is marked with '@hookimpl' (from mimetic import hookimpl)"
        )
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name="plugin")
    manager.check_pending()
    return manager


def entries_of(manager: pluggy.PluginManager) -> tuple[Entry, ...]:
    """Call the registration hooks of one plugin and return all that it offers, checked.

    Raises:
        Refusal: a hook raised, or gave something other than entries of its kind.
    """
    entries = [check_entry(hook, entry) for hook in ENTRY_OF_HOOK for entry in _given_by(manager, hook)]
    seen = set()
    for entry in entries:
        if (entry.kind, entry.name) in seen:
            raise Refusal(f"it offers {entry.kind} {entry.name!r} twice")
        seen.add((entry.kind, entry.name))
    return tuple(entries)


def _check_attribute(plugin: object, name: str) -> bool:
    """Tell whether the attribute is a hook implementation that will work; raise when it only looks like one."""
    options: Any = _MARKS.parse_hookimpl_opts(plugin, name)
    if options is None:
        if name in HOOK_ARGUMENTS:
            _check_unmarked(name, getattr(plugin, name, None))
        return False
    hook = options.get("specname") or name
    if hook not in HOOK_ARGUMENTS:
        if options.get("optionalhook"):
            return False
        raise Refusal(f"hook {hook!r} does not exist{suggestion(hook, HOOK_ARGUMENTS)}")
    if options.get("wrapper") or options.get("hookwrapper"):
        raise Refusal(f"hook {hook!r} is marked as a wrapper; plugins do not wrap one another's hooks")
    _check_arguments(hook, getattr(plugin, name))
    return True


def _check_unmarked(name: str, value: object) -> None:
    is_specification = _MARKS.parse_hookspec_opts(hookspecs, name) is not None and value is getattr(hookspecs, name)
    if value is None or is_specification or isinstance(value, ModuleType):  # a package may share a hook's name
        return
    told = "lacks" if callable(value) else f"is of type {type(value).__name__}, not a function with"
    raise Refusal(f"hook {name!r} {told} '@hookimpl', so it would never be called (from mimetic import hookimpl)")


def _check_arguments(hook: str, function: Callable[..., object]) -> None:
    expected = HOOK_ARGUMENTS[hook]
    known = f"its arguments: {', '.join(expected)}" if expected else "it takes none"
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise Refusal(f"hook {hook!r}: write its arguments out instead of '{parameter}' ({known})")
        if parameter.name not in expected:
            near = suggestion(parameter.name, expected)
            raise Refusal(f"hook {hook!r} has no argument {parameter.name!r}{near} ({known})")
        if parameter.default is not inspect.Parameter.empty:
            raise Refusal(f"hook {hook!r}: argument {parameter.name!r} has a default, so it would never be filled")


def _given_by(manager: pluggy.PluginManager, hook: str) -> Iterator[object]:
    """Yield what this plugin's implementations of one hook give; exhaust generators here, where they may fail."""
    caller = getattr(manager.hook, hook)
    with refusing(f"hook {hook!r} raised "):
        results = caller()
    if len(results) < len(caller.get_hookimpls()):  # pluggy leaves None out
        raise Refusal(f"hook {hook!r} returned None; yield entries, or return a list of them")
    for result in results:
        yield from _drained(hook, result)


def _drained(hook: str, result: object) -> list[object]:
    expected = ENTRY_OF_HOOK[hook].__name__
    if isinstance(result, ENTRY_OF_HOOK[hook]):
        raise Refusal(f"hook {hook!r} returned one {expected}; yield it, or return a list of entries")
    if isinstance(result, str | bytes) or not isinstance(result, Iterable):
        if inspect.iscoroutine(result):
            result.close()
        returned = f"returned an object of type {type(result).__name__}"
        raise Refusal(f"hook {hook!r} {returned}; yield {expected} objects, or return a list of them")
    with refusing(f"hook {hook!r} raised "):
        drained = list(islice(result, MOST_ENTRIES + 1))
    if len(drained) > MOST_ENTRIES:
        raise Refusal(f"hook {hook!r} yields more than {MOST_ENTRIES} entries")
    return drained
