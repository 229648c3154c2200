"""Where does every random number come from? From one seed, through streams that are derived by name.

A stream is ``(seed, name, index...)``: what one part of a run draws never moves what another part draws, so that
logging, evaluating or filming changes nothing that is learned.
"""

from __future__ import annotations

import contextlib
import functools
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


def derive_seed(seed: int, name: str, *index: int) -> int:
    """Return the 31-bit seed of the stream ``name`` (and, say, the episode ``index``) under ``seed``."""
    return _derived(seed, name, index)


def generator(seed: int, name: str, *index: int) -> np.random.Generator:
    """Return numpy's generator of a stream, at its beginning."""
    return np.random.default_rng(_sequence(seed, name, index))


def torch_generator(seed: int, name: str, *index: int, device: torch.device | str = "cpu") -> torch.Generator:
    """Return torch's generator of a stream, at its beginning."""
    import torch

    return torch.Generator(device=device).manual_seed(_torch_seed(seed, name, index))


@contextlib.contextmanager
def torch_stream(seed: int, name: str, *index: int) -> Iterator[None]:
    """Let code that draws from torch's global CPU generator draw from a stream; the global one is put back after."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(_torch_seed(seed, name, index))
        yield


@functools.lru_cache(maxsize=1024)  # an episode's seed is asked for where it is reset and where it is played
def _derived(seed: int, name: str, index: tuple[int, ...]) -> int:
    return int(_sequence(seed, name, index).generate_state(1, np.uint32)[0] >> 1)


def _sequence(seed: int, name: str, index: tuple[int, ...]) -> np.random.SeedSequence:
    if seed < 0 or any(number < 0 for number in index):
        raise ValueError(f"a seed and its indices are not negative, got seed {seed} and index {index} for {name!r}")
    return np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), *index))


def _torch_seed(seed: int, name: str, index: tuple[int, ...]) -> int:
    return int(_sequence(seed, name, index).generate_state(1, np.uint64)[0] >> np.uint64(1))
