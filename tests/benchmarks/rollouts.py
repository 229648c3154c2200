"""How fast are episodes collected, and how fast is a policy evaluated? Beside the reference library, on CartPole.

And when does it pay to give environments processes of their own?
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from harness import HERE, ONE_THREAD, Samples, Settings, Table, Worker, beside_reference, rates, rounded, say, workers
from rollout_cases import LONG, rollout_case, title_of

_CASES = [
    *(rollout_case(n_envs, balances=balances) for n_envs in (1, 8, 64) for balances in (False, True)),
    *(rollout_case(n_envs, "foreign") for n_envs in (1, 8, 64)),
]
_COLUMNS = {
    "reference": ("rollouts_imitation", "rollout", "reference, steps/s"),
    "bare": ("rollouts_bare", "bare", "bare loop"),
    "rollout": ("rollouts_mimetic", "rollout", "`rollout`, SB3's venv"),
    "collect": ("rollouts_mimetic", "collect", "`mimetic collect`"),
    "eval": ("rollouts_mimetic", "eval", "`mimetic eval`"),
    "collect, native": ("rollouts_mimetic", "collect, native", "`collect`, native"),
    "eval, native": ("rollouts_mimetic", "eval, native", "`eval`, native"),
}


def run(settings: Settings) -> list[Table]:
    """Measure every case."""
    table = Table("rollouts", "Rollouts and evaluation", ["case", *(title for *_, title in _COLUMNS.values())])
    modules = {module: sys.executable for module, *_ in _COLUMNS.values()} | {"rollouts_imitation": settings.peer}
    with workers(modules) as running:
        for case in _CASES:
            say(f"rollouts: {title_of(case)}")
            least = case["n_envs"] * LONG * 4 if case["balances"] else case["n_envs"] * 100
            _add(table, case, rates(_contestants(case, running), settings, least=least))
    return [table, _processes(settings)]


def _contestants(case: dict[str, Any], running: Mapping[str, Worker]) -> dict[str, Callable[[int], float]]:
    absent = {"bare"} if case["policy"] == "foreign" else set()
    if case["n_envs"] == 1:
        absent |= {"collect, native", "eval, native"}
    return {
        label: running[module].asks(name, case)
        for label, (module, name, _) in _COLUMNS.items()
        if module in running and label not in absent
    }


def _add(table: Table, case: dict[str, Any], measured: Mapping[str, Samples]) -> None:
    table.rows.append([title_of(case), *beside_reference(measured, _COLUMNS)])
    table.data.append({"case": case, "steps_per_s": {label: list(each.values) for label, each in measured.items()}})


# --- processes ------------------------------------------------------------------------------------------------------

_STEP_MS = (0, 0.1, 1, 10)
_WAYS = {"1 environment": (1, False), "2 environments": (2, False), "2 in processes": (2, True)}


def _processes(settings: Settings) -> Table:
    """Evaluate in environments of different cost, by the clock: processes share the work, not the effort."""
    table = Table(
        "processes", "Environments in processes", ["a step takes", *(f"{way}, steps/s" for way in _WAYS), "start"]
    )
    for ms in _STEP_MS:
        say(f"rollouts: processes, steps of {ms} ms")
        answers: dict[str, list[dict[str, float]]] = {way: [] for way in _WAYS}
        for _ in range(1 if settings.quick else 3):
            for way, (n_envs, processes) in _WAYS.items():
                answers[way].append(_busy(ms, n_envs, processes))
        speeds = [Samples(tuple(answer["steps_per_s"] for answer in answers[way])) for way in _WAYS]
        start = Samples(tuple(answer["begins_after_s"] for answer in answers["2 in processes"]))
        table.rows.append([f"{ms} ms", *(speed.show() for speed in speeds), f"{rounded(start.median, 2)} s"])
        table.data.append({"step_ms": ms, "answers": answers})
    table.notes.append("Steps per second of the clock; *start* is what processes take until the first step.")
    return table


def _busy(ms: float, n_envs: int, processes: bool) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", str(HERE / "busy_world.py"), str(ms), str(n_envs), str(processes)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    if done.returncode:
        raise RuntimeError(f"busy_world.py ended with {done.returncode}:\n{done.stderr[-4000:]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer
