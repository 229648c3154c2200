"""What people who write plugins test with.

Importing this package is light: each name below is imported from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.testing.distributions import (
        discovered as discovered,
        fake_distribution as fake_distribution,
        manager_with as manager_with,
    )

_MODULE_OF = {
    "discovered": "distributions",
    "fake_distribution": "distributions",
    "manager_with": "distributions",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.testing.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too, loaded or not."""
    return sorted({*globals(), *_MODULE_OF})
