"""What people who write plugins test with.

``distributions`` tries a plugin without installing it, ``contracts`` are the suites that a plugin's tests inherit,
``examination`` looks at installed plugins, each in a process of its own. Importing this package is light: each name
below is imported from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.testing.contracts.algorithms import AlgorithmContract as AlgorithmContract
    from mimetic.testing.contracts.commands import CommandContract as CommandContract
    from mimetic.testing.contracts.env_wrappers import EnvWrapperContract as EnvWrapperContract
    from mimetic.testing.contracts.loggers import LoggerContract as LoggerContract
    from mimetic.testing.contracts.losses import LossContract as LossContract
    from mimetic.testing.contracts.policies import PolicyContract as PolicyContract
    from mimetic.testing.contracts.policy_wrappers import PolicyWrapperContract as PolicyWrapperContract
    from mimetic.testing.contracts.rewards import RewardContract as RewardContract
    from mimetic.testing.contracts.sources import DataSourceContract as DataSourceContract
    from mimetic.testing.contracts.venv_wrappers import VenvWrapperContract as VenvWrapperContract
    from mimetic.testing.distributions import (
        discovered as discovered,
        fake_distribution as fake_distribution,
        manager_with as manager_with,
    )
    from mimetic.testing.examination import check_plugin as check_plugin

_MODULE_OF = {
    "AlgorithmContract": "contracts.algorithms",
    "CommandContract": "contracts.commands",
    "DataSourceContract": "contracts.sources",
    "EnvWrapperContract": "contracts.env_wrappers",
    "LoggerContract": "contracts.loggers",
    "LossContract": "contracts.losses",
    "PolicyContract": "contracts.policies",
    "PolicyWrapperContract": "contracts.policy_wrappers",
    "RewardContract": "contracts.rewards",
    "VenvWrapperContract": "contracts.venv_wrappers",
    "check_plugin": "examination",
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
