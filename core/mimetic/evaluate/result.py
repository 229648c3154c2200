"""What does an evaluation say? Its statistics, and one record for each counted episode."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mimetic.envs import EpisodeRecord
from mimetic.evaluate.ledger import FinishedEpisode
from mimetic.rollout import spread
from mimetic.seeding import generator
from mimetic.types import TrajectoryDataset

MOST_RESAMPLES, LEAST_RESAMPLES = 10_000, 1_000
RESAMPLED = 2_000_000
"""So many numbers are resampled, within these bounds: the more values there are, the less their mean scatters."""

LEVEL = 0.95
_CHUNK = 50_000
"""Numbers drawn at once for the bootstrap: they stay in the processor's cache, and it has no say in the result."""

_REPEATED = 10
"""A column whose values occur so often on average is resampled by how often each occurs, which is then faster."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationResult:
    """How well a policy did."""

    statistics: Mapping[str, float | int | None]  # the keys of the JSON object's top level, e.g. return_mean
    episodes: tuple[EpisodeRecord, ...]  # the counted ones, in order
    trajectories: TrajectoryDataset | None = None  # where they lie on the disk, when they were saved
    interrupted: bool = False  # Ctrl-C, or a closed window, ended it: these are the episodes that were complete

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object: statistics at the top level, ``episodes``; numbers that are not finite are None."""
        interrupted = {"interrupted": True} if self.interrupted else {}
        document = {**self.statistics, **interrupted, "episodes": [each.as_dict() for each in self.episodes]}
        finite: dict[str, Any] = _finite(document)
        return finite


def statistics_of(episodes: Sequence[FinishedEpisode], seed: int) -> dict[str, float | int | None]:
    """Describe counted episodes.

    ``n_traj``; ``return_*``, ``len_*``, ``monitor_return_*`` and ``env_return_*`` with min, mean, std (of the
    population) and max; ``monitor_return_len``; ``return_ci_low`` and ``return_ci_high``: the mean return's interval of
    95% by the percentile bootstrap; ``is_success``: the rate, among the episodes that say whether they succeeded.
    """
    if not episodes:
        return {"n_traj": 0}
    returns = [each.episode_return for each in episodes]
    monitored = [each.monitor_return for each in episodes if each.monitor_return is not None]
    own = [each.env_return for each in episodes if each.env_return is not None]
    successes = [each.is_success for each in episodes if each.is_success is not None]
    low, high = mean_interval(returns, generator(seed, "bootstrap"))

    statistics: dict[str, float | int | None] = {"n_traj": len(episodes)}
    statistics |= spread("return", returns) | spread("len", [each.length for each in episodes])
    if monitored:
        statistics["monitor_return_len"] = len(monitored)
        statistics |= spread("monitor_return", monitored)
    if len(own) == len(episodes):
        statistics |= spread("env_return", own)
    statistics |= {"return_ci_low": low, "return_ci_high": high}
    if successes:
        statistics["is_success"] = sum(successes) / len(successes)
    return statistics


def mean_interval(values: Sequence[float], rng: np.random.Generator) -> tuple[float, float]:
    """Return the interval of 95% for the mean, by the percentile bootstrap.

    There are 10,000 resamples; of more than 200 values as many as have two million numbers, but at least 1,000.

    Source: Efron, "Bootstrap methods: another look at the jackknife", 1979. NaN when a value is not finite.
    """
    column = np.asarray(values, np.float64)
    if not np.isfinite(column).all():
        return math.nan, math.nan
    n = len(column)
    n_resamples = min(MOST_RESAMPLES, max(LEAST_RESAMPLES, RESAMPLED // n))
    different, counts = np.unique(column, return_counts=True)
    if len(different) * _REPEATED < n:
        means = rng.multinomial(n, counts / n, size=n_resamples) @ different / n
    else:
        means = np.empty(n_resamples)
        rows = max(1, _CHUNK // n)
        for start in range(0, n_resamples, rows):
            stop = min(start + rows, n_resamples)
            means[start:stop] = column[rng.integers(n, size=(stop - start, n))].mean(axis=1)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
