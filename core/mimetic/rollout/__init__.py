"""How is experience collected, and what is it in numbers?

``collecting`` rolls policies out, ``stopping`` says when it is enough, ``statistics`` describes the result,
``transitions`` takes it apart into steps, ``wrappers`` keep raw episodes within reach. ``stepping`` steps environments
of any kind, ``running`` knows their episodes meanwhile (``history``, ``lengths``), ``isolation`` what is put back.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.rollout.accumulator import (
        TrajectoryAccumulator as TrajectoryAccumulator,
    )
    from mimetic.rollout.collecting import (
        AnyPolicy as AnyPolicy,
        generate_trajectories as generate_trajectories,
        generate_transitions as generate_transitions,
        policy_to_callable as policy_to_callable,
        rollout as rollout,
    )
    from mimetic.rollout.isolation import (
        undisturbed as undisturbed,
    )
    from mimetic.rollout.statistics import (
        discounted_sum as discounted_sum,
        monitor_return as monitor_return,
        rollout_stats as rollout_stats,
        spread as spread,
    )
    from mimetic.rollout.stopping import (
        StopCondition as StopCondition,
        make_min_episodes as make_min_episodes,
        make_min_timesteps as make_min_timesteps,
        make_sample_until as make_sample_until,
    )
    from mimetic.rollout.transitions import (
        flatten_trajectories as flatten_trajectories,
        flatten_trajectories_with_rew as flatten_trajectories_with_rew,
        unwrap_traj as unwrap_traj,
    )
    from mimetic.rollout.wrappers import (
        BufferingWrapper as BufferingWrapper,
        RolloutInfoWrapper as RolloutInfoWrapper,
    )

_MODULE_OF = {
    "AnyPolicy": "collecting",
    "BufferingWrapper": "wrappers",
    "RolloutInfoWrapper": "wrappers",
    "StopCondition": "stopping",
    "TrajectoryAccumulator": "accumulator",
    "discounted_sum": "statistics",
    "flatten_trajectories": "transitions",
    "flatten_trajectories_with_rew": "transitions",
    "generate_trajectories": "collecting",
    "generate_transitions": "collecting",
    "make_min_episodes": "stopping",
    "make_min_timesteps": "stopping",
    "make_sample_until": "stopping",
    "monitor_return": "statistics",
    "policy_to_callable": "collecting",
    "rollout": "collecting",
    "rollout_stats": "statistics",
    "spread": "statistics",
    "undisturbed": "isolation",
    "unwrap_traj": "transitions",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic.rollout' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.rollout.{_MODULE_OF[name]}"), name)
