"""How is experience collected, and what is it in numbers?

``collecting`` rolls policies out, ``stopping`` says when it is enough, ``statistics`` describes the result,
``transitions`` takes it apart into steps, ``wrappers`` keep raw episodes within reach.
"""

from mimetic.rollout.accumulator import TrajectoryAccumulator
from mimetic.rollout.collecting import (
    AnyPolicy,
    generate_trajectories,
    generate_transitions,
    policy_to_callable,
    rollout,
)
from mimetic.rollout.isolation import undisturbed
from mimetic.rollout.statistics import discounted_sum, monitor_return, rollout_stats, spread
from mimetic.rollout.stopping import StopCondition, make_min_episodes, make_min_timesteps, make_sample_until
from mimetic.rollout.transitions import flatten_trajectories, flatten_trajectories_with_rew, unwrap_traj
from mimetic.rollout.wrappers import BufferingWrapper, RolloutInfoWrapper

__all__ = [
    "AnyPolicy",
    "BufferingWrapper",
    "RolloutInfoWrapper",
    "StopCondition",
    "TrajectoryAccumulator",
    "discounted_sum",
    "flatten_trajectories",
    "flatten_trajectories_with_rew",
    "generate_trajectories",
    "generate_transitions",
    "make_min_episodes",
    "make_min_timesteps",
    "make_sample_until",
    "monitor_return",
    "policy_to_callable",
    "rollout",
    "rollout_stats",
    "spread",
    "undisturbed",
    "unwrap_traj",
]
