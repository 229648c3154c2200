"""Wrappers around a policy: right ones, and each with one thing wrong."""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from mimetic.hookspecs import (
    WrapperContext,
)
from mimetic.policies import Actor
from mimetic.policies.actors import EpisodeStreams
from mimetic.seeding import derive_seed
from wrong.catalogue import COUNTER, Plain, Wrong


class Hesitating(Actor):
    """Now and then does what it did first, by a stream of the episode."""

    def __init__(self, context: WrapperContext) -> None:
        self.actor, self.context_seed, self.space = context.wrapped, context.seed, context.action_space
        self.recurrent, self.seeded = self.actor.recurrent, self.actor.seeded
        self.streams = EpisodeStreams(context.seed, "hesitating")

    def begin_episode(self, env_index: int, seed: int) -> None:
        self.actor.begin_episode(env_index, seed)
        self.streams.begin(env_index, derive_seed(seed, "hesitating", self.context_seed))

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        acts, state = self.actor(obs, state, episode_start)
        hesitates = np.array([self.streams[index].random() < 0.5 for index in range(len(acts))])
        self.last_infos = {"hesitates": hesitates}
        start = getattr(self.space, "start", 0) if isinstance(self.space, spaces.Discrete) else 0
        return np.where(hesitates.reshape(-1, *[1] * (acts.ndim - 1)), start, acts).astype(acts.dtype), state


class Exaggerating(Hesitating):
    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        acts, state = super().__call__(obs, state, episode_start)
        return acts + 100, state


class Summarising(Hesitating):
    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        acts, state = super().__call__(obs, state, episode_start)
        self.last_infos = {"hesitates": np.array(1.0)}
        return acts, state


class Secretive(Hesitating):
    def begin_episode(self, env_index: int, seed: int) -> None:
        self.streams.begin(env_index, derive_seed(seed, "hesitating", self.context_seed))


class Forgetful(Hesitating):
    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        acts, _ = super().__call__(obs, None, episode_start)
        return acts, None


class ForgetsThatItRemembers(Hesitating):
    recurrent = False

    def __init__(self, context: WrapperContext) -> None:
        super().__init__(context)
        self.recurrent = False


class Promising(Hesitating):
    def __init__(self, context: WrapperContext) -> None:
        super().__init__(context)
        self.seeded = True


class Lockstep(Hesitating):
    """One stream for all environments."""

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        acts, state = self.actor(obs, state, episode_start)
        draws = [self.streams[0].random() for _ in acts]
        hesitates = np.array(draws) < 0.5
        return np.where(hesitates.reshape(-1, *[1] * (acts.ndim - 1)), 0, acts).astype(acts.dtype), state


class Continued(Hesitating):
    def begin_episode(self, env_index: int, seed: int) -> None:
        self.actor.begin_episode(env_index, seed)

    def __init__(self, context: WrapperContext) -> None:
        super().__init__(context)
        self.streams = EpisodeStreams(next(COUNTER), "hesitating")


class Shared(Hesitating):
    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        torch.rand(1)
        return super().__call__(obs, state, episode_start)


def hesitating(config: Plain, context: WrapperContext) -> Any:
    return Hesitating(context)


def hesitating_as_a_function(config: Plain, context: WrapperContext) -> Any:
    return lambda obs, state, episode_start: context.wrapped(obs, state, episode_start)


def hesitating_and_exaggerating(config: Plain, context: WrapperContext) -> Any:
    return Exaggerating(context)


def hesitating_and_summarising(config: Plain, context: WrapperContext) -> Any:
    return Summarising(context)


def hesitating_in_secret(config: Plain, context: WrapperContext) -> Any:
    return Secretive(context)


def hesitating_and_forgetting(config: Plain, context: WrapperContext) -> Any:
    return Forgetful(context)


def hesitating_to_say_that_it_remembers(config: Plain, context: WrapperContext) -> Any:
    return ForgetsThatItRemembers(context)


def hesitating_and_promising(config: Plain, context: WrapperContext) -> Any:
    return Promising(context)


def hesitating_in_lockstep(config: Plain, context: WrapperContext) -> Any:
    return Lockstep(context)


def hesitating_on_and_on(config: Plain, context: WrapperContext) -> Any:
    return Continued(context)


def hesitating_by_a_shared_generator(config: Plain, context: WrapperContext) -> Any:
    return Shared(context)


WRONG = [
    Wrong("it_gives_an_actor", hesitating_as_a_function, "gave a function; expected a mimetic.Actor"),
    Wrong("its_actions_are_members_of_the_action_space", hesitating_and_exaggerating, "expected members of"),
    Wrong("its_actions_are_members_of_the_action_space", hesitating_and_summarising, "expected 1 rows"),
    Wrong("the_policy_inside_hears_of_its_episodes", hesitating_in_secret, r"reaches the policy as \[\]"),
    Wrong("the_policy_inside_keeps_its_memory", hesitating_and_forgetting, r"the states \[None, None"),
    Wrong("the_policy_inside_keeps_its_memory", hesitating_to_say_that_it_remembers, "says that it is none"),
    Wrong("it_promises_no_more_than_the_policy_inside", hesitating_and_promising, r"pass `actor\.seeded` on"),
    Wrong("the_seed_of_an_episode_decides_what_is_drawn_in_it", hesitating_in_lockstep, "others are played beside"),
    Wrong("the_seed_of_an_episode_decides_what_is_drawn_in_it", hesitating_on_and_on, "two plays from equal seeds"),
    Wrong(
        "it_draws_nothing_from_generators_that_others_share", hesitating_by_a_shared_generator, "random state of torch"
    ),
]
