"""How do a policy's parameters lie in one vector? Actor first, then the standard deviation, then all that it leaves."""

from collections.abc import Iterator
from itertools import accumulate
from math import prod

import torch
from torch import Tensor

from mimetic_bc.engines.mlp.actor import Actor


class FlatWeights:
    """A copy of an actor-critic's parameters, for as long as training steps.

    It copies in and out, and shares no memory with the policy: who moves, pickles or replaces the policy's own
    parameters meets nothing unusual.
    """

    def __init__(self, actor: Actor) -> None:
        self._widths = [(layer.out_features, layer.in_features + 1) for layer in actor.layers]
        log_std = [actor.log_std.numel()] if actor.log_std is not None else []
        sizes = [*map(prod, self._widths), *log_std, *(p.numel() for p in actor.rest)]
        self._ends = list(accumulate(sizes))
        n_layers = len(self._widths)
        self.ends = (self._ends[n_layers - 1], self._ends[n_layers - 1 + len(log_std)], self._ends[-1])
        """Where the network, the standard deviation and the rest end."""
        like = actor.layers[0].weight
        self.vector = torch.zeros(self._ends[-1], dtype=like.dtype, device=like.device)
        """All parameters."""
        self.gradient = torch.zeros_like(self.vector)
        """Their gradients."""
        self.matrices = self.layers_of(self.vector)
        """Weights and biases of each layer, (H, D + 1)."""
        self._mine = list(self._views(actor))
        self._theirs: tuple[Tensor, ...] = ()
        self.read(actor)

    def layers_of(self, vector: Tensor) -> list[Tensor]:
        """View the part of such a vector that belongs to the layers, (H, D + 1) each."""
        starts = [0, *self._ends]
        return [vector[start : start + prod(w)].view(w) for start, w in zip(starts, self._widths, strict=False)]

    def log_std_of(self, vector: Tensor) -> Tensor | None:
        """View the part that belongs to the standard deviation; None when there is none."""
        first, last, _ = self.ends
        return vector[first:last] if last > first else None

    @torch.no_grad()
    def read(self, actor: Actor) -> None:
        """Take the parameters over from a policy, and give them back to the same one from now on."""
        self._theirs = actor.parameters
        for mine, theirs in zip(self._mine, self._theirs, strict=True):
            mine.copy_(theirs)

    @torch.no_grad()
    def write(self) -> None:
        """Give the parameters back."""
        for mine, theirs in zip(self._mine, self._theirs, strict=True):
            theirs.copy_(mine)

    def _views(self, actor: Actor) -> Iterator[Tensor]:
        """View the vector as the policy's parameters, in the order of ``Actor.parameters``."""
        for matrix in self.matrices:
            yield matrix[:, :-1]
            yield matrix[:, -1]
        log_std = self.log_std_of(self.vector)
        if log_std is not None:
            yield log_std
        start = self.ends[1]
        for parameter in actor.rest:
            yield self.vector[start : start + parameter.numel()].view(parameter.shape)
            start += parameter.numel()
