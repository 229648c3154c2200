"""Tiny environments whose returns, lengths and frames are known by thought; registered under ``mimetic-tests/``."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Len(gym.Env[np.ndarray, Any]):
    """Terminates at step ``n`` with reward ``r`` each step; observations are step numbers. ``n=None``: never ends."""

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 30}  # noqa: RUF012 - gymnasium's form

    def __init__(
        self, n: int | None = 5, r: float = 1.0, *, render_mode: str | None = None, size: tuple[int, int] = (64, 96)
    ) -> None:
        self.n, self.r, self.render_mode, self.size = n, r, render_mode, size
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.Discrete(2)
        self.t = 0
        self.episode = -1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        self.episode += 1
        return self._obs(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.t += 1
        return self._obs(), self.r, self.n is not None and self.t >= self.n, False, {}

    def render(self) -> Any:
        """A grey frame: level = 10 * step + 3 * (episode mod 3), so that a decoded frame tells where it is from."""
        if self.render_mode != "rgb_array":
            return None
        level = (10 * self.t + 3 * (self.episode % 3)) % 250
        return np.full((*self.size, 3), level, np.uint8)

    def _obs(self) -> np.ndarray:
        return np.array([self.t], np.float32)


class Cont(Len):
    """``Len`` with a Box action of the given bounds."""

    def __init__(self, low: float = -1.0, high: float = 1.0, n: int | None = 5, **kwargs: Any) -> None:
        super().__init__(n, **kwargs)
        self.action_space = spaces.Box(low, high, (1,), np.float32)


class DictObs(gym.Env[dict[str, np.ndarray], Any]):
    """Dict observations with ``k`` keys of Box(2,), each from the environment's own stream; terminates at ``n``."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - gymnasium's form

    def __init__(self, k: int = 2, n: int = 5, *, render_mode: str | None = None) -> None:
        self.k, self.n, self.render_mode = k, n, render_mode
        keys: dict[str, spaces.Space[Any]] = {f"key{i}": spaces.Box(-1, 1, (2,), np.float32) for i in range(k)}
        self.observation_space: spaces.Space[Any] = spaces.Dict(keys)
        self.action_space: spaces.Space[Any] = spaces.Discrete(3)
        self.t = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self._obs(), {}

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        self.t += 1
        return self._obs(), 1.0, self.t >= self.n, False, {}

    def render(self) -> Any:
        return np.zeros((32, 32, 3), np.uint8) if self.render_mode == "rgb_array" else None

    def _obs(self) -> dict[str, np.ndarray]:
        return {f"key{i}": self.np_random.uniform(-1, 1, 2).astype(np.float32) for i in range(self.k)}


class Noisy(Len):
    """Length and observations drawn from the environment's own stream: shows whether episodes get their own seeds."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.n = int(self.np_random.integers(1, 20))
        self.noise = float(self.np_random.normal())
        return self._obs(), {}

    def _obs(self) -> np.ndarray:
        return np.array([self.t + getattr(self, "noise", 0.0)], np.float32)


class Stuck(Len):
    """``Len(3)``, but where the first seed is even there is no end."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            self.n = None if seed % 2 == 0 else 3
        return super().reset(seed=seed, options=options)


for _name, _world in {"Len": Len, "Cont": Cont, "DictObs": DictObs, "Noisy": Noisy, "Stuck": Stuck}.items():
    gym.register(f"mimetic-tests/{_name}-v0", entry_point=f"worlds:{_world.__name__}")
