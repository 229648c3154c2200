"""What is data in imitation learning? Trajectories, transitions, and demonstrations in whatever form they came.

``trajectories`` and ``transitions`` say what one piece is, ``dataset`` holds many in columns, ``arrays`` makes them
from plain arrays, ``demonstrations`` takes any form, ``intake`` checks it against the spaces once, ``summary``
describes it, ``observations`` is how all of them treat observations of one array or of many. None imports torch.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.types.arrays import from_arrays as from_arrays
    from mimetic.types.dataset import TrajectoryDataset as TrajectoryDataset
    from mimetic.types.demonstrations import (
        Demonstrations as Demonstrations,
        as_demonstrations as as_demonstrations,
        concatenate_demonstrations as concatenate_demonstrations,
    )
    from mimetic.types.infos import ABSENT as ABSENT
    from mimetic.types.intake import (
        IntakeReport as IntakeReport,
        check_demonstrations as check_demonstrations,
        inspect_demonstrations as inspect_demonstrations,
    )
    from mimetic.types.observations import (
        Observations as Observations,
        concatenate_obs as concatenate_obs,
        map_obs as map_obs,
        n_rows as n_rows,
        obs_from_leaves as obs_from_leaves,
        obs_leaves as obs_leaves,
        stack_obs as stack_obs,
        take_rows as take_rows,
    )
    from mimetic.types.summary import (
        Summary as Summary,
        summarise as summarise,
    )
    from mimetic.types.trajectories import (
        Trajectory as Trajectory,
        TrajectoryWithRew as TrajectoryWithRew,
    )
    from mimetic.types.transitions import (
        Transitions as Transitions,
        TransitionsMinimal as TransitionsMinimal,
        TransitionsWithRew as TransitionsWithRew,
    )

_MODULE_OF = {
    "ABSENT": "infos",
    "Demonstrations": "demonstrations",
    "IntakeReport": "intake",
    "Observations": "observations",
    "Summary": "summary",
    "Trajectory": "trajectories",
    "TrajectoryDataset": "dataset",
    "TrajectoryWithRew": "trajectories",
    "Transitions": "transitions",
    "TransitionsMinimal": "transitions",
    "TransitionsWithRew": "transitions",
    "as_demonstrations": "demonstrations",
    "check_demonstrations": "intake",
    "concatenate_demonstrations": "demonstrations",
    "concatenate_obs": "observations",
    "from_arrays": "arrays",
    "inspect_demonstrations": "intake",
    "map_obs": "observations",
    "n_rows": "observations",
    "obs_from_leaves": "observations",
    "obs_leaves": "observations",
    "stack_obs": "observations",
    "summarise": "summary",
    "take_rows": "observations",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic.types' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.types.{_MODULE_OF[name]}"), name)
