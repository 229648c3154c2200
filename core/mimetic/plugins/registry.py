"""What can be used, and by which name? The answer to every question about components."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from mimetic.errors import ComponentConflictError, ComponentFailedError, UnknownComponentError, nearest
from mimetic.hookspecs import Kind
from mimetic.plugins.factories import call_factory, check_made
from mimetic.plugins.observers import Observers
from mimetic.plugins.records import Component, PluginRecord, PluginState

if TYPE_CHECKING:
    from mimetic.config import ComponentConfig

NOUNS: Mapping[Kind, str] = {"loss": "loss term", "data-source": "data source"}
"""Kinds whose name in a sentence is another than on the command line."""


class Registry:
    """Every installed plugin with its state, and the components of the active ones."""

    def __init__(
        self,
        plugins: Sequence[PluginRecord],
        managers: Mapping[str, pluggy.PluginManager],
        notes: Sequence[str] = (),
    ) -> None:
        """Take what discovery found.

        Args:
            plugins: one record an entry point.
            managers: the hooks of each active plugin, by the plugin's name.
            notes: sentences about the switches that the user should read.
        """
        self.plugins = tuple(sorted(plugins, key=lambda r: (r.name, r.state != PluginState.ACTIVE, r.distribution)))
        self.notes = tuple(notes)
        self._offers: dict[tuple[Kind, str], list[Component]] = {}
        for record in self.plugins:
            for component in record.components:
                self._offers.setdefault((component.kind, component.name), []).append(component)
        active = [record for record in self.plugins if record.state == PluginState.ACTIVE]
        self._observers = Observers(managers, {record.name: str(record) for record in active})

    # --- asking ---------------------------------------------------------------------------------------------------

    def components(self, kind: Kind | None = None) -> tuple[Component, ...]:
        """Return the usable components of one kind, or of all, sorted by name; those in conflict are left out."""
        usable = (offers[0] for offers in self._offers.values() if len(offers) == 1)
        return tuple(sorted((c for c in usable if kind in (None, c.kind)), key=lambda c: (c.name, c.kind)))

    def conflicts(self) -> tuple[tuple[Component, ...], ...]:
        """Return the groups of components that share kind and name, none of which can be used."""
        return tuple(tuple(offers) for offers in self._offers.values() if len(offers) > 1)

    def unloaded(self) -> tuple[PluginRecord, ...]:
        """Return the plugins that are not active."""
        return tuple(record for record in self.plugins if record.state != PluginState.ACTIVE)

    def complaints(self) -> list[str]:
        """Return a sentence for everything that is wrong; what the user switched off is not."""
        failed = (record for record in self.unloaded() if record.state != PluginState.DISABLED)
        return [*(f"plugin {record} is {record.state}: {record.reason}" for record in failed), *self.warnings()]

    def warnings(self) -> list[str]:
        """Return a sentence for each conflict between active plugins, and for each switch that fits no plugin."""
        return [*(_conflict(offers) for offers in self.conflicts()), *self.notes]

    def remarks(self) -> list[str]:
        """Return what the authors of active plugins should hear: heavy or slow imports, deprecated hooks."""
        return [f"plugin {record}: {remark}" for record in self.plugins for remark in record.remarks()]

    def find(self, kind: Kind, name: str) -> Component:
        """Return the component of this kind and name.

        Raises:
            UnknownComponentError: there is none; says what is known, and which plugins did not load.
            ComponentConflictError: two plugins offer it, so neither is used.
        """
        offers = self._offers.get((kind, name), [])
        if len(offers) > 1:
            raise ComponentConflictError(_conflict(offers))
        if not offers:
            raise UnknownComponentError(self._unknown(kind, name))
        return offers[0]

    def _unknown(self, kind: Kind, name: str) -> str:
        known = [component.name for component in self.components(kind)]
        near = nearest(name, known)
        return " ".join(
            [
                f"no {NOUNS.get(kind, kind)} is called {name!r}.",
                *([f"Did you mean {near!r}?"] if near else []),
                f"Known: {', '.join(known) or 'none'}.",
                *(f"{name!r} is a {NOUNS.get(other, other)}." for other, taken in self._offers if taken == name),
                *(f"Plugin {record} is {record.state}: {record.reason}." for record in self.unloaded()),
            ]
        )

    # --- settings -------------------------------------------------------------------------------------------------

    def config_model(self, component: Component) -> "type[ComponentConfig]":
        """Import the model of a component's settings (its ``config.py``, nothing else).

        Raises:
            PluginError: it cannot be imported, is no model, or lets unknown keys through; names the provider.
        """
        from mimetic.plugins.models import config_model  # pydantic is not light

        return config_model(component)

    def make_config(
        self, kind: Kind, name: str, options: Mapping[str, object] | None = None, *, base_dir: Path | None = None
    ) -> "ComponentConfig":
        """Turn settings into an instance of a component's model; relative paths start from ``base_dir``.

        Raises:
            ConfigError: with every fault, not only the first.
        """
        from mimetic.plugins.models import validated  # pydantic is not light

        return validated(self.find(kind, name), options or {}, base_dir)

    # --- use ------------------------------------------------------------------------------------------------------

    def build(
        self, kind: Kind, name: str, config: "ComponentConfig | Mapping[str, object] | None", context: object
    ) -> Any:
        """Make a component: ``factory(config, context)``.

        Raises:
            MissingDependencyError: a library that it needs is not installed; holds the pip command.
            ComponentFailedError: it raised, or gave something else; names kind, name and provider.
        """
        component = self.find(kind, name)
        if config is None or isinstance(config, Mapping):
            config = self.make_config(kind, name, config)
        made = call_factory(component, config, context)
        check_made(component, made)
        return made

    def run_command(self, name: str, argv: Sequence[str]) -> int:
        """Run a plugin's command with the words after its name, and return its exit status.

        Raises:
            ComponentFailedError: it raised, or gave no exit status; names the provider.
        """
        component = self.find("command", name)
        status = call_factory(component, list(argv))
        if not isinstance(status, int) or isinstance(status, bool):
            raise ComponentFailedError(f"{component} returned {status!r}; expected an exit status, such as 0")
        return status

    def notify(self, hook: str, **event: object) -> None:
        """Call an observer hook of every active plugin, guarded: none of them can end the run.

        One that raises is reported once with its traceback, and switched off for this run after three failures.
        """
        self._observers.notify(hook, event)


def _conflict(offers: Sequence[Component]) -> str:
    who = " and ".join(f"{offer.provider} (plugin {offer.plugin!r})" for offer in offers)
    mend = "switch one plugin off with MIMETIC_DISABLE_PLUGINS, or uninstall it"
    return f"{offers[0].kind} {offers[0].name!r} is offered by {who}, so none of them is used; {mend}"
