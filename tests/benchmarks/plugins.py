"""What do installed plugins cost a command? Each has a plugin.py of its own, with four entries."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from harness import Samples, Settings, Table, child_cpu_seconds, rounded, say

from mimetic.testing import fake_distribution

COUNTS = (0, 1, 50, 200)
"""How many plugins are installed beside those in the box."""

COMMANDS = {
    "an empty interpreter": ["-c", "pass"],
    "`mimetic --help`": ["-m", "mimetic", "--help"],
    "`mimetic plugins`": ["-m", "mimetic", "plugins"],
    "`mimetic plugins show mlp`": ["-m", "mimetic", "plugins", "show", "policy:mlp"],
    "`mimetic config check`": ["-m", "mimetic", "config", "check", "run.yaml"],
}

PLUGIN = """
    from collections.abc import Iterator

    from mimetic import LossEntry, PolicyEntry, hookimpl

    MIMETIC_API = (1, 0)


    @hookimpl
    def mimetic_policies() -> Iterator[PolicyEntry]:
        for name in ("small", "large"):
            yield PolicyEntry(
                name=f"{vendor}.{{name}}",
                config="{package}.config:Config",
                factory="{package}.policy:build",
                summary="Acts",
            )


    @hookimpl
    def mimetic_losses() -> Iterator[LossEntry]:
        for name in ("soft", "hard"):
            yield LossEntry(
                name=f"{vendor}.{{name}}",
                config="{package}.config:Config",
                factory="{package}.losses:build",
                summary="Pays",
            )
"""

RUN = "demonstrations: demo\nalgorithm: {name: bc, n_epochs: 1}\n"


def run(settings: Settings) -> list[Table]:
    """Measure every command with every number of plugins, in turns."""
    columns = ["command", *(f"{n} more" for n in COUNTS)]
    table = Table("plugins", "Installed plugins: CPU seconds of a command", columns)
    with tempfile.TemporaryDirectory() as folder:
        sites = {n: _site(Path(folder, f"site{n}"), n) for n in COUNTS}
        here = Path(folder, "here")
        here.mkdir()
        (here / "run.yaml").write_text(RUN, encoding="utf-8")
        for title, words in COMMANDS.items():
            say(f"plugins: {title}")
            measured = {n: _measured(words, site, here, settings) for n, site in sites.items()}
            table.rows.append([title, *(cpu.show(2) for cpu, _ in measured.values())])
            table.data += [
                {"command": title, "plugins": n, "cpu_s": cpu.median, "wall_s": wall.median}
                for n, (cpu, wall) in measured.items()
            ]
            slowest = max(wall.median for _, wall in measured.values())
            say(f"plugins: {title}: at most {rounded(slowest, 2)} s by the clock on the wall")
    return [table]


def _site(folder: Path, n: int) -> Path:
    folder.mkdir()
    for number in range(n):
        vendor = f"vendor{number:03}"
        package = f"{vendor}_mimetic"
        plugin = PLUGIN.format(vendor=vendor, package=package)
        fake_distribution(folder, f"{vendor}-mimetic", plugin=plugin, requires=["mimetic>=0.1,<1"])
    return folder


def _measured(words: Sequence[str], site: Path, here: Path, settings: Settings) -> tuple[Samples, Samples]:
    """Return CPU and wall seconds of each round, after one that fills the caches of the file system."""
    command, environ = [sys.executable, *words], {"PYTHONPATH": str(site)}
    child_cpu_seconds(command, env=environ, cwd=here)
    cpu, wall = [], []
    for _ in range(settings.rounds):
        started = time.perf_counter()
        cpu.append(child_cpu_seconds(command, env=environ, cwd=here))
        wall.append(time.perf_counter() - started)
    return Samples(tuple(cpu)), Samples(tuple(wall))


if __name__ == "__main__":
    for each in run(Settings(quick="--quick" in sys.argv)):
        print(f"## {each.title}\n\n{each.markdown()}")
