"""What do trajectories amount to, in numbers?"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mimetic.errors import DataError
from mimetic.types import Trajectory


def rollout_stats(trajectories: Iterable[Trajectory]) -> dict[str, float | int]:
    """Return count, returns and lengths: ``n_traj``, ``return_*`` and ``len_*`` with min, mean, std and max.

    Where the last info of an episode holds what ``stable_baselines3``'s Monitor saw, there are also
    ``monitor_return_len`` (how many such episodes there are) and ``monitor_return_*``: under a replaced reward,
    the environment's own. Sums are float64, standard deviations those of the population.

    Raises:
        DataError: (a ValueError) there is no trajectory, or one has no rewards.
    """
    returns: list[float] = []
    lengths: list[int] = []
    monitored: list[float] = []
    for number, trajectory in enumerate(trajectories):
        if trajectory.episode_return is None:
            raise DataError(f"trajectory {number} has no rewards, so it has no return")
        returns.append(trajectory.episode_return)
        lengths.append(len(trajectory))
        seen = None if trajectory.infos is None else monitor_return(trajectory.infos[-1])
        if seen is not None:
            monitored.append(seen)
    if not lengths:
        raise DataError("no trajectories to describe; expected at least one")
    statistics: dict[str, float | int] = {"n_traj": len(lengths)}
    statistics |= spread("return", returns) | spread("len", lengths)
    if monitored:
        statistics |= {"monitor_return_len": len(monitored)} | spread("monitor_return", monitored)
    return statistics


def spread(name: str, values: Sequence[float] | Sequence[int]) -> dict[str, float | int]:
    """Return ``name_min``, ``_mean``, ``_std`` (of the population) and ``_max``."""
    column = np.asarray(values)
    with np.errstate(invalid="ignore"):  # infinite returns have no spread
        return {
            f"{name}_min": column.min().item(),
            f"{name}_mean": float(column.mean(dtype=np.float64)),
            f"{name}_std": float(column.std(dtype=np.float64)),
            f"{name}_max": column.max().item(),
        }


def monitor_return(info: Mapping[str, object]) -> float | None:
    """Return the episode return that a Monitor noted in the last info of an episode, None when there was none."""
    noted = info.get("episode")
    if not isinstance(noted, Mapping) or "r" not in noted:
        return None
    return float(noted["r"])


def discounted_sum(arr: np.ndarray, gamma: float) -> np.ndarray | float:
    """Return ``sum_t gamma^t arr[t]``. Time is the first axis: ``(T,) -> ()``, ``(T, N) -> (N,)``.

    Raises:
        DataError: (a ValueError) ``arr`` has neither one nor two axes.
    """
    arr = np.asarray(arr)
    if arr.ndim not in (1, 2):
        raise DataError(f"a discounted sum takes an array of shape (T,) or (T, N), got {arr.shape}")
    total = gamma ** np.arange(len(arr), dtype=np.float64) @ arr
    return float(total) if arr.ndim == 1 else total
