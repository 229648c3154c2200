"""How long are the running episodes, and has one reached the step ceiling?"""

from collections.abc import Iterable


class Lengths:
    """The lengths of the running episodes, known without counting each of them at each step."""

    def __init__(self, n_envs: int, max_steps: int) -> None:
        """Begin an episode everywhere; none should have more than ``max_steps``."""
        self._max_steps = max_steps
        self.now = 0  # steps since the beginning
        self._starts = [0] * n_envs  # when each episode began
        self._alarm = max_steps

    def tick(self) -> bool:
        """Note that every environment made a step; return whether an episode may have reached the ceiling."""
        self.now += 1
        if self.now < self._alarm:
            return False
        self._alarm = min(self._starts) + self._max_steps  # others have begun since the alarm was set
        return self.now >= self._alarm

    def of(self, index: int) -> int:
        """Return the length of an environment's episode."""
        return self.now - self._starts[index]

    def longest(self) -> int:
        """Return the length of the longest episode."""
        return self.now - min(self._starts)

    def at_ceiling(self) -> list[int]:
        """Return the environments whose episodes have ``max_steps`` steps."""
        return [index for index, start in enumerate(self._starts) if self.now - start >= self._max_steps]

    def begin(self, environments: Iterable[int]) -> None:
        """Begin an episode in each of these: the next step is its first."""
        for index in environments:
            self._starts[index] = self.now
