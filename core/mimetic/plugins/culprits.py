"""Whose code was running when something nobody foresaw was raised? Read off the traceback.

A component is built through the registry, which knows it; what it does later, in the middle of a run, is called by
whoever holds it. Its name is found where it counts: when the run ends.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from mimetic.errors import ComponentFailedError, MimeticError
from mimetic.plugins.process import registry
from mimetic.plugins.reasons import describe
from mimetic.plugins.records import PluginRecord
from mimetic.plugins.registry import Registry

CORE = "mimetic"
ENVIRONMENTS = "mimetic.envs"
"""Here the core calls environments: what is raised further in is theirs, not that of a wrapper around them."""


@contextmanager
def naming_the_provider() -> Iterator[None]:
    """Let what a plugin's code raises in the block, ``SystemExit`` included, be told with the plugin's name.

    Raises:
        ComponentFailedError: names the component, or the plugin, and holds what was raised as its cause.
    """
    try:
        yield
    except MimeticError:
        raise
    except (Exception, SystemExit) as error:
        culprit = culprit_of(error, registry())
        if culprit is None:
            raise
        raise ComponentFailedError(f"{culprit} raised {describe(error)}") from error


def culprit_of(error: BaseException, known: Registry) -> str | None:
    """Name the component, else the plugin, whose code was running; None when it was somebody else's."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    in_core_only = True
    for module in reversed(modules):
        if module == CORE or module.startswith(f"{CORE}."):
            if not in_core_only or module.startswith(ENVIRONMENTS):
                return None
            continue
        owner = _owner(module, known)
        if owner is not None:
            return owner
        in_core_only = False
    return None


def _owner(module: str, known: Registry) -> str | None:
    offers = [component for record in known.plugins for component in record.components]
    exact = [component for component in offers if component.entry.factory.partition(":")[0] == module]
    if len(exact) == 1:
        return str(exact[0])
    package = module.partition(".")[0]
    record = next((each for each in known.plugins if package in _packages(each)), None)
    return None if record is None else f"plugin {record.name!r} of {record.distribution} {record.version}"


def _packages(record: PluginRecord) -> set[str]:
    factories = (component.entry.factory for component in record.components)
    return {target.partition(":")[0].partition(".")[0] for target in [record.entry_point, *factories]}
