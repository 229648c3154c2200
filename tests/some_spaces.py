"""Spaces of every kind that policies support, single ones and a strategy that draws them."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from hypothesis import strategies as st

from mimetic.hookspecs import PolicyContext
from mimetic.policies import build_policy

Space = gym.Space[Any]

THREE = spaces.Discrete(3)
VECTOR = spaces.Box(-np.inf, np.inf, (4,), np.float32)

GRID = spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]), start=np.array([[1, 0], [-2, 7]]))

ACTION_SPACES: dict[str, Space] = {
    "a flat box": spaces.Box(-1.0, 1.0, (3,), np.float32),
    "a box without bounds": spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "a box of rank 2": spaces.Box(-2.0, 3.0, (2, 2), np.float32),
    "a box of rank 0": spaces.Box(-2.0, 3.0, (), np.float32),
    "a box of doubles": spaces.Box(-2.0, 3.0, (2,), np.float64),
    "a box of bytes": spaces.Box(0, 255, (2,), np.uint8),
    "a box of integers": spaces.Box(-3, 4, (2, 1), np.int32),
    "Discrete": spaces.Discrete(3),
    "Discrete that starts at 1": spaces.Discrete(3, start=1),
    "Discrete that starts below 0": spaces.Discrete(3, start=-7),
    "MultiDiscrete": spaces.MultiDiscrete([2, 5]),
    "MultiDiscrete of rank 2 with starts": GRID,
    "MultiBinary": spaces.MultiBinary(4),
    "MultiBinary of rank 2": spaces.MultiBinary((2, 3)),
}

OBSERVATION_SPACES: dict[str, Space] = {
    "a flat box": VECTOR,
    "a box of doubles": spaces.Box(-1.0, 1.0, (3,), np.float64),
    "a box of rank 0": spaces.Box(-1.0, 1.0, (), np.float32),
    "a box of rank 2": spaces.Box(-1.0, 1.0, (2, 3), np.float32),
    "an image": spaces.Box(0, 255, (6, 5, 3), np.uint8),
    "Discrete that starts at 2": spaces.Discrete(4, start=2),
    "MultiDiscrete of rank 2": GRID,
    "MultiBinary of rank 2": spaces.MultiBinary((2, 3)),
    "Dict": spaces.Dict(position=spaces.Box(-1.0, 1.0, (2,), np.float32), room=spaces.Discrete(3)),
    "nested Dict": spaces.Dict(
        {
            "a.b": spaces.Discrete(2),
            "hand": spaces.Dict(grip=spaces.MultiBinary(2), force=spaces.Box(-1.0, 1.0, (), np.float32)),
        }
    ),
}


def context(observation_space: Space = VECTOR, action_space: Space = THREE, seed: int = 0) -> PolicyContext:
    return PolicyContext(
        observation_space=observation_space,
        action_space=action_space,
        device=torch.device("cpu"),
        seed=seed,
        base_dir=Path.cwd(),
    )


def made(spec: str, observation_space: Space = VECTOR, action_space: Space = THREE, seed: int = 0) -> Any:
    """Build a policy by its SPEC."""
    return build_policy(spec, context(observation_space, action_space, seed))


def samples(space: Space, n: int, seed: int = 0) -> Any:
    """Draw n members on top of each other; mappings for Dict."""
    if isinstance(space, spaces.Dict):
        return {key: samples(sub, n, seed) for key, sub in space.spaces.items()}
    space.seed(seed)
    return np.stack([np.asarray(space.sample()) for _ in range(n)])


def rows(obs: Any, index: Any) -> Any:
    """Index every array."""
    return {key: rows(part, index) for key, part in obs.items()} if isinstance(obs, dict) else obs[index]


def _boxes() -> st.SearchStrategy[Space]:
    shapes = st.lists(st.integers(1, 3), max_size=3).map(tuple)
    floats = st.sampled_from([np.float16, np.float32, np.float64])
    bounds = st.tuples(st.integers(-50, 50), st.integers(0, 50))
    float_boxes = st.builds(
        lambda shape, dtype, b: spaces.Box(float(b[0]), float(b[0] + b[1]), shape, dtype), shapes, floats, bounds
    )
    integers = st.sampled_from([np.int8, np.int16, np.int32, np.int64])
    integer_boxes = st.builds(
        lambda shape, dtype, b: spaces.Box(b[0], b[0] + b[1], shape, dtype), shapes, integers, bounds
    )
    unbounded = st.builds(lambda shape: spaces.Box(-np.inf, np.inf, shape, np.float32), shapes)
    return st.one_of(float_boxes, integer_boxes, unbounded)


def _multi_discretes() -> st.SearchStrategy[Space]:
    def make(sizes: list[int], start: int, rows: int) -> Space:
        nvec = np.array([sizes] * rows) if rows else np.array(sizes)
        return spaces.MultiDiscrete(nvec, start=np.full_like(nvec, start))

    return st.builds(make, st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(-3, 3), st.integers(0, 2))


def action_spaces() -> st.SearchStrategy[Space]:
    """Draw any action space that is supported."""
    return st.one_of(
        _boxes(),
        st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 5), st.integers(-5, 5)),
        _multi_discretes(),
        st.builds(spaces.MultiBinary, st.one_of(st.integers(1, 4), st.tuples(st.integers(1, 3), st.integers(1, 2)))),
    )


def observation_spaces() -> st.SearchStrategy[Space]:
    """Draw any observation space that is supported, Dicts to two levels among them."""
    leaf = action_spaces()
    keys = st.text("ab.%", min_size=1, max_size=3)
    level = st.dictionaries(keys, leaf, min_size=1, max_size=3).map(spaces.Dict)
    nested = st.dictionaries(keys, st.one_of(leaf, level), min_size=1, max_size=2).map(spaces.Dict)
    return st.one_of(leaf, nested)


class World(gym.Env[Any, Any]):
    """Five steps of any observations, any actions; it asserts that each action is a member."""

    def __init__(self, observation_space: Space, action_space: Space) -> None:
        self.observation_space, self.action_space = observation_space, action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.t = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(np.asarray(action)), f"{action!r} is not in {self.action_space}"
        self.t += 1
        return self.observation_space.sample(), 1.0, self.t == 5, False, {}


WORLD = "mimetic-tests/World-v0"

gym.register(WORLD, entry_point="some_spaces:World")
