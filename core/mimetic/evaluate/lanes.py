"""What does an evaluation step? Environments side by side, whoever built them, that say which episodes ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from mimetic.envs import EpisodeRecord
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.rollout.stepping import Where
from mimetic.seeding import generator

Noted = Mapping[str, np.ndarray]
"""What the actor can tell about the actions of a step, ``(n, ...)`` by name."""


class Moment(NamedTuple):
    """What a step of all environments gave."""

    obs: Any
    begun: Where | None = None  # the observation is the first of an episode
    ended: Sequence[FinishedEpisode] = ()  # with this step, or before


class Lanes(Protocol):
    """Environments side by side."""

    n_envs: int
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    exact: bool  # whether every episode begins from its own seed, whatever n_envs is
    venv: VecEnv | None  # what is stepped, where that is stable-baselines3's kind

    def reset(self) -> Any:
        """Begin the first episodes; return their observations."""

    def begin(self, environments: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Tell for each of these, unless it plays no more, in which an episode begins: the environment, and a seed."""

    def step(self, acts: np.ndarray, noted: Noted) -> Moment:
        """Step every environment."""

    def rest(self) -> list[FinishedEpisode]:
        """Return what has ended and was not told yet."""

    def plays(self, number: int) -> bool:
        """Whether an episode is being played, or can begin."""

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Let observers end their work; return the records with what they add."""

    def close(self) -> None:
        """Close what was opened for the evaluation."""


def numbers_from(seed: int) -> Iterator[int]:
    """Give numbers without an end, the same for the same seed."""
    stream = generator(seed, "unrepeatable episodes")
    return chain.from_iterable(stream.integers(2**31, size=256).tolist() for _ in count())
