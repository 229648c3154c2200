"""Films CartPole in a process of its own: ``python filming.py HOW N`` prints as JSON what ``N`` steps took.

HOW: ``render`` draws every step and keeps nothing; ``wrapper`` is mimetic's VideoWrapper, ``eval`` an evaluation with
``videos``; ``reference`` is the reference library's VideoWrapper, in its own Python.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import gymnasium as gym
import numpy as np

FOREVER = 10**9

Steps = Callable[[int], None]


def peak_mib() -> float:
    """Return the most memory that this process has had, without its children."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def state_at(step: int) -> np.ndarray:
    """Return where a cart is that sways, so that every frame is another one and no episode ends."""
    return np.array([np.sin(step / 50), 0.0, 0.15 * np.sin(step / 20), 0.0])


def stepping(how: str) -> tuple[Steps, Callable[[], None]]:
    """Return what makes n steps, and what ends the work."""
    env: Any = gym.make("CartPole-v1", render_mode="rgb_array", max_episode_steps=FOREVER)
    bare = env.unwrapped
    if how == "wrapper":
        from mimetic_video import VideoWrapper

        env = VideoWrapper(env, Path(tempfile.mkdtemp()))
    if how == "reference":
        import imitation.util.video_wrapper

        env = imitation.util.video_wrapper.VideoWrapper(env, Path(tempfile.mkdtemp()))
    env.reset(seed=0)

    def steps(n: int) -> None:
        for step in range(n):
            bare.state = state_at(step)
            env.step(step % 2)
            if how == "render":
                env.render()

    return steps, env.close


def evaluating() -> Steps:
    """Return what evaluates an episode of n steps and films it."""
    from mimetic.config import EnvConfig, EvaluationConfig
    from mimetic.evaluate import evaluate

    class Swaying(gym.Wrapper[Any, Any, Any, Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(gym.make("CartPole-v1", max_episode_steps=FOREVER, **options))
            self.n = 0

        def step(self, action: Any) -> Any:
            bare: Any = self.unwrapped
            bare.state = state_at(self.n)
            self.n += 1
            return super().step(action)

    gym.register("Swaying-v0", Swaying)

    def steps(n: int) -> None:
        settings = EvaluationConfig.model_validate({"n_episodes": 1, "max_steps": n, "videos": "one"})
        evaluate(None, EnvConfig(id="Swaying-v0"), settings, seed=0, out=Path(tempfile.mkdtemp()))

    return steps


def main(how: str, n: int) -> dict[str, float]:
    """Warm up, then measure."""
    close: Callable[[], None] = lambda: None  # noqa: E731 - an evaluation ends its own work
    if how == "eval":
        steps = evaluating()
    else:
        steps, close = stepping(how)
    steps(50)
    peak, wall, cpu = peak_mib(), time.perf_counter(), time.process_time()
    steps(n)
    close()
    return {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "encoder_cpu_s": resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime,
        "growth_mib": peak_mib() - peak,
    }


if __name__ == "__main__":
    said, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))), file=said)
