"""What is right and wrong with installed plugins? Each is looked at in a process of its own.

``findings`` is what is found. In the plugin's process ``inspection`` looks for it, ``trials`` builds components and
holds them to their contracts, ``telling`` says what was found. ``processes`` starts such processes, listens to them and
survives whatever happens in them; ``plugin_check`` is the same as a test.
"""

from mimetic.testing.examination.findings import (
    ComponentReport as ComponentReport,
    Depth as Depth,
    Finding as Finding,
    Level as Level,
    PluginReport as PluginReport,
)
from mimetic.testing.examination.plugin_check import check_plugin as check_plugin
from mimetic.testing.examination.processes import examine as examine

__all__ = ["ComponentReport", "Depth", "Finding", "Level", "PluginReport", "check_plugin", "examine"]
