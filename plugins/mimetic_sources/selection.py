"""Which trajectories of a source are used?"""

from mimetic.errors import DataError
from mimetic.types import Demonstrations, TrajectoryDataset, Transitions
from mimetic.types.arrays import join_transitions
from mimetic_sources.config import SelectionConfig


def select(demonstrations: Demonstrations, config: SelectionConfig) -> Demonstrations:
    """Apply ``min_return``, then ``n_trajectories``, then ``max_steps``.

    Raises:
        DataError: nothing is left, fewer are there than asked for, or the data are no trajectories.
    """
    asked = [name for name in SelectionConfig.model_fields if getattr(config, name) is not None]
    if not asked:
        return demonstrations
    where, data = demonstrations.description, demonstrations.data
    if isinstance(data, Transitions):
        data = join_transitions(data)
    if not isinstance(data, TrajectoryDataset):
        raise DataError(f"{where}: {', '.join(asked)} need trajectories; these are single steps")
    if config.min_return is not None:
        data = _with_return(data, config.min_return, where)
    if config.n_trajectories is not None:
        if config.n_trajectories > len(data):
            raise DataError(f"{where}: n_trajectories is {config.n_trajectories}, and there are {len(data)}")
        data = data[: config.n_trajectories]
    if config.max_steps is not None:
        data = data.cut(config.max_steps)
    return Demonstrations(data, demonstrations.observation_space, demonstrations.action_space, where)


def _with_return(data: TrajectoryDataset, least: float, where: str) -> TrajectoryDataset:
    if data.returns is None:
        raise DataError(f"{where}: min_return needs rewards, and there are none")
    kept = data.select(data.returns >= least)
    if not len(kept):
        raise DataError(f"{where}: min_return is {least:g}, and the highest return is {data.returns.max():g}")
    return kept
