"""Who watches a run? Observers are called through pluggy, one plugin after another, and cannot end the run."""

import sys
import traceback
from collections import Counter
from collections.abc import Mapping

import pluggy

from mimetic.plugins.implementations import HOOK_ARGUMENTS

MOST_FAILURES = 3
FIRST_EVENT = "mimetic_run_started"


class Observers:
    """The observer hooks of all active plugins."""

    def __init__(self, managers: Mapping[str, pluggy.PluginManager], providers: Mapping[str, str]) -> None:
        """Take one manager a plugin, and what to call each plugin's provider in a report."""
        self._managers = dict(sorted(managers.items()))
        self._providers = dict(providers)
        self._failures: Counter[tuple[str, str]] = Counter()  # by plugin and hook

    def notify(self, hook: str, event: Mapping[str, object]) -> None:
        """Call one hook of every plugin. One that raises is reported once, and left alone after three failures.

        Failures are counted anew when a run starts. Only Ctrl-C passes.
        """
        assert set(event) == set(HOOK_ARGUMENTS[hook]), f"{hook} is called with {sorted(event)}"
        if hook == FIRST_EVENT:
            self._failures.clear()
        for plugin, manager in self._managers.items():
            caller = getattr(manager.hook, hook)
            if caller.get_hookimpls() and self._failures[plugin, hook] < MOST_FAILURES:
                try:
                    caller(**event)
                except KeyboardInterrupt:
                    raise
                except BaseException as error:
                    self._report(plugin, hook, error)

    def _report(self, plugin: str, hook: str, error: BaseException) -> None:
        self._failures[plugin, hook] += 1
        who = f"mimetic: observer {hook!r} of {self._providers[plugin]}"
        if self._failures[plugin, hook] == 1:
            trace = "".join(traceback.format_exception(error))
            sys.stderr.write(f"{who} raised; the run goes on.\n{trace}")
        if self._failures[plugin, hook] == MOST_FAILURES:
            sys.stderr.write(f"{who} failed {MOST_FAILURES} times and is switched off for this run.\n")
