"""mimetic_render, a plugin of mimetic: a window that shows what a policy does while it does it.

Importing this package is light: each name below is imported from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic_render.config import HumanConfig as HumanConfig, RenderConfig as RenderConfig
    from mimetic_render.human import HumanActor as HumanActor
    from mimetic_render.interactive import InteractiveRender as InteractiveRender
    from mimetic_render.window import WindowClosed as WindowClosed

_MODULE_OF = {
    "HumanActor": "human",
    "HumanConfig": "config",
    "InteractiveRender": "interactive",
    "RenderConfig": "config",
    "WindowClosed": "window",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic_render' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic_render.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too, loaded or not."""
    return sorted({*globals(), *_MODULE_OF})
