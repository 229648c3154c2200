"""What does training need of the process, and how is everything put back while others run and at the end?

Six things are set: the policy's training mode, torch's random state and threads, the flushing of denormals, the
recording of gradients, and the checks of torch's distributions, which wait for the device at every batch. Training has
them its own way while it steps; whoever runs between two reports finds the process as it was, and may leave it in any
state. The weights are the engine's while it steps, and the policy's between two reports.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor
from torch.distributions import Distribution

from mimetic.seeding import torch_generator
from mimetic_bc.engines import Engine


class RandomStream:
    """The random numbers that training draws (dropout, say): a stream of its own, swapped for torch's global one."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self._device = device if device.type == "cuda" else None
        devices = ["cpu"] if self._device is None else ["cpu", str(self._device)]
        self.states: list[Tensor] = [torch_generator(seed, "training", device=name).get_state() for name in devices]

    def swap(self) -> None:
        """Exchange torch's global random state and the one that is kept here."""
        outside = _random_states(self._device)
        _set_random_states(self.states, self._device)
        self.states = outside


class TrainingSession:
    """Enters and leaves the state that training wants; see the module."""

    def __init__(
        self, policy: ActorCriticPolicy, stream: RandomStream, engine: Engine, n_threads: int | None = None
    ) -> None:
        """Get ready. ``n_threads`` are torch's while training steps; None: as many as there are outside."""
        self._policy = policy
        self._stream = stream
        self._engine = engine
        self._n_threads = n_threads
        self._n_threads_outside = n_threads
        self._modes: list[tuple[torch.nn.Module, bool]] = []
        self._flushed = False
        self._records_gradients = True
        self._checks_distributions = True

    def __enter__(self) -> "TrainingSession":
        self._modes = [(module, module.training) for module in self._policy.modules()]
        self._step_in()
        return self

    def __exit__(self, *_: object) -> None:
        self._step_out()
        for module, mode in self._modes:
            module.training = mode

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave for as long as someone else runs."""
        self._step_out()
        try:
            yield
        finally:
            self._step_in()

    def _step_in(self) -> None:
        if not self._policy.training:
            self._policy.set_training_mode(True)
        self._engine.begin()
        self._stream.swap()
        if self._n_threads is not None:
            self._n_threads_outside = torch.get_num_threads()
            torch.set_num_threads(self._n_threads)
        # Weights that decay become denormal in the end, and a step on denormals takes four to six times as long.
        self._flushed = flushes_denormals()
        torch.set_flush_denormal(True)
        self._records_gradients = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        self._checks_distributions = Distribution._validate_args
        Distribution.set_default_validate_args(False)

    def _step_out(self) -> None:
        Distribution.set_default_validate_args(self._checks_distributions)
        torch.set_grad_enabled(self._records_gradients)
        torch.set_flush_denormal(self._flushed)
        if self._n_threads_outside is not None:
            torch.set_num_threads(self._n_threads_outside)
        self._stream.swap()
        self._engine.end()


def flushes_denormals() -> bool:
    """Whether this thread counts numbers below the smallest normal one as zero."""
    smallest = sys.float_info.min
    return smallest / 2.0 == 0.0


def _random_states(device: torch.device | None) -> list[Tensor]:
    states = [torch.get_rng_state()]
    return states if device is None else [*states, torch.cuda.get_rng_state(device)]


def _set_random_states(states: list[Any], device: torch.device | None) -> None:
    torch.set_rng_state(states[0])
    if device is not None:
        torch.cuda.set_rng_state(states[1], device)
