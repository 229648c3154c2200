"""How does a run file become a trained, evaluated and saved policy? The story of one run, from beginning to end."""

from mimetic.run.execution import execute
from mimetic.run.result import RunInfo, RunResult

__all__ = ["RunInfo", "RunResult", "execute"]
