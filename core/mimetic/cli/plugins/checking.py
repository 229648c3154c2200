"""Is every plugin in order? A table for people, a document for machines, an exit status for continuous integration."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mimetic.cli.plugins.tables import aligned, wrapped
from mimetic.errors import ConfigError, suggestion
from mimetic.plugins.installed import Candidate, installed_candidates, normalised
from mimetic.testing.examination import Depth, Level, PluginReport, examine
from mimetic.testing.examination.processes import TIMEOUT_S

IN_ORDER, WRONG = 0, 2

HEAD = ("plugin", "distribution", "api", "import", "components", "facts", "verdict")


def check_plugins(arguments: argparse.Namespace) -> int:
    """Carry out ``mimetic plugins check`` and return its exit status."""
    installed = installed_candidates()
    depth = Depth.IMPORTS if arguments.no_contracts else Depth.CONTRACTS
    wanted = _wanted(installed, arguments.distribution)
    with _Progress(len({candidate.name for candidate in installed})) as progress:
        reports = examine(
            installed,
            depth=lambda each: depth if each.distribution in wanted else Depth.ENTRIES,
            timeout_s=arguments.timeout or TIMEOUT_S,
            on_done=progress.advance,
        )
    reports = [report for report in reports if report.distribution in wanted]
    lines = [json.dumps(_document(reports), indent=2)] if arguments.json else _text(reports)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return IN_ORDER if all(report.ok for report in reports) else WRONG


def _wanted(installed: Sequence[Candidate], distribution: str | None) -> set[str]:
    """Return the names of the distributions that are asked for, as they write them.

    Raises:
        ConfigError: no installed distribution of that name offers a plugin.
    """
    names = {candidate.distribution for candidate in installed}
    if distribution is None:
        return names
    wanted = {name for name in names if normalised(name) == normalised(distribution)}
    if not wanted:
        known = ", ".join(sorted(names)) or "none"
        near = suggestion(distribution, names)
        raise ConfigError(
            f"no installed distribution that offers plugins is called {distribution!r}{near} (known: {known})"
        )
    return wanted


# --- for machines -------------------------------------------------------------------------------------------------


def _document(reports: Sequence[PluginReport]) -> Mapping[str, Any]:
    return {
        "ok": all(report.ok for report in reports),
        "plugins": [{"ok": report.ok, **dataclasses.asdict(report)} for report in reports],
    }


# --- for people ---------------------------------------------------------------------------------------------------


def _text(reports: Sequence[PluginReport]) -> Iterator[str]:
    if not reports:
        yield "no plugin is installed"
        return
    head, *rows = aligned([HEAD, *map(_row, reports)])
    yield head
    for row, report in zip(rows, reports, strict=True):
        yield row
        for finding in report.findings:
            yield from wrapped(f"{finding.level}: {finding.about}: {finding.message}", "    ")
    counts = {level: sum(f.level == level for each in reports for f in each.findings) for level in Level}
    yield f"{_counted(len(reports), 'plugin')}: " + ", ".join(_counted(n, level) for level, n in counts.items())


def _row(report: PluginReport) -> tuple[str, ...]:
    held = sum(component.held for component in report.components)
    failed = sum(component.failed for component in report.components)
    return (
        report.name,
        report.provider,
        report.api or "-",
        "-" if report.import_s is None else f"{report.import_s:.3f} s",
        str(len(report.components)),
        f"{held} of {held + failed}" if held + failed else "-",
        "in order" if report.ok else str(report.state) if report.state != "active" else "wrong",
    )


def _counted(n: int, noun: str) -> str:
    return f"{n or 'no'} {noun}{'' if n == 1 else 's'}"


class _Progress:
    """A bar on standard error, when that is a terminal."""

    def __init__(self, total: int) -> None:
        from tqdm import tqdm  # only who checks needs it

        self._bar = tqdm(total=total, unit="plugin", disable=None, leave=False)

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def advance(self, report: PluginReport) -> None:
        """Count a plugin that was looked at."""
        self._bar.set_postfix_str(report.name)
        self._bar.update()
