"""What are components tried with? Small spaces, an environment, a policy and an actor that tell what reached them."""

import copy
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces

from mimetic.algorithms.tensors import to_tensors
from mimetic.losses import LossInputs
from mimetic.policies import Actor, MimeticPolicy
from mimetic.seeding import generator, torch_stream
from mimetic.types import Observations, stack_obs

Space = gym.Space[Any]

VECTOR = spaces.Box(-np.inf, np.inf, (4,), np.float32)
CHOICE = spaces.Discrete(3)
DIRECTION = spaces.Box(-1.0, 1.0, (2,), np.float32)
CPU = torch.device("cpu")
META = torch.device("meta")


def devices() -> list[torch.device]:
    """Return the devices of this machine on which something can be tried."""
    return [CPU, *([torch.device("cuda", torch.cuda.current_device())] if torch.cuda.is_available() else [])]


def samples(space: Space, n: int, seed: int = 0) -> Observations:
    """Draw n members, one a row; the space itself is left as it was."""
    drawn = copy.deepcopy(space)
    drawn.seed(seed)
    members = [drawn.sample() for _ in range(n)]
    return stack_obs(members) if isinstance(space, spaces.Dict) else np.stack([np.asarray(each) for each in members])


def small_policy(
    observation_space: Space = VECTOR, action_space: Space = CHOICE, *, device: torch.device = CPU, seed: int = 0
) -> MimeticPolicy:
    """Return a feed-forward policy with random weights."""
    with torch_stream(seed, "policy"):
        return MimeticPolicy(observation_space, action_space, net_arch=[8]).to(device)


def loss_inputs(
    policy: MimeticPolicy, n: int, *, seed: int = 0, copies: int = 1, device: torch.device = CPU
) -> LossInputs:
    """Return a batch of n random rows, each ``copies`` times, and what ``policy`` says about it."""
    obs, acts = samples(policy.observation_space, n, seed), samples(policy.action_space, n, seed + 1)
    rows = np.tile(np.arange(n), copies)
    assert isinstance(obs, np.ndarray)
    assert isinstance(acts, np.ndarray)
    return LossInputs(policy, to_tensors(obs[rows], device), to_tensors(acts[rows], device))


class Walk(gym.Env[np.ndarray, Any]):
    """Random observations from the environment's own stream; terminates at step ``n``, and can be drawn."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - gymnasium's form

    def __init__(self, n: int = 5, action_space: Space | None = None, render_mode: str | None = "rgb_array") -> None:
        self.n, self.render_mode = n, render_mode
        self.observation_space = spaces.Box(-10.0, 10.0, (4,), np.float32)
        self.action_space = spaces.Discrete(2) if action_space is None else action_space
        self._t = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self._t = 0
        return self._obs(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Make a step, whatever the action."""
        self._t += 1
        return self._obs(), float(self.np_random.uniform()), self._t >= self.n, False, {}

    def render(self) -> Any:
        """Draw a grey frame."""
        return np.full((32, 48, 3), 40 * self._t % 256, np.uint8) if self.render_mode == "rgb_array" else None

    def _obs(self) -> np.ndarray:
        return self.np_random.uniform(-1.0, 1.0, 4).astype(np.float32)


class Witness(gym.Wrapper[Any, Any, Any, Any]):
    """Tells what reached the environment inside."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.seeds: list[int | None] = []
        self.strange_actions: list[Any] = []  # that are no members of the action space
        self.ended = False  # by the last step
        self.closed = False
        self.n_steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Note the seed."""
        self.seeds.append(seed)
        self.ended = False
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Note an action that does not belong here, and whether the episode ends; mark the info."""
        if not self.action_space.contains(action):
            self.strange_actions.append(action)
        obs, reward, terminated, truncated, info = super().step(action)
        self.n_steps += 1
        self.ended = bool(terminated or truncated)
        return obs, reward, terminated, truncated, {**info, "witnessed": self.n_steps}

    def close(self) -> None:
        """Note it."""
        self.closed = True
        super().close()


class Narrator(Actor):
    """An actor with a memory, whose actions come from its episodes' seeds, and which notes what it hears."""

    recurrent = True

    def __init__(self, action_space: Space, *, seeded: bool = True) -> None:
        self.seeded = seeded
        self.begun: list[tuple[int, int]] = []
        self.states: list[Any] = []  # that it was given
        self._action_space = action_space
        self._streams: dict[int, np.random.Generator] = {}

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Draw an action for each environment, and count the calls in the state."""
        self.states.append(state)
        acts = [self._draw(env_index) for env_index in range(len(episode_start))]
        return np.stack(acts), 1 if state is None else state + 1

    def begin_episode(self, env_index: int, seed: int) -> None:
        """Note it, and start the environment's stream again."""
        self.begun.append((env_index, seed))
        self._streams[env_index] = generator(seed, "narrator")

    def _draw(self, env_index: int) -> np.ndarray:
        stream = self._streams.setdefault(env_index, generator(0, "narrator", env_index))
        space = copy.deepcopy(self._action_space)
        space.seed(int(stream.integers(2**31)))
        return np.asarray(space.sample())


def described(pair: Sequence[Space]) -> str:
    """Name a pair of spaces in a sentence."""
    return f"with observations {pair[0]} and actions {pair[1]}"
