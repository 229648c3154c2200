"""Where does a run, or an evaluation, keep its files, and what does its manifest say?"""

from mimetic.rundir.folder import RunDir, write_atomically
from mimetic.rundir.manifest import Manifest, describe_machine, git_state, installed_versions, plugin_records

__all__ = [
    "Manifest",
    "RunDir",
    "describe_machine",
    "git_state",
    "installed_versions",
    "plugin_records",
    "write_atomically",
]
