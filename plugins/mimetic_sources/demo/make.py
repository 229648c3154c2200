"""Record the demonstrations that lie beside this file: ``python -m mimetic_sources.demo.make [FILE]``.

The demonstrator is a rule of thumb, not a learner: push the cart to the side that the pole is about to fall to, where
"about to" counts how fast it falls, and lean a little so that the cart returns to the middle of its track. It holds
the pole for all 500 steps of CartPole-v1 from every start that is used here.

Starts are wider than the environment's own, so that the data show how to recover from what a clone's small mistakes
lead to; every action recorded is the demonstrator's own and the one that the environment received. After each step
the state is rounded to what is observed (float32): otherwise the last bit of a machine's sine grows, step by step,
into another trajectory, and the file could be made again on the same kind of processor only.
"""

import sys
from pathlib import Path
from typing import TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv

from mimetic.storage import save_demonstrations
from mimetic.types import Trajectory

Env: TypeAlias = gym.Env[np.ndarray, int]

N_EPISODES = 20
SEED = 20
START_LIMITS = np.array([1.0, 1.0, 0.12, 1.0])
"""Cart position, its velocity, pole angle, its velocity: starts are uniform between minus and plus these."""

GAINS = np.array([0.05, 0.15, 1.0, 0.4])


def demonstrator(obs: np.ndarray) -> int:
    """Push right (1) when the weighted state is positive, else left (0)."""
    return int(GAINS @ obs > 0)


def record(env: Env, start: np.ndarray) -> Trajectory:
    """Play one episode from ``start``."""
    env.reset(seed=0)
    obs, acts, rews = [_put(env, start)], [], []
    terminated = truncated = False
    while not (terminated or truncated):
        acts.append(demonstrator(obs[-1]))
        _, reward, terminated, truncated, _ = env.step(acts[-1])
        obs.append(_put(env, np.array(_cart(env).state)))
        rews.append(np.float32(reward))
    return Trajectory(np.stack(obs), np.array(acts), None, terminated, rews=np.array(rews), truncated=truncated)


def make(path: Path) -> None:
    """Record all episodes and write them to ``path``, in place of what is there."""
    env: Env = gym.make("CartPole-v1")
    starts = np.random.default_rng(SEED).uniform(-START_LIMITS, START_LIMITS, (N_EPISODES, 4))
    save_demonstrations(
        [record(env, start) for start in starts],
        path,
        overwrite=True,
        observation_space=env.observation_space,
        action_space=env.action_space,
    )


def _put(env: Env, state: np.ndarray) -> np.ndarray:
    """Make ``state``, rounded to what is observed, the environment's own, and return the observation of it."""
    obs = state.astype(np.float32)
    _cart(env).state = obs.astype(np.float64)
    return obs


def _cart(env: Env) -> CartPoleEnv:
    cart = env.unwrapped
    assert isinstance(cart, CartPoleEnv)
    return cart


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("cartpole.safetensors"))
