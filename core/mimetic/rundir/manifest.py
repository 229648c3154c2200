"""What was installed, where did it run, and when? The facts that a run is repeated by."""

import importlib.metadata
import platform
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from mimetic.plugins import Registry
from mimetic.rundir.folder import RunDir


class Manifest:
    """The file ``manifest.json``: written when a run starts, and again with its outcome."""

    def __init__(self, run_dir: RunDir, facts: Mapping[str, object]) -> None:
        """Describe a run by ``facts``; more can be added until it ends."""
        self._run_dir = run_dir
        self._facts = dict(facts)
        self._started = datetime.now(UTC)

    def add(self, facts: Mapping[str, object]) -> None:
        """Add what turned out since."""
        self._facts.update(facts)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Write the manifest, and at the end again: finished, or what ended the run instead."""
        self._write("running", None, None)
        try:
            yield
        except KeyboardInterrupt:
            self._write("interrupted", None, datetime.now(UTC))
            raise
        except BaseException as error:
            self._write("failed", f"{type(error).__name__}: {error}", datetime.now(UTC))
            raise
        self._write("finished", None, datetime.now(UTC))

    def _write(self, status: str, error: str | None, finished: datetime | None) -> None:
        times = {
            "started": self._started.isoformat(timespec="seconds"),
            "finished": finished.isoformat(timespec="seconds") if finished else None,
            "duration_s": round((finished - self._started).total_seconds(), 3) if finished else None,
        }
        self._run_dir.write_json("manifest.json", {"status": status, "error": error, **times, **self._facts})


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
        name, version = _name_and_version(each)
        if name:
            versions.setdefault(name, version)  # the first on the path is the one that is imported
    return dict(sorted(versions.items(), key=lambda item: item[0].lower()))


def _name_and_version(distribution: importlib.metadata.Distribution) -> tuple[str, str]:
    """Read two lines of a distribution's metadata; parsing all of it takes twenty times as long."""
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    found = {"Name": "", "Version": ""}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if not line or all(found.values()):
            break
        if key in found and not found[key]:
            found[key] = value.strip()
    return found["Name"], found["Version"]


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
