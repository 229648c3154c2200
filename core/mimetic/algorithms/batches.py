"""How do demonstrations become batches? Rows lie on the training device, and a batch is an index selection.

Any other iterable of batches (a torch DataLoader, a list of mappings) is read pass by pass; its rows are cut into
batches in their own order, so that both kinds obey one rule: ``ceil(rows / batch_size)`` batches a pass, every row
once, never a batch across the end of a pass.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from mimetic.algorithms.tensors import (
    concatenate,
    moved,
    row_bytes,
    rows_of,
    slice_rows,
    split_rows,
    take,
    to_tensors,
)
from mimetic.errors import ConfigError, DataError, Fault
from mimetic.seeding import torch_generator
from mimetic.types import Demonstrations, TrajectoryDataset, TransitionsMinimal

_CHUNK_BATCHES = 64  # batches that are gathered at once
_CHUNK_BYTES = 2 * 2**20  # and how much they may weigh: about what the cache of a core holds


class Batch(NamedTuple):
    """B rows on the training device."""

    obs: Any  # (B, *O), or a mapping of such tensors, nested to any depth
    acts: Tensor  # (B, *A), the environment's actions


Prepare = Callable[[Any, Tensor], Batch]
"""``prepare(obs, acts)``: maps rows, each for itself, to the form that a trainer wants to find in a batch."""


@dataclass(frozen=True, slots=True)
class Form:
    """What rows look like in a batch."""

    floats: torch.dtype = torch.float32  # what fractions become
    prepare: Prepare = Batch  # called once for the rows of many batches


class Batches(Protocol):
    """Demonstrations cut into batches, pass by pass."""

    @property
    def n_rows(self) -> int | None:
        """Rows of one pass; None when that shows only at its end."""

    @property
    def n_batches(self) -> int | None:
        """Batches of one pass; None when that shows only at its end."""

    def epoch(self, index: int, *, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of pass ``index`` from batch ``start`` on. Equal indices give equal passes."""


PLAIN = Form()
"""Rows as the environment gives them, fractions in float32."""


def make_batches(
    demonstrations: Demonstrations,
    *,
    batch_size: int,
    device: torch.device,
    seed: int,
    drop_last: bool = False,
    form: Form = PLAIN,
) -> Batches:
    """Cut demonstrations into batches on ``device``; rows that are at hand are shuffled anew in every pass.

    Raises:
        ConfigError: ``drop_last`` would drop everything.
        DataError: there are no rows.
    """
    data = demonstrations.data
    if isinstance(data, TrajectoryDataset | TransitionsMinimal):
        return ResidentBatches(data, batch_size=batch_size, device=device, seed=seed, drop_last=drop_last, form=form)
    return StreamedBatches(data, batch_size=batch_size, device=device, drop_last=drop_last, form=form)


