"""An environment whose return tells what was done to it, and small things that settings can name by their path."""

import os
import time
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

Measure = Literal["actions", "renders", "process", "slow steps"]


class Meter(gym.Env[np.ndarray, Any]):
    """Ends at step ``n``. Its reward is what ``measure`` names, so that a return shows what reached the environment."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - gymnasium's form

    def __init__(self, n: int = 4, measure: Measure = "actions", *, render_mode: str | None = None) -> None:
        self.n, self.measure, self.render_mode = n, measure, render_mode
        self.observation_space = spaces.Box(-10, 10, (2,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.Discrete(2)
        self.t = self.n_renders = 0
        self.last_step = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        self.last_step = time.perf_counter()
        return self._obs(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        waited, self.last_step = time.perf_counter() - self.last_step, time.perf_counter()
        self.t += 1
        reward = {
            "actions": float(int(action) << self.t),
            "renders": float(self.n_renders),
            "process": float(os.getpid()),
            "slow steps": float(waited > 0.1),
        }[self.measure]
        return self._obs(), reward, self.t >= self.n, False, {}

    def render(self) -> Any:
        self.n_renders += 1
        return np.full((32, 32, 3), 20 * self.t, np.uint8)

    def _obs(self) -> np.ndarray:
        return self.np_random.normal(size=2).astype(np.float32)


gym.register("mimetic-tests/Meter-v0", entry_point="flip_worlds:Meter")
gym.register("mimetic-tests/ShortMeter-v0", entry_point="flip_worlds:Meter", kwargs={"n": 3})


def demonstrations() -> tuple[np.ndarray, np.ndarray]:
    """Return 20 observations and the actions that were taken."""
    obs = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    return obs, (obs[:, 0] > 0).astype(np.int64)


def other_demonstrations() -> tuple[np.ndarray, np.ndarray]:
    """Return 12 observations and the other actions."""
    obs, acts = demonstrations()
    return obs[:12], 1 - acts[:12]


def episodes() -> list[dict[str, Any]]:
    """Return four whole episodes of 3, 4, 5 and 6 steps, whose returns are their lengths."""
    rng = np.random.default_rng(1)
    return [
        {
            "obs": rng.normal(size=(length + 1, 2)).astype(np.float32),
            "acts": rng.integers(0, 2, size=length),
            "rews": np.ones(length, np.float32),
            "terminal": True,
        }
        for length in (3, 4, 5, 6)
    ]


def always_zero(obs: Any, state: Any = None, episode_start: Any = None) -> Any:
    """Act as a policy of one observation and as one of a batch; the two differ in what they give."""
    return 0 if state is None and episode_start is None else (np.ones(len(episode_start), np.int64), state)


def always_one(obs: Any, state: Any = None, episode_start: Any = None) -> Any:
    """Act with 1."""
    return 1 if state is None and episode_start is None else (np.zeros(len(episode_start), np.int64), state)


def reward_one(obs: Any, acts: Any, next_obs: Any, dones: Any) -> np.ndarray:
    """Reward every transition with 1."""
    return np.ones(len(acts), np.float32)


def reward_two(obs: Any, acts: Any, next_obs: Any, dones: Any) -> np.ndarray:
    """Reward every transition with 2."""
    return np.full(len(acts), 2, np.float32)
