"""Settings of the data sources."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PositiveInt, TypeAdapter, ValidationInfo

from mimetic.config import ComponentConfig, ConfigPath

Column = Literal[
    "obs",
    "acts",
    "rews",
    "next_obs",
    "dones",
    "truncated",
    "episode_ends",
    "indices",
    "terminals",
    "terminal",
    "truncations",
]


class SelectionConfig(ComponentConfig):
    """Which of the trajectories are used; applied in the order of these fields."""

    min_return: float | None = None
    """Leave out trajectories whose sum of rewards is smaller."""

    n_trajectories: PositiveInt | None = None
    """Use the first so many trajectories; an error when there are fewer."""

    max_steps: PositiveInt | None = None
    """Use at most the first so many steps of each trajectory; what is cut is truncated."""


class NativeConfig(SelectionConfig):
    """A dataset that mimetic wrote."""

    path: ConfigPath
    """The file, or the folder with its index."""


class NpzConfig(SelectionConfig):
    """Columns in an .npz archive."""

    path: ConfigPath
    """The archive."""

    columns: Mapping[Column, str] = {}
    """Other names of columns in this file: `{obs: observations, acts: actions}`."""

    horizon: PositiveInt | None = None
    """Trajectories of this length were cut by the clock: they are marked truncated, not terminated."""

    trust: bool = False
    """Run the pickled objects that this file holds, as loading them does. Only for a file whose maker you trust."""


def _place(value: Any, info: ValidationInfo) -> str:
    """Make the file in ``file.py:attribute`` absolute; leave ``module:attribute`` as it is."""
    if not isinstance(value, str):
        raise ValueError(f"expected text, 'module:attribute' or 'file.py:attribute', seen {value!r}")
    place, _, attribute = value.rpartition(":")
    if not place or not attribute:
        raise ValueError(f"expected 'module:attribute' or 'file.py:attribute', seen {str(value)!r}")
    if not place.endswith(".py"):
        return str(value)
    file = TypeAdapter(ConfigPath).validate_python(type(value)(place), context=info.context)
    return f"{file}:{attribute}"


class ArraysConfig(SelectionConfig):
    """Arrays from a Python file or module."""

    path: Annotated[str, BeforeValidator(_place)]
    """`module:attribute` or `file.py:attribute` of the arrays, or of a function without arguments that returns them."""


class DemoConfig(SelectionConfig):
    """The shipped demonstrations: 20 episodes of 500 steps on CartPole-v1."""
