"""mimetic_explore, a plugin of mimetic: policies that try something else now and then.

Importing this package is light: each name below is imported from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic_explore.gaussian import GaussianActor as GaussianActor
    from mimetic_explore.switching import ExplorationWrapper as ExplorationWrapper, SwitchingActor as SwitchingActor

_MODULE_OF = {
    "ExplorationWrapper": "switching",
    "GaussianActor": "gaussian",
    "SwitchingActor": "switching",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic_explore' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic_explore.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too, loaded or not."""
    return sorted({*globals(), *_MODULE_OF})
