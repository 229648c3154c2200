"""What was found out about a plugin?"""

from dataclasses import dataclass, field
from enum import StrEnum

from mimetic.plugins import PluginState
from mimetic.plugins.installed import Candidate


class Level(StrEnum):
    """How much a finding matters."""

    ERROR = "error"  # it does not work, or breaks a rule of plugins
    WARNING = "warning"  # it works, and somebody will be sorry
    NOTE = "note"  # what could not be looked at, and why


class Depth(StrEnum):
    """How far an examination goes; each includes the ones before it."""

    ENTRIES = "entries"  # what discovery does: import plugin.py and look at its entries
    IMPORTS = "imports"  # import settings and implementations
    CONTRACTS = "contracts"  # build each component, and hold it to the contract of its kind


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that somebody should know about a plugin."""

    level: Level
    about: str  # "plugin", or a component: "loss 'acme.focal'"
    message: str


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """A component, and how many facts of its contract hold."""

    kind: str
    name: str
    summary: str
    held: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(slots=True)
class PluginReport:
    """What was found out about one installed plugin."""

    name: str
    distribution: str
    version: str
    entry_point: str
    state: PluginState = PluginState.BROKEN
    reason: str = ""
    api: str | None = None  # the version of the plugin interface that it states
    import_s: float | None = None  # None: it was not imported
    heavy: list[str] = field(default_factory=list)  # packages that its plugin.py imports and should not
    components: list[ComponentReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @classmethod
    def of(cls, candidate: Candidate) -> "PluginReport":
        """Return a report that says nothing yet."""
        return cls(candidate.name, candidate.distribution, candidate.version, candidate.value)

    @property
    def ok(self) -> bool:
        """Whether no error was found."""
        return not any(finding.level == Level.ERROR for finding in self.findings)

    @property
    def provider(self) -> str:
        """The distribution with its version."""
        return f"{self.distribution} {self.version}"

    def refuse(self, state: PluginState, reason: str) -> None:
        """Say that the plugin cannot be used."""
        self.state, self.reason = state, reason
        self.findings.append(Finding(Level.ERROR, "plugin", reason))
