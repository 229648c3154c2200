"""What does a gymnasium space mean for arrays, tensors and files?

``json_form`` writes spaces as plain data, ``comparison`` says how two differ and which are supported (neither
imports torch), ``action_codec`` maps environment actions to what a distribution takes, and back.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.spaces.action_codec import ActionCodec as ActionCodec
    from mimetic.spaces.comparison import (
        refuse_unsupported as refuse_unsupported,
        space_difference as space_difference,
    )
    from mimetic.spaces.json_form import (
        space_from_json as space_from_json,
        space_to_json as space_to_json,
    )

_MODULE_OF = {
    "ActionCodec": "action_codec",
    "refuse_unsupported": "comparison",
    "space_difference": "comparison",
    "space_from_json": "json_form",
    "space_to_json": "json_form",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic.spaces' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.spaces.{_MODULE_OF[name]}"), name)
