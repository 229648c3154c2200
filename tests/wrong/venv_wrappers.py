"""Wrappers around several environments: right ones, and each with one thing wrong."""

from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnvWrapper

from mimetic.hookspecs import (
    WrapperContext,
)
from wrong.catalogue import Plain, Wrong


class Vectorised(VecEnvWrapper):
    def __init__(self, context: WrapperContext) -> None:
        super().__init__(context.wrapped)
        self.rng = np.random.default_rng(context.seed)

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        return self.venv.step_wait()


class Halving(Vectorised):
    def __init__(self, context: WrapperContext) -> None:
        super().__init__(context)
        self.num_envs = 1


class VenvEnlarging(Vectorised):
    def reset(self) -> Any:
        return np.asarray(self.venv.reset()) + 100


class VenvSeedless(Vectorised):
    def seed(self, seed: int | None = None) -> Any:
        return self.venv.seed(None)


class VenvSurprising(Vectorised):
    def step_wait(self) -> Any:
        obs, rews, dones, infos = self.venv.step_wait()
        return obs, rews + np.random.default_rng().normal(), dones, infos


class VenvCommon(Vectorised):
    def step_wait(self) -> Any:
        np.random.random()
        return self.venv.step_wait()


class Speechless(Vectorised):
    def step_wait(self) -> Any:
        obs, rews, dones, infos = self.venv.step_wait()
        return obs, rews, dones, [{} for _ in infos]


class VenvEndless(Vectorised):
    def step_wait(self) -> Any:
        obs, rews, dones, infos = self.venv.step_wait()
        return obs, rews, np.zeros_like(dones), infos


class VenvOpen(Vectorised):
    def close(self) -> None:
        pass


def venv(config: Plain, context: WrapperContext) -> Any:
    return Vectorised(context)


def venv_halving(config: Plain, context: WrapperContext) -> Any:
    return Halving(context)


def venv_enlarging(config: Plain, context: WrapperContext) -> Any:
    return VenvEnlarging(context)


def venv_without_seeds(config: Plain, context: WrapperContext) -> Any:
    return VenvSeedless(context)


def venv_surprising(config: Plain, context: WrapperContext) -> Any:
    return VenvSurprising(context)


def venv_with_a_shared_generator(config: Plain, context: WrapperContext) -> Any:
    return VenvCommon(context)


def venv_speechless(config: Plain, context: WrapperContext) -> Any:
    return Speechless(context)


def venv_endless(config: Plain, context: WrapperContext) -> Any:
    return VenvEndless(context)


def venv_open(config: Plain, context: WrapperContext) -> Any:
    return VenvOpen(context)


WRONG = [
    Wrong("it_goes_around_all_environments", venv_halving, "makes 1 of 2"),
    Wrong("what_it_shows_is_in_its_observation_space", venv_enlarging, "says that its observations are in Box"),
    Wrong("it_passes_seeds_on", venv_without_seeds, r"seed\(11\) reaches the environments as"),
    Wrong("equal_seeds_give_equal_episodes", venv_surprising, "two plays from one seed differ"),
    Wrong("it_draws_nothing_from_generators_that_others_share", venv_with_a_shared_generator, "random state of numpy"),
    Wrong("infos_and_ends_of_episodes_come_out", venv_speechless, "loses what the environments say"),
    Wrong("infos_and_ends_of_episodes_come_out", venv_endless, "changes which episodes end"),
    Wrong(
        "closing_it_closes_the_environments_and_what_it_opened", venv_open, r"close\(\) does not reach the environments"
    ),
]
