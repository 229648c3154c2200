"""Where does the noise of drawn actions come from? From the episodes' own streams, or from one for all environments.

It is drawn a block of steps at a time, which costs one call instead of many and gives the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from mimetic.seeding import generator

if TYPE_CHECKING:
    from mimetic.policies.actors import EpisodeStreams
    from mimetic.policies.choices import Draw

_BLOCK = 4096
"""About so many numbers are drawn at once for an environment, but no more than 64 steps of them."""


class Noise(Protocol):
    """Gives every environment its noise, step by step."""

    seeded: bool
    """Whether it comes from the seeds of the episodes alone."""

    def rows(self, n: int, width: int) -> np.ndarray:
        """Return noise ``(n, width)`` for the next step of n environments."""

    def begin(self, env_index: int, seed: int) -> None:
        """Note that an episode with this seed begins in an environment."""


class EpisodeNoise:
    """Noise from the stream of each environment's episode: the same, whatever runs beside it."""

    seeded = True

    def __init__(self, streams: EpisodeStreams, draw: Draw) -> None:
        """Draw from ``streams``."""
        self._streams, self._draw = streams, draw
        self._blocks = np.empty((0, 0, 0))  # (n, steps, width)
        self._next = np.empty(0, np.int64)  # (n,) the step that comes next in each block
        self._envs = np.empty(0, np.int64)  # (n,) the number of each environment
        self._n_left = 0  # steps until the first block is used up

    def rows(self, n: int, width: int) -> np.ndarray:
        """Return noise ``(n, width)`` for the next step of n environments."""
        if self._n_left == 0 or len(self._next) != n:
            self._fill(n, width)
        rows: np.ndarray = self._blocks[self._envs, self._next]
        self._next += 1
        self._n_left -= 1
        return rows

    def begin(self, env_index: int, seed: int) -> None:
        """Start the environment's stream again."""
        self._streams.begin(env_index, seed)
        if env_index < len(self._next):
            self._next[env_index] = self._blocks.shape[1]  # what is left of the block belongs to another episode
            self._n_left = 0

    def _fill(self, n: int, width: int) -> None:
        """Draw a new block wherever the old one is used up."""
        n_steps = _n_steps(width)
        if len(self._next) != n:
            first = self._draw(self._streams[0], (0, 0))
            self._blocks = np.empty((n, n_steps, width), first.dtype)
            self._next, self._envs = np.full(n, n_steps), np.arange(n)
        for env_index in np.flatnonzero(self._next == n_steps).tolist():
            self._blocks[env_index] = self._draw(self._streams[env_index], (n_steps, width))
            self._next[env_index] = 0
        self._n_left = n_steps - int(self._next.max())


class SharedNoise:
    """Noise from one stream for all environments: cheaper, where nothing is promised about single episodes."""

    seeded = False

    def __init__(self, seed: int, name: str, draw: Draw) -> None:
        """Draw from the stream ``name`` under ``seed``."""
        self._stream, self._draw = generator(seed, name), draw
        self._n, self._steps = 0, iter(np.empty((0, 0, 0)))  # for n environments: (n, width) a step

    def rows(self, n: int, width: int) -> np.ndarray:
        """Return noise ``(n, width)`` for the next step of n environments."""
        rows = next(self._steps, None) if n == self._n else None
        if rows is None:
            self._n, self._steps = n, iter(self._draw(self._stream, (_n_steps(n * width), n, width)))
            rows = next(self._steps)
        return rows

    def begin(self, env_index: int, seed: int) -> None:
        """Go on: the stream is nobody's own."""


def _n_steps(width: int) -> int:
    return max(1, min(64, _BLOCK // max(1, width)))
