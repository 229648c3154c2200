"""What is known about one installed plugin: whether it counts, why not, and what it offers."""

from dataclasses import dataclass, field
from enum import StrEnum

from mimetic.hookspecs import Entry, Kind
from mimetic.plugins.weight import Weight


class PluginState(StrEnum):
    """What became of a plugin at discovery."""

    ACTIVE = "active"  # its components can be used
    DISABLED = "disabled"  # switched off by MIMETIC_PLUGINS or MIMETIC_DISABLE_PLUGINS; never imported
    BROKEN = "broken"  # it raised, or offers something that is no component
    DUPLICATE = "duplicate"  # another installed plugin of the same name wins
    INCOMPATIBLE = "incompatible"  # it asks for another version of the plugin interface


@dataclass(frozen=True, slots=True)
class Component:
    """One thing that a plugin offers, and who offers it."""

    entry: Entry
    plugin: str
    distribution: str
    version: str

    @property
    def kind(self) -> Kind:
        """The kind of component, e.g. ``"policy"``."""
        return self.entry.kind

    @property
    def name(self) -> str:
        """The name that run files and commands use."""
        return self.entry.name

    @property
    def provider(self) -> str:
        """The distribution that ships it, with its version."""
        return f"{self.distribution} {self.version}"

    def __str__(self) -> str:
        """``policy 'mlp' of mimetic 0.1.0``."""
        return f"{self.kind} {self.name!r} of {self.provider}"


@dataclass(frozen=True, slots=True)
class PluginRecord:
    """One entry point of the group ``mimetic``, and what became of it."""

    name: str
    state: PluginState
    reason: str  # one line; empty for an active plugin
    distribution: str
    version: str
    entry_point: str  # "module" or "module:attribute"
    components: tuple[Component, ...] = ()
    error: BaseException | None = field(default=None, compare=False, repr=False)  # what it raised, with its traceback
    weight: Weight = field(default=Weight(), compare=False, repr=False)  # what its import cost
    deprecations: tuple[str, ...] = ()  # what it uses that will go, and what to write instead

    def remarks(self) -> tuple[str, ...]:
        """Return what its author should hear although it works."""
        return (*self.weight.remarks(), *self.deprecations)

    def __str__(self) -> str:
        """``'acme' (acme-mimetic 1.0, entry point acme_mimetic.plugin)``."""
        return f"{self.name!r} ({self.distribution} {self.version}, entry point {self.entry_point})"


class Refusal(Exception):  # noqa: N818 - a verdict about a plugin, not a fault of the program
    """Why a plugin cannot be let in: the reason is the message."""

    def __init__(self, reason: str, state: PluginState = PluginState.BROKEN) -> None:
        super().__init__(reason)
        self.state = state
