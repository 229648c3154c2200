"""How is each plugin looked at in a process of its own? Started, listened to, and outlived, whatever it does."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from mimetic.plugins import PluginState
from mimetic.plugins.discovery import by_name, passed_over
from mimetic.plugins.installed import Candidate
from mimetic.plugins.switches import Switches
from mimetic.testing.examination.findings import ComponentReport, Depth, Finding, Level, PluginReport

TIMEOUT_S = 120.0
"""How long a plugin may take, its contracts included."""

_START = (
    "import json, sys\n"
    "job = json.load(sys.stdin)\n"
    "sys.path[:] = job['path']\n"
    "from mimetic.testing.examination.inspection import main\n"
    "main(job)\n"
)


def examine(
    candidates: Sequence[Candidate],
    *,
    depth: Callable[[Candidate], Depth] = lambda _: Depth.CONTRACTS,
    timeout_s: float = TIMEOUT_S,
    on_done: Callable[[PluginReport], object] = lambda _: None,
) -> list[PluginReport]:
    """Look at plugins side by side, each in a process of its own; nothing of theirs is imported here.

    Args:
        candidates: what is installed; of those that share a name, the one that discovery would take is looked at.
        depth: how far to go with each.
        timeout_s: how long one plugin may take, before its process is ended.
        on_done: called with each report that is complete.
    """
    reports: list[PluginReport] = []
    due: list[Candidate] = []
    for _, (winner, *others) in by_name(candidates):
        if winner.hidden_by:
            others.insert(0, winner)
        else:
            due.append(winner)
        reports += [_passed_over(other, winner) for other in others]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool, _Processes() as processes:
        futures = [pool.submit(processes.examine, each, depth(each), timeout_s) for each in due]
        for future in as_completed(futures):
            reports.append(future.result())
            on_done(reports[-1])
    _find_conflicts(reports)
    return sorted(reports, key=lambda report: (report.name, report.state != PluginState.ACTIVE, report.distribution))


def _passed_over(other: Candidate, winner: Candidate) -> PluginReport:
    report = PluginReport.of(other)
    record = passed_over(other, winner, Switches())
    report.refuse(record.state, record.reason)
    return report


def _find_conflicts(reports: Sequence[PluginReport]) -> None:
    """Find names of components that several plugins offer."""
    offers: dict[tuple[str, str], list[PluginReport]] = {}
    for report in reports:
        for component in report.components:
            offers.setdefault((component.kind, component.name), []).append(report)
    for (kind, name), offering in offers.items():
        for report in offering if len(offering) > 1 else ():
            others = " and ".join(f"{each.provider} (plugin {each.name!r})" for each in offering if each is not report)
            message = f"{others} offers a {kind} of this name too, so none of them can be used"
            report.findings.append(Finding(Level.ERROR, f"{kind} {name!r}", message))


class _Processes:
    """The processes that are running, all of which end with the block."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = False

    def __enter__(self) -> "_Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True  # after Ctrl-C, plugins that wait for their turn are not started
        for process in list(self._running):
            _end(process)

    def examine(self, candidate: Candidate, depth: Depth, timeout_s: float) -> PluginReport:
        """Look at one plugin."""
        report = PluginReport.of(candidate)
        if self._over:
            return report
        if candidate.fault:
            report.refuse(PluginState.BROKEN, candidate.fault)
            return report
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            events, complaints = Path(folder, "events"), Path(folder, "stderr")
            events.touch()
            path = [os.path.abspath(each) for each in sys.path]  # the process works in a folder of its own
            job = {"path": path, "events": str(events), "depth": depth, "candidate": _plain(candidate)}
            with complaints.open("wb") as stderr:
                status = self._run(job, stderr, timeout_s)
            told = list(_lines(events))
            _read(told, report)
            if not told or "done" not in told[-1]:
                _explain_the_end(report, told, status, complaints, timeout_s)
        return report

    def _run(self, job: dict[str, Any], stderr: Any, timeout_s: float) -> int | None:
        """Run the plugin's process to its end; return its exit status, None when it had to be ended."""
        process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        self._running.add(process)
        try:
            process.communicate(json.dumps(job).encode(), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return None
        finally:
            self._running.discard(process)
        return process.returncode


def _plain(candidate: Candidate) -> dict[str, str]:
    return {
        "name": candidate.name,
        "value": candidate.value,
        "distribution": candidate.distribution,
        "version": candidate.version,
    }


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process, and whatever it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


# --- listening ------------------------------------------------------------------------------------------------------


def _lines(events: Path) -> Iterator[dict[str, Any]]:
    for line in events.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):  # the last line of a process that was killed
            yield json.loads(line)


def _read(told: Sequence[dict[str, Any]], report: PluginReport) -> None:
    for line in told:
        match line:
            case {"plugin": facts}:
                report.state, report.reason = PluginState(facts["state"]), facts["reason"]
                report.import_s, report.heavy, report.api = facts["import_s"], facts["heavy"], facts["api"]
            case {"component": facts}:
                report.components.append(ComponentReport(**facts))
            case {"finding": facts}:
                report.findings.append(Finding(Level(facts["level"]), facts["about"], facts["message"]))


def _explain_the_end(
    report: PluginReport, told: Sequence[dict[str, Any]], status: int | None, complaints: Path, timeout_s: float
) -> None:
    """Say how the plugin's process ended before it was done, and what it was doing."""
    steps = [line["doing"] for line in told if "doing" in line]
    doing = steps[-1] if steps else "starting"
    said = complaints.read_text(encoding="utf-8", errors="replace")
    if status is None:
        what = f"did not end within {timeout_s:g} s"
    elif status < 0:
        what = f"was killed by {_signal_name(-status)}"
    else:
        what = f"ended with status {status}"
    message = f"the interpreter {what} while {doing}{_place(said, report.entry_point.partition('.')[0])}"
    if len(steps) <= 1:
        report.refuse(PluginState.BROKEN, message)
    else:
        report.findings.append(Finding(Level.ERROR, "plugin", message))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _place(said: str, package: str) -> str:
    """Return where the process was when it died with a traceback, in the plugin's own code if it says so."""
    frames = re.findall(r'File "([^"<]+)", line (\d+)', said)
    own = [frame for frame in frames if package in Path(frame[0]).parts]
    return next((f" ({file}:{line})" for file, line in [*own, *frames]), "")
