"""How long does ``mimetic train`` take until its first gradient step, beside the imports that it cannot do without?"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness import Samples, Settings, Table, child_cpu_seconds, say

RUN_FILE = """\
name: first-step
env: {id: CartPole-v1}
demonstrations: {name: demo}
algorithm: {name: bc, n_batches: 1}
evaluation: {n_episodes: 1}
"""

TO_THE_FIRST_STEP = """\
import os, sys
from mimetic_bc.trainer import BCTrainer

def leave(*_):
    sys.stdout.flush()
    os._exit(0)

BCTrainer._move_on = leave
from mimetic.cli import main
sys.exit(main(sys.argv[1:]))
"""


IMPORTS = "import os, torch, stable_baselines3; os._exit(0)"  # leaves at once, as the other does


def run(settings: Settings) -> list[Table]:
    """Measure three commands in turns, each a process of its own."""
    folder = Path(tempfile.mkdtemp())
    (folder / "first.yaml").write_text(RUN_FILE, encoding="utf-8")
    measured: dict[str, list[float]] = {"imports": [], "step": [], "help": []}
    for number in range(settings.rounds + 1):
        say(f"start-up: round {number}")
        commands = {
            "imports": ["-c", IMPORTS],
            "step": ["-c", TO_THE_FIRST_STEP, "train", str(folder / "first.yaml"), "--out", str(folder / str(number))],
            "help": ["-m", "mimetic", "--help"],
        }
        for name, arguments in commands.items():
            seconds = child_cpu_seconds([sys.executable, *arguments], cwd=folder)
            if number:  # the first round fills caches
                measured[name].append(seconds)
    samples = {name: Samples(tuple(values)) for name, values in measured.items()}
    table = Table("startup", "Start-up", ["command", "CPU seconds", "beside the imports"])
    titles = {
        "imports": "`python -c 'import torch, stable_baselines3'`",
        "step": "`mimetic train` until its first gradient step",
        "help": "`mimetic --help`",
    }
    for name, title in titles.items():
        table.rows.append([title, samples[name].show(), f"x{samples[name].over(samples['imports']).show()}"])
        table.data.append({"command": name, "cpu_s": list(samples[name].values)})
    return [table]
