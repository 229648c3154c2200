"""The policies in the box, a plugin of mimetic. Each name below is imported from its module when it is first used."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic_policies.cnn import CnnPolicy as CnnPolicy
    from mimetic_policies.mlp import FeedForward32Policy as FeedForward32Policy, MlpPolicy as MlpPolicy
    from mimetic_policies.multi_input import MultiInputPolicy as MultiInputPolicy

_MODULE_OF = {
    "CnnPolicy": "cnn",
    "FeedForward32Policy": "mlp",
    "MlpPolicy": "mlp",
    "MultiInputPolicy": "multi_input",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic_policies' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic_policies.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too, loaded or not."""
    return sorted({*globals(), *_MODULE_OF})
