"""What was installed, where did it run, and when? The facts that a run is repeated by."""

import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mimetic.plugins import Registry
from mimetic.rundir.folder import RunDir


@dataclass(slots=True)
class Manifest:
    """The file ``manifest.json`` while a run goes on: written at the start, and again with the outcome."""

    run_dir: RunDir
    facts: Mapping[str, object]
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def write(self, status: str, **more: object) -> None:
        """Write the facts with ``status``: running, finished, interrupted or failed."""
        now = datetime.now(UTC)
        over = status != "running"
        self.run_dir.write_json(
            "manifest.json",
            {
                "status": status,
                "started": _stamp(self.started),
                "finished": _stamp(now) if over else None,
                "duration_s": round((now - self.started).total_seconds(), 3) if over else None,
                **self.facts,
                **more,
            },
        )


def describe_machine() -> dict[str, str]:
    """Return the Python and the platform; never the machine's name or its user's."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
    }


def installed_versions() -> dict[str, str]:
    """Return the version of every distribution that is installed, by name."""
    versions: dict[str, str] = {}
    for each in importlib.metadata.distributions():
        name = each.metadata["Name"]
        if name:
            versions.setdefault(name, each.version)  # the first on the path is the one that is imported
    return dict(sorted(versions.items(), key=lambda item: item[0].lower()))


def plugin_records(registry: Registry) -> list[dict[str, str]]:
    """Return name, state, reason, distribution and version of every plugin that was found."""
    return [
        {
            "name": each.name,
            "state": str(each.state),
            "reason": each.reason,
            "distribution": each.distribution,
            "version": each.version,
        }
        for each in registry.plugins
    ]


def git_state(folder: Path) -> dict[str, object] | None:
    """Return the commit that ``folder`` is checked out at and whether it was changed since; None outside git."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git(folder, "status", "--porcelain")
    return {"commit": commit, "changed": None if changes is None else bool(changes)}


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
