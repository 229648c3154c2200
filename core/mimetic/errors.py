"""What can go wrong for a user, and who can mend it: one class for each decision that a catcher can make.

::

    MimeticError                    everything that this project raises on purpose
    ├── ConfigError                 mend the run file or the command line (a ValueError)
    │   ├── UnknownComponentError   no loaded plugin offers a component of this kind and name
    │   └── TargetExistsError       choose another place to write to (a FileExistsError)
    ├── PluginError                 mend or remove a plugin
    │   ├── ComponentConflictError  two plugins offer the same component name
    │   └── ComponentFailedError    a component raised, or gave something that is no such component
    ├── DataError                   mend the data (a ValueError)
    │   └── UntrustedFileError      the file could run code; say that you trust it, or convert it
    ├── SpaceError                  spaces do not fit together, or are not supported (a ValueError)
    ├── EnvError                    the environment cannot be built, rendered or stepped as asked
    └── MissingDependencyError      install an optional library (an ImportError)

Every message says where, what was seen, what was expected and what to do. ``exit_status`` is what the command
line ends with: 2 when what the user gave is wrong, 1 for anything else.

What still works and will not for ever warns with :class:`MimeticDeprecationWarning`.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class MimeticError(Exception):
    """The base of every error that this project raises on purpose."""

    exit_status = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in a run file or on a command line, and where it stands."""

    message: str
    path: str = ""  # e.g. "policy.net_arch"; empty when the fault has no key
    source: str = ""  # the file, or "command line"
    line: int | None = None  # counted from 1
    column: int | None = None  # counted from 1

    def __str__(self) -> str:
        """``runs/a.yaml:9:5: losses[0].name: message``, with the parts that are known."""
        place = ":".join(str(part) for part in (self.source, self.line, self.column) if part not in ("", None))
        return ": ".join(part for part in (place, self.path, self.message) if part)


class ConfigError(MimeticError, ValueError):
    """Mend the run file or the command line. Holds every fault that was found, not only the first."""

    exit_status = 2

    def __init__(self, faults: str | Fault | Sequence[Fault]) -> None:
        """Take one message, one fault, or all of them."""
        if isinstance(faults, str):
            faults = Fault(faults)
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive a subprocess with every fault."""
        return (type(self), (self.faults,))


class UnknownComponentError(ConfigError):
    """No loaded plugin offers a component of this kind and name."""


class TargetExistsError(ConfigError, FileExistsError):
    """Something is already there; nothing was overwritten."""


class PluginError(MimeticError):
    """Mend, update or remove a plugin."""

    exit_status = 2


class ComponentConflictError(PluginError):
    """Two plugins offer a component of the same kind and name, so neither is used."""


class ComponentFailedError(PluginError):
    """A component raised, or its factory gave something that is no such component."""

    exit_status = 1


class DataError(MimeticError, ValueError):
    """Mend the data: the message says which file, trajectory, step or column."""

    exit_status = 2


class UntrustedFileError(DataError):
    """Reading this file as asked could run code that is hidden in it, and nobody said that it is trusted."""


class SpaceError(MimeticError, ValueError):
    """Spaces do not fit together, or one is of a kind that is not supported here."""

    exit_status = 2


class EnvError(MimeticError):
    """The environment cannot be built, rendered or stepped as asked."""

    exit_status = 2


class MissingDependencyError(MimeticError, ImportError):
    """An optional library is not installed; the message holds the pip command."""

    exit_status = 2


class MimeticDeprecationWarning(FutureWarning):
    """Something that works will go; the message says what to write instead, and when it goes (docs/stability.md)."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``, did you mean 'x'?``, or nothing when no known name is near."""
    near = nearest(name, known)
    return f", did you mean {near!r}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None when none is near."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
