"""How long are the running episodes, and has one reached the step ceiling?"""

import numpy as np


class Lengths:
    """The lengths of the running episodes, known without counting each of them at each step."""

    def __init__(self, n_envs: int, max_steps: int) -> None:
        """Begin an episode everywhere; none should have more than ``max_steps``."""
        self._max_steps = max_steps
        self._now = 0
        self._starts = np.zeros(n_envs, np.int64)  # (n,) when each episode began
        self._alarm = max_steps

    def tick(self) -> bool:
        """Note that every environment made a step; return whether an episode may have reached the ceiling."""
        self._now += 1
        if self._now < self._alarm:
            return False
        self._alarm = int(self._starts.min()) + self._max_steps  # others have begun since the alarm was set
        return self._now >= self._alarm

    def of(self, index: int) -> int:
        """Return the length of an environment's episode."""
        return self._now - int(self._starts[index])

    def at_ceiling(self) -> np.ndarray:
        """(n,) which episodes have ``max_steps`` steps."""
        reached: np.ndarray = self._now - self._starts >= self._max_steps
        return reached

    def begin(self, where: np.ndarray | list[int]) -> None:
        """Begin episodes where a mask (n,) or numbers of environments say so: the next step is their first."""
        self._starts[where] = self._now
