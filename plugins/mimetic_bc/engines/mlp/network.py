"""How do rows pass forward through the layers, and gradients back?"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mimetic_bc.engines.mlp.activations import Activation

_MANY_NUMBERS = 2**13  # in a batch: from here on, copying them costs more than two more operations


class Workspace:
    """Memory for batches of one size, used again at every step."""

    def __init__(self, widths: Sequence[int], keeps: Sequence[bool], n_rows: int, like: Tensor) -> None:
        """Make room for hidden layers of these widths; ``keeps`` says whose inputs must be kept."""
        self.hidden = [like.new_ones(width + 1, n_rows) for width in widths]  # the last row stays one, for biases
        self.inside = [h[:-1] for h in self.hidden]
        self.transposed = [h.t() for h in self.hidden]
        self.kept = [torch.empty_like(h) if k else h for h, k in zip(self.inside, keeps, strict=True)]
        self.back = [torch.empty_like(h) for h in self.inside]


class Network:
    """Linear layers with activations between them.

    A bias is a column of its layer's matrix, for which the layer's inputs end with a row of ones. At the first layer
    that means to copy the data, so large batches have no ones there, and its bias is dealt with apart.
    """

    def __init__(
        self,
        matrices: Sequence[Tensor],
        gradients: Sequence[Tensor],
        activations: Sequence[Activation],
        batch_size: int,
    ) -> None:
        """Read each layer's weights and bias, (H, D + 1), and write their gradients: views of memory that stays."""
        first, into_first = matrices[0], gradients[0]
        self.has_ones = batch_size * first.shape[1] < _MANY_NUMBERS
        """Whether the rows of the data end with a one, (B, D + 1), or not, (B, D)."""
        self._matrices = [first if self.has_ones else first[:, :-1], *matrices[1:]]
        self._gradients = [into_first if self.has_ones else into_first[:, :-1], *gradients[1:]]
        self._bias, self._into_bias = first[:, -1:], into_first[:, -1]
        self._weights_transposed = [matrix[:, :-1].t() for matrix in matrices]
        self._forward = [activation.forward for activation in activations]
        self._backward = [activation.backward for activation in activations]
        self._keeps = [activation.keeps_input for activation in activations]

    def workspace(self, n_rows: int) -> Workspace:
        """Make memory for batches of ``n_rows``."""
        widths = [len(matrix) for matrix in self._matrices[:-1]]
        return Workspace(widths, self._keeps, n_rows, self._matrices[0])

    def forward(self, rows: Tensor, space: Workspace) -> Tensor:
        """Give the outputs, (K, B)."""
        below = rows.t()
        lacks_bias = not self.has_ones
        for layer, activate in enumerate(self._forward):
            kept = space.kept[layer]
            torch.mm(self._matrices[layer], below, out=kept)
            if lacks_bias:
                kept.add_(self._bias)
                lacks_bias = False
            activate(kept, space.inside[layer])
            below = space.hidden[layer]
        outputs = torch.mm(self._matrices[-1], below)
        return outputs.add_(self._bias) if lacks_bias else outputs

    def backward(self, rows: Tensor, slope: Tensor, space: Workspace) -> None:
        """Write the gradients of all layers, given that of the outputs, ``slope`` (K, B)."""
        for layer in range(len(self._forward), 0, -1):
            torch.mm(slope, space.transposed[layer - 1], out=self._gradients[layer])
            back = torch.mm(self._weights_transposed[layer], slope, out=space.back[layer - 1])
            slope = self._backward[layer - 1](back, space.kept[layer - 1])
        torch.mm(slope, rows, out=self._gradients[0])
        if not self.has_ones:
            torch.sum(slope, 1, out=self._into_bias)
