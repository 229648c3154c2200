"""Which cases are measured, and what are their data? Shared by all contestants, in every environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

N_ROWS = 20_000
N_IMAGES = 2_000


def training_case(**options: Any) -> dict[str, Any]:
    """Describe a case: a network, its data, and the size of a batch."""
    return {"obs": 17, "acts": 6, "widths": [32, 32], "batch": 32, "policy": "mlp", "discrete": False, **options}


def title_of(case: dict[str, Any]) -> str:
    """Name a case."""
    if case["policy"] == "cnn":
        return f"pixels (4, 84, 84), Nature CNN, batch {case['batch']}"
    net = f"{len(case['widths'])}x{case['widths'][0]}"
    what = "CartPole" if case["discrete"] else f"obs {case['obs']}, act {case['acts']}"
    own = ", a policy of its own" if case["policy"] == "foreign" else ""
    return f"{what}, {net}{own}, batch {case['batch']}"


def spaces_of(case: dict[str, Any]) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """Return observation and action space."""
    if case["policy"] == "cnn":
        return gym.spaces.Box(0, 255, (4, 84, 84), np.uint8), gym.spaces.Discrete(case["acts"])
    obs_space = gym.spaces.Box(-np.inf, np.inf, (case["obs"],), np.float32)
    if case["discrete"]:
        return obs_space, gym.spaces.Discrete(case["acts"])
    return obs_space, gym.spaces.Box(-1.0, 1.0, (case["acts"],), np.float32)


def data_of(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and actions: noise, and a rule that a network can learn."""
    rng = np.random.default_rng(0)
    if case["policy"] == "cnn":
        images = rng.integers(0, 256, (N_IMAGES, 4, 84, 84), np.uint8)
        return images, rng.integers(0, case["acts"], N_IMAGES)
    n_rows = case.get("n_rows", N_ROWS)
    obs = rng.standard_normal((n_rows, case["obs"]), np.float32)
    if case["discrete"]:
        return obs, (obs[:, 0] > 0).astype(np.int64)
    rule = rng.standard_normal((case["obs"], case["acts"])) / np.sqrt(case["obs"])
    return obs, np.tanh(obs @ rule + 0.3 * rng.standard_normal((n_rows, case["acts"]))).astype(np.float32)


# --- data -------------------------------------------------------------------------------------------------------


def data_case(source: str, n_rows: int = 200_000) -> dict[str, Any]:
    """Describe demonstrations: how many, and in which form they are at hand."""
    return {"source": source, "n_rows": n_rows, "obs": 17, "acts": 6, "discrete": False, "policy": "mlp"}


def columns_of(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return as many rows as a case has."""
    rng = np.random.default_rng(0)
    obs = rng.standard_normal((case["n_rows"], case["obs"]), np.float32)
    return obs, np.clip(rng.standard_normal((case["n_rows"], case["acts"]), np.float32), -1.0, 1.0)


def pieces_of(case: dict[str, Any], length: int = 1000) -> list[tuple[np.ndarray, np.ndarray]]:
    """Cut the rows into episodes: T + 1 observations and T actions each."""
    obs, acts = columns_of(case)
    starts = range(0, len(acts), length)
    return [(np.concatenate([obs[i : i + length], obs[i : i + 1]]), acts[i : i + length]) for i in starts]
