"""What do the columns of an .npz archive mean? Their names say it; docs/data.md lists them."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mimetic.errors import DataError
from mimetic.hookspecs import DataSourceContext
from mimetic.types import Demonstrations, TrajectoryDataset, Transitions, from_arrays, obs_from_leaves
from mimetic.types.arrays import join_transitions
from mimetic.types.infos import columns_from_infos
from mimetic.types.observations import unescape_key
from mimetic_sources.config import NpzConfig
from mimetic_sources.npz_archive import NpzArchive
from mimetic_sources.selection import select

_TREES = ("obs", "next_obs")
_FLAGS = ("dones", "truncated", "terminals", "truncations")
_COLUMNS = ("acts", "rews", "episode_ends", *_FLAGS)
_REFERENCE = ("indices", "terminal")
"""How the reference library writes where trajectories end: split points, and one flag a trajectory."""


def build(config: NpzConfig, context: DataSourceContext) -> Demonstrations:
    """Read the archive; what is left out of it is said in a warning.

    Raises:
        DataError: it is no archive, or its columns do not fit together.
        UntrustedFileError: a column that is needed holds pickled objects, and ``trust`` is false.
    """
    where = str(config.path)
    columns = _read(config)
    if "terminal" in columns and config.horizon is None:
        _notice(where, _ABOUT_THE_FLAG)
    try:
        made = from_arrays(**_arguments(columns, where), description=where)
        return select(made if config.horizon is None else _with_horizon(made, config.horizon), config)
    except DataError as error:
        lines = [line if line.startswith(where) else f"{where}: {line}" for line in str(error).splitlines()]
        raise DataError("\n".join(lines)) from error


_ABOUT_THE_FLAG = (
    "the ending flag of each trajectory is kept as written, but what writes this form marked trajectories that the "
    "clock had cut as terminal too; `horizon: 500` marks those of 500 steps as truncated"
)


def _read(config: NpzConfig) -> dict[str, np.ndarray]:
    """Return the columns of the archive under this project's names."""
    where, names = str(config.path), dict(config.columns)
    columns: dict[str, np.ndarray] = {}
    left_out: list[str] = []
    with NpzArchive(config.path) as archive:
        absent = [name for name in names.values() if name not in archive.members]
        if absent:
            raise DataError(f"{where}: no column is called {', '.join(absent)}; there are {', '.join(archive.members)}")
        ours = {theirs: our for our, theirs in names.items()}
        for name, member in archive.members.items():
            our = ours.get(name, name if name not in names else "")
            if our == "infos" and member.dtype.hasobject and not config.trust:
                _notice(where, "infos are left out: they are pickled objects, which `trust: true` would read")
            elif our == "infos" or our in (*_TREES, *_COLUMNS, *_REFERENCE) or our.startswith((*_DOTTED, "infos.")):
                columns[our] = archive.read(name, trust=config.trust)
            else:
                left_out.append(name)
    if left_out:
        _notice(where, f"left out, because nothing here is called so: {', '.join(left_out)}")
    return columns


_DOTTED = tuple(f"{tree}." for tree in _TREES)


def _arguments(columns: Mapping[str, np.ndarray], where: str) -> dict[str, Any]:
    """Turn columns into the arguments of :func:`mimetic.types.from_arrays`."""
    if "acts" not in columns or not any(name == "obs" or name.startswith("obs.") for name in columns):
        raise DataError(
            f"expected the columns obs and acts; there are {', '.join(columns)}. "
            "`columns: {obs: ..., acts: ...}` says what they are called here"
        )
    arguments: dict[str, Any] = {name: columns[name] for name in _COLUMNS if name in columns}
    for tree in _TREES:
        if any(name == tree or name.startswith(f"{tree}.") for name in columns):
            arguments[tree] = obs_from_leaves(dict(columns), tree)
    if "indices" in columns:
        arguments["episode_ends"] = [*columns["indices"].tolist(), len(columns["acts"])]
    if "terminal" in columns:
        arguments["terminals"] = columns["terminal"]
    for name in _FLAGS:
        if name in arguments:
            arguments[name] = _as_bools(arguments[name], name)
    infos = _infos(columns)
    return _without_useless_flags({**arguments, **({"infos": infos} if infos else {})}, where)


def _without_useless_flags(arguments: dict[str, Any], where: str) -> dict[str, Any]:
    """Leave flags of single steps out when nothing says what followed the last step of a trajectory."""
    useless = [] if "next_obs" in arguments else [name for name in ("dones", "truncated") if name in arguments]
    if useless:
        _notice(where, f"{' and '.join(useless)} are left out: without next_obs they make no trajectories")
    return {name: argument for name, argument in arguments.items() if name not in useless}


def _infos(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    infos = {unescape_key(n.removeprefix("infos.")): column for n, column in columns.items() if n.startswith("infos.")}
    if "infos" not in columns:
        return infos
    steps = columns["infos"].tolist()
    if not all(step is None or isinstance(step, Mapping) for step in steps):
        raise DataError("infos hold something else than a mapping a step")
    return infos | columns_from_infos([step or {} for step in steps])


def _as_bools(flags: np.ndarray, name: str) -> np.ndarray:
    """Read 0 and 1 as false and true, in one dimension."""
    if flags.dtype.kind in "iuf" and np.isin(flags, (0, 1)).all():
        flags = flags.astype(bool)
    if flags.dtype != bool:
        raise DataError(f"{name} has dtype {flags.dtype}; expected bool, or only 0 and 1")
    return flags.reshape(-1)


def _with_horizon(made: Demonstrations, horizon: int) -> Demonstrations:
    data = join_transitions(made.data) if isinstance(made.data, Transitions) else made.data
    if not isinstance(data, TrajectoryDataset):
        raise DataError("horizon needs trajectories; these are single steps")
    longest = int(data.lengths.max())
    if longest > horizon:
        raise DataError(f"horizon is {horizon}, and trajectory {int(data.lengths.argmax())} has {longest} steps")
    is_full = data.lengths == horizon
    return replace(made, data=data.with_endings(data.terminals & ~is_full, data.truncations | is_full))


def _notice(where: str, text: str) -> None:
    warnings.warn(f"{where}: {text}", stacklevel=2)
