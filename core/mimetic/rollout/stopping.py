"""When has a collection enough? A stop condition looks at the finished trajectories and says so."""

from collections.abc import Callable, Sequence

from mimetic.errors import ConfigError
from mimetic.types import Trajectory

StopCondition = Callable[[Sequence[Trajectory]], bool]
"""Takes the trajectories that are finished so far."""


def make_min_episodes(n: int) -> StopCondition:
    """Return the condition that at least ``n`` episodes are finished."""
    _require_positive("min_episodes", n)
    return lambda trajectories: len(trajectories) >= n


def make_min_timesteps(n: int) -> StopCondition:
    """Return the condition that the finished episodes hold at least ``n`` steps."""
    _require_positive("min_timesteps", n)
    return _MinTimesteps(n)


def make_sample_until(min_timesteps: int | None = None, min_episodes: int | None = None) -> StopCondition:
    """Return the condition that all the minima that are given are reached.

    Raises:
        ConfigError: (a ValueError) none is given, or one is not positive.
    """
    if min_timesteps is None and min_episodes is None:
        raise ConfigError("a collection needs an end: give min_timesteps, min_episodes or both")
    conditions: list[StopCondition] = []
    if min_timesteps is not None:
        conditions.append(make_min_timesteps(min_timesteps))
    if min_episodes is not None:
        conditions.append(make_min_episodes(min_episodes))
    return lambda trajectories: all(condition(trajectories) for condition in conditions)


class _MinTimesteps:
    """Counts every trajectory of a growing list once."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._counted: Sequence[Trajectory] = ()
        self._n_counted = 0
        self._steps = 0

    def __call__(self, trajectories: Sequence[Trajectory]) -> bool:
        if trajectories is not self._counted or len(trajectories) < self._n_counted:
            self._counted, self._n_counted, self._steps = trajectories, 0, 0
        for index in range(self._n_counted, len(trajectories)):
            self._steps += len(trajectories[index])
        self._n_counted = len(trajectories)
        return self._steps >= self._n


def _require_positive(name: str, n: int) -> None:
    if n < 1:
        raise ConfigError(f"{name} is {n}; expected at least 1")
