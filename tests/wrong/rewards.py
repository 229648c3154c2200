"""Rewards: right ones, and each with one thing wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mimetic.hookspecs import (
    RewardContext,
)
from wrong.catalogue import COUNTER, Plain, Wrong

Reward = Callable[..., Any]


def reward(config: Plain, context: RewardContext) -> Reward:
    return lambda obs, acts, next_obs, dones: -np.abs(next_obs[:, 0])


def reward_for_all(config: Plain, context: RewardContext) -> Reward:
    return lambda obs, acts, next_obs, dones: float(next_obs.mean())


def reward_in_words(config: Plain, context: RewardContext) -> Reward:
    return lambda obs, acts, next_obs, dones: np.array(["good"] * len(dones))


def reward_without_end(config: Plain, context: RewardContext) -> Reward:
    return lambda obs, acts, next_obs, dones: np.full(len(dones), np.inf)


def reward_that_remembers(config: Plain, context: RewardContext) -> Reward:
    return lambda obs, acts, next_obs, dones: np.full(len(dones), float(next(COUNTER)))


def reward_by_comparison(config: Plain, context: RewardContext) -> Reward:
    return lambda obs, acts, next_obs, dones: next_obs[:, 0] - next_obs[:, 0].mean()


def reward_that_writes(config: Plain, context: RewardContext) -> Reward:
    def pay(obs: Any, acts: Any, next_obs: Any, dones: Any) -> Any:
        obs -= 1
        return next_obs[:, 0]

    return pay


def reward_by_chance(config: Plain, context: RewardContext) -> Reward:
    return lambda obs, acts, next_obs, dones: np.random.random(len(dones))


WRONG = [
    Wrong("it_pays_one_number_a_step", reward_for_all, r"shape \(\) for 1 steps; expected \(1,\)"),
    Wrong("it_pays_one_number_a_step", reward_in_words, "expected numbers"),
    Wrong("it_pays_one_number_a_step", reward_without_end, "no finite number"),
    Wrong("it_pays_the_same_for_the_same", reward_that_remembers, "for the same steps"),
    Wrong("what_it_pays_for_a_step_does_not_depend_on_the_steps_beside_it", reward_by_comparison, "for each alone"),
    Wrong("it_changes_nothing_that_it_is_shown", reward_that_writes, "changed obs"),
    Wrong("it_draws_nothing_from_generators_that_others_share", reward_by_chance, "random state of numpy"),
]
