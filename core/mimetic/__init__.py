"""mimetic, a platform for imitation learning in which everything that learns, records, shows or loads is a plugin.

Importing this package is light: each name below is imported from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.algorithms import (
        DemonstrationAlgorithm as DemonstrationAlgorithm,
        Report as Report,
        Trainer as Trainer,
    )
    from mimetic.config import (
        ComponentConfig as ComponentConfig,
    )
    from mimetic.errors import (
        ComponentConflictError as ComponentConflictError,
        ComponentFailedError as ComponentFailedError,
        ConfigError as ConfigError,
        DataError as DataError,
        EnvError as EnvError,
        MimeticDeprecationWarning as MimeticDeprecationWarning,
        MimeticError as MimeticError,
        MissingDependencyError as MissingDependencyError,
        PluginError as PluginError,
        SpaceError as SpaceError,
        TargetExistsError as TargetExistsError,
        UnknownComponentError as UnknownComponentError,
        UntrustedFileError as UntrustedFileError,
    )
    from mimetic.hookspecs import (
        API_VERSION as API_VERSION,
        AlgorithmContext as AlgorithmContext,
        AlgorithmEntry as AlgorithmEntry,
        CommandEntry as CommandEntry,
        DataSourceContext as DataSourceContext,
        DataSourceEntry as DataSourceEntry,
        LoggerContext as LoggerContext,
        LoggerEntry as LoggerEntry,
        LossContext as LossContext,
        LossEntry as LossEntry,
        PolicyContext as PolicyContext,
        PolicyEntry as PolicyEntry,
        RewardContext as RewardContext,
        RewardEntry as RewardEntry,
        WrapperContext as WrapperContext,
        WrapperEntry as WrapperEntry,
        hookimpl as hookimpl,
    )
    from mimetic.logs import (
        HierarchicalLogger as HierarchicalLogger,
        Record as Record,
    )
    from mimetic.losses import (
        LossInputs as LossInputs,
    )
    from mimetic.policies import (
        Actor as Actor,
    )
    from mimetic.storage import (
        load_demonstrations as load_demonstrations,
        load_policy as load_policy,
        save_demonstrations as save_demonstrations,
        save_policy as save_policy,
    )
    from mimetic.types import (
        Demonstrations as Demonstrations,
        Trajectory as Trajectory,
        TrajectoryDataset as TrajectoryDataset,
        TrajectoryWithRew as TrajectoryWithRew,
        Transitions as Transitions,
        TransitionsMinimal as TransitionsMinimal,
        TransitionsWithRew as TransitionsWithRew,
    )

_MODULE_OF = {
    "ComponentConflictError": "errors",
    "ComponentFailedError": "errors",
    "ConfigError": "errors",
    "DataError": "errors",
    "EnvError": "errors",
    "MimeticDeprecationWarning": "errors",
    "MimeticError": "errors",
    "MissingDependencyError": "errors",
    "PluginError": "errors",
    "SpaceError": "errors",
    "TargetExistsError": "errors",
    "UnknownComponentError": "errors",
    "UntrustedFileError": "errors",
    "API_VERSION": "hookspecs",
    "AlgorithmContext": "hookspecs",
    "AlgorithmEntry": "hookspecs",
    "CommandEntry": "hookspecs",
    "DataSourceContext": "hookspecs",
    "DataSourceEntry": "hookspecs",
    "LoggerContext": "hookspecs",
    "LoggerEntry": "hookspecs",
    "LossContext": "hookspecs",
    "LossEntry": "hookspecs",
    "PolicyContext": "hookspecs",
    "PolicyEntry": "hookspecs",
    "RewardContext": "hookspecs",
    "RewardEntry": "hookspecs",
    "WrapperContext": "hookspecs",
    "WrapperEntry": "hookspecs",
    "hookimpl": "hookspecs",
    "ComponentConfig": "config",
    "Demonstrations": "types",
    "Trajectory": "types",
    "TrajectoryDataset": "types",
    "TrajectoryWithRew": "types",
    "Transitions": "types",
    "TransitionsMinimal": "types",
    "TransitionsWithRew": "types",
    "Actor": "policies",
    "LossInputs": "losses",
    "load_demonstrations": "storage",
    "load_policy": "storage",
    "save_demonstrations": "storage",
    "save_policy": "storage",
    "HierarchicalLogger": "logs",
    "Record": "logs",
    "DemonstrationAlgorithm": "algorithms",
    "Report": "algorithms",
    "Trainer": "algorithms",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too, loaded or not."""
    return sorted({*globals(), *_MODULE_OF})
