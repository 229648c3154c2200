"""What does a film cost beside drawing its frames, in time and memory?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from harness import HERE, ONE_THREAD, Samples, Settings, Table, rounded, say

N_FRAMES = 3000
TITLES = {
    "render": "drawing alone",
    "wrapper": "`VideoWrapper`",
    "eval": "evaluation with `videos`",
    "reference": "reference's `VideoWrapper`",
}
COLUMNS = [
    "3,000 frames of 400x600",
    "seconds",
    "beside drawing",
    "CPU s",
    "beside drawing",
    "encoder, CPU s",
    "growth, MiB",
]


def run(settings: Settings) -> list[Table]:
    """Film in turns, each film in a process of its own."""
    pythons = {"render": sys.executable, "wrapper": sys.executable, "eval": sys.executable}
    if settings.peer is not None and _can_film(settings.peer):
        pythons["reference"] = str(settings.peer)
    n = N_FRAMES // 10 if settings.quick else N_FRAMES
    measured: dict[str, list[dict[str, float]]] = {how: [] for how in pythons}
    for number in range(min(settings.rounds, 5)):
        say(f"video: round {number + 1}")
        for how, python in pythons.items():
            measured[how].append(_film(python, how, n))
    table = Table("video", "Filming", COLUMNS)
    alone = {key: _samples(measured["render"], key) for key in ("wall_s", "cpu_s")}
    for how, answers in measured.items():
        wall, cpu, encoder, growth = (
            _samples(answers, key) for key in ("wall_s", "cpu_s", "encoder_cpu_s", "growth_mib")
        )
        table.rows.append(
            [
                TITLES[how],
                wall.show(),
                f"x{wall.over(alone['wall_s']).show()}",
                cpu.show(),
                f"x{cpu.over(alone['cpu_s']).show()}",
                rounded(encoder.median),
                rounded(max(growth.values)),
            ]
        )
        table.data.append({"how": how, "n_frames": n, "answers": answers})
    if settings.quick:
        table.notes.append(f"Quick: {n:,} frames.")
    return [table]


def _samples(answers: list[dict[str, float]], key: str) -> Samples:
    return Samples(tuple(answer[key] for answer in answers))


def _film(python: str, how: str, n: int) -> dict[str, float]:
    command = [python, "-W", "ignore", str(HERE / "filming.py"), how, str(n)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    if done.returncode:
        raise RuntimeError(f"{how} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _can_film(python: Path) -> bool:
    """Whether the reference library's environment has what it films with."""
    code = "import pygame, imitation.util.video_wrapper, moviepy.video.io.ImageSequenceClip"
    return subprocess.run([str(python), "-c", code], check=False, capture_output=True).returncode == 0