class ResidentBatches:
    """All rows as contiguous tensors, shuffled by a permutation that depends on (seed, pass) alone.

    On the CPU a column that needs no conversion shares the caller's memory, so that a memory-mapped file stays one.
    A column that does not fit on another device stays on the CPU, and its batches are copied over.
    """

    def __init__(
        self,
        data: TrajectoryDataset | TransitionsMinimal,
        *,
        batch_size: int,
        device: torch.device,
        seed: int,
        drop_last: bool = False,
        form: Form = PLAIN,
    ) -> None:
        self.n_rows = len(data.acts)
        self._batch_size = batch_size
        self._seed = seed
        self._device = device
        home = _home_of(data, device)
        self._obs = to_tensors(data.obs, home, floats=form.floats)
        self._acts = to_tensors(data.acts, home, floats=form.floats)
        self._prepare = form.prepare
        # A trajectory has one observation more than actions, so its rows of the two are numbered apart.
        self._obs_rows = to_tensors(data.obs_index, home) if isinstance(data, TrajectoryDataset) else None
        self.n_batches = _n_batches(self.n_rows, batch_size, drop_last)

    def epoch(self, index: int, *, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of pass ``index`` from batch ``start`` on."""
        order = torch.randperm(self.n_rows, generator=torch_generator(self._seed, "permutation", index))
        order = moved(order, self._acts.device)
        n_used = min(self.n_rows, self.n_batches * self._batch_size)
        chunk = self._chunk_rows()
        # Chunks begin at the same rows wherever a pass is entered: where a batch lies in memory can move its last bits.
        first = start * self._batch_size // chunk * chunk
        skipped = start - first // self._batch_size
        for begin in range(first, n_used, chunk):
            rows = order[begin : min(begin + chunk, n_used)]
            yield from self._gather(rows)[skipped:]
            skipped = 0

    def _gather(self, rows: Tensor) -> list[Batch]:
        obs_rows = rows if self._obs_rows is None else self._obs_rows[rows]
        taken = self._prepare(take(self._obs, obs_rows, self._device), take(self._acts, rows, self._device))
        return list(map(Batch, split_rows(taken.obs, self._batch_size), split_rows(taken.acts, self._batch_size)))

    def _chunk_rows(self) -> int:
        batch_bytes = self._batch_size * (row_bytes(self._obs) + row_bytes(self._acts))
        return self._batch_size * max(1, min(_CHUNK_BATCHES, _CHUNK_BYTES // max(batch_bytes, 1)))


class StreamedBatches:
    """Batches from an iterable of mappings with ``obs`` and ``acts``, read anew in every pass, never shuffled here."""

    def __init__(
        self,
        source: Iterable[Mapping[str, Any]],
        *,
        batch_size: int,
        device: torch.device,
        drop_last: bool = False,
        form: Form = PLAIN,
    ) -> None:
        self._form = form
        self._source = source
        self._batch_size = batch_size
        self._device = device
        self._drop_last = drop_last
        self.n_rows = sum(rows_of(item["acts"]) for item in source) if isinstance(source, list | tuple) else None
        self.n_batches = None if self.n_rows is None else _n_batches(self.n_rows, batch_size, drop_last)

    def epoch(self, index: int, *, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of one pass from batch ``start`` on; those before it are read and passed over.

        Raises:
            DataError: the pass gave no rows, or a mapping that is no batch.
        """
        number = -1
        for number, batch in enumerate(self._cut()):
            if number >= start:
                yield self._form.prepare(*batch)
        if number < 0:
            raise DataError(
                f"demonstrations: pass {index} over the iterable of batches gave no batch; expected at least one. "
                "An iterable must start afresh each time it is iterated"
            )

    def _cut(self) -> Iterator[Batch]:
        waiting: list[Batch] = []
        n_waiting = 0
        for position, item in enumerate(self._source):
            batch = _as_batch(item, position, self._device, self._form.floats)
            waiting.append(batch)
            n_waiting += len(batch.acts)
            if n_waiting < self._batch_size:
                continue
            joined = _join(waiting)
            for begin in range(0, n_waiting - self._batch_size + 1, self._batch_size):
                yield _slice(joined, begin, begin + self._batch_size)
            rest = n_waiting % self._batch_size
            waiting = [_slice(joined, n_waiting - rest, n_waiting)] if rest else []
            n_waiting = rest
        if n_waiting and not self._drop_last:
            yield _join(waiting)


def _home_of(data: TrajectoryDataset | TransitionsMinimal, device: torch.device) -> torch.device:
    """Where the rows live: on the device, unless they would not leave it a fifth of its free memory."""
    if device.type != "cuda":
        return device
    n_bytes = row_bytes(data.obs) * rows_of(data.obs) + row_bytes(data.acts) * rows_of(data.acts)
    free, _ = torch.cuda.mem_get_info(device)
    return device if n_bytes < 0.8 * free else torch.device("cpu")


def _n_batches(n_rows: int, batch_size: int, drop_last: bool) -> int:
    if n_rows == 0:
        raise DataError("demonstrations: no transitions; expected at least one")
    if drop_last and n_rows < batch_size:
        raise ConfigError(
            Fault(f"would drop all {n_rows} transitions, which do not fill one batch of {batch_size}", "drop_last")
        )
    return n_rows // batch_size if drop_last else -(-n_rows // batch_size)


def _as_batch(item: object, position: int, device: torch.device, floats: torch.dtype) -> Batch:
    if not isinstance(item, Mapping) or not {"obs", "acts"} <= set(item):
        seen = (
            f"a mapping with {', '.join(map(str, item)) or 'no keys'}"
            if isinstance(item, Mapping)
            else type(item).__name__
        )
        raise DataError(f"demonstrations: batch {position} is {seen}; expected a mapping with 'obs' and 'acts'")
    batch = Batch(to_tensors(item["obs"], device, floats=floats), to_tensors(item["acts"], device, floats=floats))
    if rows_of(batch.obs) != len(batch.acts):
        raise DataError(
            f"demonstrations: batch {position} has {rows_of(batch.obs)} observations and {len(batch.acts)} actions; "
            "expected as many"
        )
    return batch


def _join(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    return Batch(concatenate([batch.obs for batch in batches]), concatenate([batch.acts for batch in batches]))


def _slice(batch: Batch, begin: int, end: int) -> Batch:
    if begin == 0 and end == len(batch.acts):
        return batch
    return Batch(slice_rows(batch.obs, begin, end), slice_rows(batch.acts, begin, end))
