"""How are all kernels of a gradient launched at once? They are recorded on the device once, and replayed.

A small step on a GPU takes as long as Python takes to launch its kernels one by one. A CUDA graph launches them
together. It repeats exactly what was done while it was recorded, on the very same memory: rows are copied to where
the recorded ones lay, and the gradients are where it leaves them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor, nn

from mimetic.algorithms import Batch
from mimetic.algorithms.tensors import copied, fill, slice_rows
from mimetic.errors import ComponentFailedError

_WARM_UPS = 3  # passes before the recorded one, in which libraries allocate and choose what they need
_TOLERANCE = 0.05  # of a gradient's largest number: what is not repeated is off by more, rounding in bfloat16 by less
_ROUNDING = 1e-4  # of the largest number of all gradients

Work = Callable[[], None]


class Recorder(Protocol):
    """What can record work on a device."""

    def record(self, work: Work) -> Work:
        """Run ``work``, as often as need be, and return what does it again."""


class CudaRecorder:
    """Records CUDA graphs.

    Source of the recipe: PyTorch, "CUDA semantics", section "CUDA Graphs",
    https://docs.pytorch.org/docs/stable/notes/cuda.html.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def record(self, work: Work) -> Work:
        """See :class:`Recorder`."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self._device):
            aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch's
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(_WARM_UPS):
                    work()
            torch.cuda.current_stream().wait_stream(aside)
            with torch.cuda.graph(graph):
                work()

        def replay() -> None:
            with torch.cuda.device(self._device):
                graph.replay()

        return replay


class RecordingError(Exception):
    """A pass cannot be recorded, and the message says why."""


class RecordedGradients:
    """The gradients of one policy at minibatches of one size, as a recording."""

    def __init__(
        self, recorder: Recorder, differentiate: Callable[[Batch], object], rows: Batch, policy: nn.Module
    ) -> None:
        """Record ``differentiate``, which adds the gradients at some rows to those of the policy's parameters.

        ``rows`` are an example. Nothing is learned from it: buffers and random streams are put back.

        Raises:
            RecordingError: the pass cannot be recorded, or what was recorded is not the same as the pass.
        """
        self._parameters = list(policy.parameters())
        self._policy = policy
        self._rows = Batch(copied(rows.obs), copied(rows.acts))
        self._differentiate = differentiate
        self._forms = _forms(policy)
        with self.unchanged():
            try:
                self._replay = recorder.record(self._work)
            except (RuntimeError, ComponentFailedError) as error:  # the latter tells what a policy or a term met
                raise RecordingError(str(error).partition("\n")[0]) from error
            self._gradients = self._leave()
        if self._forms != _forms(policy):
            raise RecordingError("a pass puts new tensors in the place of the policy's parameters or buffers")
        self._compare()

    def is_current(self) -> bool:
        """Whether the policy still is what was recorded: its memory, its modes, what of it is trained."""
        return self._forms == _forms(self._policy)

    def at(self, rows: Batch) -> Sequence[Tensor | None]:
        """Return the gradient of each parameter at these rows, in memory that the next call writes to."""
        fill(self._rows.obs, rows.obs)
        fill(self._rows.acts, rows.acts)
        self._replay()
        return self._gradients

    def _work(self) -> None:
        _clear(self._parameters)
        self._differentiate(self._rows)

    def _leave(self) -> list[Tensor | None]:
        """Take the gradients from the parameters, which others will give new ones."""
        gradients = [parameter.grad for parameter in self._parameters]
        _clear(self._parameters)
        return gradients

    def _compare(self) -> None:
        """Hold the recording to the pass itself, once, at other rows than those that were recorded."""
        _repeat_end(self._rows)
        with self.unchanged():
            self._work()
            expected = self._leave()
        with self.unchanged():
            self._replay()
        if not _are_close(self._gradients, expected):
            raise RecordingError("a replay gives other gradients than the pass that was recorded")

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Put buffers and random streams back afterwards."""
        device = self._rows.acts.device
        buffers = list(self._policy.buffers())
        before = [buffer.clone() for buffer in buffers]
        try:
            with torch.random.fork_rng([device] if device.type == "cuda" else []):
                yield
        finally:
            with torch.no_grad():
                for buffer, value in zip(buffers, before, strict=True):
                    buffer.copy_(value)


def _repeat_end(rows: Batch) -> None:
    """Overwrite the first half of the rows with the last."""
    n_rows = len(rows.acts)
    half = n_rows // 2
    for column in rows:
        fill(slice_rows(column, 0, half), slice_rows(column, n_rows - half, n_rows))


def _clear(parameters: Sequence[nn.Parameter]) -> None:
    for parameter in parameters:
        parameter.grad = None


def _are_close(mine: Sequence[Tensor | None], others: Sequence[Tensor | None]) -> bool:
    """Whether each differs little beside its own largest number or, where that is all rounding, that of all."""
    if [gradient is None for gradient in mine] != [gradient is None for gradient in others]:
        return False
    pairs = [(a, b) for a, b in zip(mine, others, strict=True) if a is not None and b is not None and a.numel()]
    largest = max((b.abs().max().item() for _, b in pairs), default=0.0)
    return all((a - b).abs().max().item() <= _TOLERANCE * b.abs().max().item() + _ROUNDING * largest for a, b in pairs)


def _forms(policy: nn.Module) -> tuple[object, ...]:
    """Where the tensors of a policy lie, and in which state its modules are."""
    parameters = tuple((p.data_ptr(), p.dtype, p.requires_grad) for p in policy.parameters())
    buffers = tuple((b.data_ptr(), b.dtype) for b in policy.buffers())
    return parameters, buffers, tuple(module.training for module in policy.modules())
