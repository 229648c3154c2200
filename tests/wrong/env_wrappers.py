"""Wrappers around an environment: right ones, and each with one thing wrong."""

import threading
from typing import Any

import gymnasium as gym
import numpy as np

from mimetic.hookspecs import (
    WrapperContext,
)
from mimetic.seeding import derive_seed
from wrong.catalogue import Plain, Wrong

Env = gym.Env[Any, Any]


class Around(gym.Wrapper[Any, Any, Any, Any]):
    """Adds a number from a stream of its own to what is paid."""

    def __init__(self, context: WrapperContext) -> None:
        super().__init__(context.wrapped)
        self.context_seed = context.seed
        self.rng = np.random.default_rng(context.seed)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.rng = np.random.default_rng(derive_seed(seed, "around", self.context_seed))
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, float(reward) + float(self.rng.normal()), terminated, truncated, info


class Stranger(gym.Env[Any, Any]):
    """An environment that has swallowed another one."""

    def __init__(self, context: WrapperContext) -> None:
        self.inside = context.wrapped
        self.observation_space, self.action_space = self.inside.observation_space, self.inside.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self.inside.reset(seed=seed, options=options)  # type: ignore[no-any-return]  # an environment's

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return self.inside.step(action)  # type: ignore[no-any-return]  # an environment's


class Enlarging(Around):
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, *rest = super().step(action)
        return obs + 100, *rest


class Mistaking(Around):
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return super().step(action + 5)


class Seedless(Around):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return super().reset(options=options)


class Repeating(Around):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return super().reset(seed=11 if seed is None else seed, options=options)


class Surprising(Around):
    def __init__(self, context: WrapperContext) -> None:
        super().__init__(context)
        self.rng = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=seed, options=options)


class Common(Around):
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        np.random.random()
        return super().step(action)


class Endless(Around):
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, _, _, info = super().step(action)
        return obs, reward, False, False, info


class Blind(Around):
    def render(self) -> Any:
        return None


class Open(Around):
    def close(self) -> None:
        pass


class Busy(Around):
    """Starts a thread that nobody ends in time."""

    def __init__(self, context: WrapperContext) -> None:
        super().__init__(context)
        threading.Timer(4.0, int).start()


def around(config: Plain, context: WrapperContext) -> Env:
    return Around(context)


def around_as_a_stranger(config: Plain, context: WrapperContext) -> Env:
    return Stranger(context)


def around_enlarging(config: Plain, context: WrapperContext) -> Env:
    return Enlarging(context)


def around_mistaking_actions(config: Plain, context: WrapperContext) -> Env:
    return Mistaking(context)


def around_without_seeds(config: Plain, context: WrapperContext) -> Env:
    return Seedless(context)


def around_repeating(config: Plain, context: WrapperContext) -> Env:
    return Repeating(context)


def around_surprising(config: Plain, context: WrapperContext) -> Env:
    return Surprising(context)


def around_with_a_shared_generator(config: Plain, context: WrapperContext) -> Env:
    return Common(context)


def around_endless(config: Plain, context: WrapperContext) -> Env:
    return Endless(context)


def around_blind(config: Plain, context: WrapperContext) -> Env:
    return Blind(context)


def around_open(config: Plain, context: WrapperContext) -> Env:
    return Open(context)


def around_busy(config: Plain, context: WrapperContext) -> Env:
    return Busy(context)


WRONG = [
    Wrong("it_goes_around_the_environment", around_as_a_stranger, r"derive it from gymnasium\.Wrapper"),
    Wrong("what_it_shows_is_in_its_observation_space", around_enlarging, "says that its observations are in Box"),
    Wrong("actions_of_its_space_reach_the_environment_as_actions", around_mistaking_actions, "not in Discrete"),
    Wrong("it_passes_seeds_on", around_without_seeds, r"reset\(seed=11\) reaches .* the seeds \[None\]"),
    Wrong("it_passes_seeds_on", around_repeating, r"seeds the environment with \[11\], so its episodes repeat"),
    Wrong("equal_seeds_give_equal_episodes", around_surprising, "two episodes from one seed differ"),
    Wrong(
        "it_draws_nothing_from_generators_that_others_share", around_with_a_shared_generator, "random state of numpy"
    ),
    Wrong("the_end_of_an_episode_comes_out", around_endless, "hides that the episode has ended"),
    Wrong("it_can_be_drawn_when_the_environment_can", around_blind, r"render\(\) gave a NoneType"),
    Wrong(
        "closing_it_closes_the_environment_and_what_it_opened", around_open, r"close\(\) does not reach the environment"
    ),
    Wrong("closing_it_closes_the_environment_and_what_it_opened", around_busy, r"left threads running: Thread-.*close"),
]
