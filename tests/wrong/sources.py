"""Sources of demonstrations: right ones, and each with one thing wrong."""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from mimetic.hookspecs import (
    DataSourceContext,
)
from mimetic.types import Demonstrations, Trajectory, as_demonstrations
from wrong.catalogue import Plain, Wrong

OBS = np.arange(12, dtype=np.uint8).reshape(4, 3)
ACTS = np.array([0, 1, 1])
OBSERVATION_SPACE = spaces.Box(0, 255, (3,), np.uint8)
ACTION_SPACE = spaces.Discrete(2)


def _episode(obs: np.ndarray = OBS, acts: np.ndarray = ACTS) -> Demonstrations:
    demonstrations = as_demonstrations([Trajectory(obs, acts, None, terminal=True)])
    return Demonstrations(demonstrations.data, OBSERVATION_SPACE, ACTION_SPACE)


def source(config: Plain, context: DataSourceContext) -> Any:
    return _episode()


def source_of_nothing(config: Plain, context: DataSourceContext) -> Any:
    return []


def source_that_widens(config: Plain, context: DataSourceContext) -> Any:
    return _episode(OBS.astype(np.float64))


def source_that_changes_a_number(config: Plain, context: DataSourceContext) -> Any:
    return _episode(OBS + 1)


def source_with_an_action_outside_of_its_space(config: Plain, context: DataSourceContext) -> Any:
    return _episode(acts=np.array([0, 1, 7]))


def source_that_draws(config: Plain, context: DataSourceContext) -> Any:
    return _episode(np.random.default_rng().integers(256, size=(4, 3), dtype=np.uint8))


def source_that_seeds_everything(config: Plain, context: DataSourceContext) -> Any:
    torch.manual_seed(0)
    return _episode()


def source_that_leaves_a_file_open(config: Plain, context: DataSourceContext) -> Any:
    (context.base_dir / "data.txt").touch()
    (context.base_dir / "data.txt").open(encoding="utf-8")
    return _episode()


def source_that_no_dataset_keeps(config: Plain, context: DataSourceContext) -> Any:
    return _episode(OBS.astype(np.longdouble))


WRONG = [
    Wrong("it_gives_demonstrations", source_of_nothing, "gave no demonstrations: DataError"),
    Wrong("they_are_what_lies_in_the_file", source_that_widens, "has obs of float64 .*; expected uint8"),
    Wrong("they_are_what_lies_in_the_file", source_that_changes_a_number, "has other numbers in obs"),
    Wrong("they_fit_the_spaces_that_are_stated", source_that_widens, "obs is float64, and the space says uint8"),
    Wrong("they_fit_the_spaces_that_are_stated", source_with_an_action_outside_of_its_space, "does not fit"),
    Wrong("they_are_the_same_every_time", source_that_draws, "gave other data the second time"),
    Wrong(
        "reading_them_draws_nothing_from_generators_that_others_share",
        source_that_seeds_everything,
        "moved the random state of torch",
    ),
    Wrong("it_closes_what_it_opens", source_that_leaves_a_file_open, "left something open: unclosed file"),
    Wrong("they_can_be_kept_as_a_native_dataset", source_that_no_dataset_keeps, "cannot be kept"),
]
