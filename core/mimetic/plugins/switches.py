"""Which plugins does the user want? Three environment variables, so that no broken plugin can be in the way.

``MIMETIC_PLUGINS=a,b`` leaves only these entry-point names (empty: none), ``MIMETIC_DISABLE_PLUGINS=x`` takes
some away, ``MIMETIC_STRICT_PLUGINS=1`` raises where discovery would only report.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mimetic.errors import suggestion

ONLY = "MIMETIC_PLUGINS"
WITHOUT = "MIMETIC_DISABLE_PLUGINS"
STRICT = "MIMETIC_STRICT_PLUGINS"


@dataclass(frozen=True, slots=True)
class Switches:
    """The user's choice of plugins, by entry-point name."""

    only: frozenset[str] | None = None  # None: all of them
    without: frozenset[str] = frozenset()
    strict: bool = False

    def reason_against(self, name: str) -> str:
        """Return why a plugin of this name is switched off, or nothing."""
        if name in self.without:
            return f"{WITHOUT} names it"
        if self.only is not None and name not in self.only:
            return f"{ONLY} does not name it"
        return ""

    def unknown_names(self, known: Collection[str]) -> list[str]:
        """Return a sentence for each name that no installed plugin has."""
        named = [(ONLY, name) for name in sorted(self.only or ())] + [(WITHOUT, name) for name in sorted(self.without)]
        return [
            f"{variable} names {name!r}, but no installed plugin is called so{suggestion(name, known)}"
            for variable, name in named
            if name not in known
        ]


def switches_from(environ: Mapping[str, str]) -> Switches:
    """Read the three variables. A variable that is set but empty counts: ``MIMETIC_PLUGINS=''`` leaves nothing."""
    return Switches(
        only=_names(environ[ONLY]) if ONLY in environ else None,
        without=_names(environ.get(WITHOUT, "")),
        strict=environ.get(STRICT, "").strip().lower() not in ("", "0", "false", "no", "off"),
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(name for name in (part.strip() for part in text.split(",")) if name)
