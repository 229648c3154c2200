"""How are demonstrations and policies kept on disk? Nothing else in the platform touches the layout of these files.

``safetensors_file`` writes tensors and one JSON text, ``datasets`` holds demonstrations in such files, ``policies``
policies, and ``opening`` says what lies at a path and opens it.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.storage.datasets import (
        DatasetWriter as DatasetWriter,
        load_demonstrations as load_demonstrations,
        save_demonstrations as save_demonstrations,
    )
    from mimetic.storage.opening import (
        file_kind as file_kind,
        open_demonstrations as open_demonstrations,
    )
    from mimetic.storage.policies import (
        PolicyFile as PolicyFile,
        load_policy as load_policy,
        read_policy_file as read_policy_file,
        save_policy as save_policy,
    )
    from mimetic.storage.policy_opening import open_policy as open_policy

_MODULE_OF = {
    "DatasetWriter": "datasets",
    "file_kind": "opening",
    "load_demonstrations": "datasets",
    "open_demonstrations": "opening",
    "save_demonstrations": "datasets",
    "PolicyFile": "policies",
    "load_policy": "policies",
    "open_policy": "policy_opening",
    "read_policy_file": "policies",
    "save_policy": "policies",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic.storage' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.storage.{_MODULE_OF[name]}"), name)
