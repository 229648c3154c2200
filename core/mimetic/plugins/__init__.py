"""Which plugins are installed, what became of each, and what can be used?

``installed`` reads metadata, ``discovery`` imports and judges, ``registry`` answers, ``process`` keeps one registry
for the whole process, ``culprits`` tells whose code raised. Nothing here imports pydantic or a component before it is
asked for one.
"""

from mimetic.plugins.culprits import naming_the_provider as naming_the_provider
from mimetic.plugins.discovery import discover as discover
from mimetic.plugins.process import registry as registry, using as using
from mimetic.plugins.records import Component as Component, PluginRecord as PluginRecord, PluginState as PluginState
from mimetic.plugins.registry import Registry as Registry

__all__ = [
    "Component",
    "PluginRecord",
    "PluginState",
    "Registry",
    "discover",
    "naming_the_provider",
    "registry",
    "using",
]
