"""An environment whose step takes as long as is asked. ``python busy_world.py MS N_ENVS PROCESSES`` evaluates in it.

It prints as JSON how many steps a second of the clock an evaluation makes, and how long it takes to begin.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np

ID = "busy_world:Busy-v0"
LENGTH = 50


class Busy(gym.Env[np.ndarray, int]):
    """Calculates for ``ms`` milliseconds a step; ends after 50 steps."""

    observation_space: gym.Space[Any] = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space: gym.Space[Any] = gym.spaces.Discrete(2)

    def __init__(self, ms: float) -> None:
        self.seconds = ms / 1000
        self.n_steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin."""
        self.n_steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Calculate."""
        end = time.thread_time() + self.seconds
        while time.thread_time() < end:
            pass
        self.n_steps += 1
        return np.zeros(4, np.float32), 1.0, self.n_steps >= LENGTH, False, {}


if "Busy-v0" not in gym.registry:
    gym.register("Busy-v0", "busy_world:Busy")


def main(ms: float, n_envs: int, processes: bool) -> dict[str, float]:
    """Evaluate for few steps and for many: what both take is the beginning."""
    from mimetic.config import EnvConfig, EvaluationConfig
    from mimetic.evaluate import evaluate

    def seconds(n_episodes: int) -> float:
        settings = EvaluationConfig(n_episodes=n_episodes, n_envs=n_envs, processes=processes)
        began = time.perf_counter()
        evaluate(None, EnvConfig(id=ID, kwargs={"ms": ms}), settings, seed=0)
        return time.perf_counter() - began

    seconds(n_envs)
    n_long = n_envs * max(2, round(100 / (1 + 10 * ms)))
    short, long = seconds(n_envs), seconds(n_envs + n_long)
    rate = n_long * LENGTH / max(long - short, 1e-9)
    return {"steps_per_s": rate, "begins_after_s": max(0.0, short - n_envs * LENGTH / rate)}


if __name__ == "__main__":
    print(json.dumps(main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "True")))
