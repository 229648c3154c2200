"""May these lie in one column? Said in words when they may not."""

from mimetic.errors import DataError
from mimetic.types.columns import Columns
from mimetic.types.observations import column_difference, obs_difference
from mimetic.types.trajectories import Trajectory


def require_alike(first: Trajectory, other: Trajectory, number: int) -> None:
    """Refuse trajectory ``number`` when it differs in structure, shape, dtype or in having rewards."""
    if not isinstance(other, Trajectory):
        raise DataError(f"item {number} is of type {type(other).__name__}; expected a Trajectory")
    difference = columns_difference(first, other)
    if not difference and (first.rews is None) != (other.rews is None):
        difference = "one has rewards and one has none"
    if difference:
        raise DataError(f"trajectories 0 and {number} differ: {difference}")


def columns_difference(first: Columns | Trajectory, other: Columns | Trajectory) -> str | None:
    """Say how structure, row shapes or dtypes differ; rewards count where both have them."""
    difference = obs_difference(first.obs, other.obs) or column_difference(first.acts, other.acts, "acts")
    if difference or first.rews is None or other.rews is None:
        return difference
    return column_difference(first.rews, other.rews, "rews")
