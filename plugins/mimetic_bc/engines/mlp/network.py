"""How do rows pass forward through the layers, and gradients back?"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mimetic_bc.engines.mlp.activations import Activation


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
    """Linear layers with activations between them."""

    def __init__(self, matrices: Sequence[Tensor], activations: Sequence[Activation]) -> None:
        """Take each layer's weights and bias, (H, D + 1), as views of memory that the optimiser changes."""
        self._matrices = list(matrices)
        self._weights_transposed = [matrix[:, :-1].t() for matrix in matrices]
        self._forward = [activation.forward for activation in activations]
        self._backward = [activation.backward for activation in activations]
        self._keeps = [activation.keeps_input for activation in activations]

    def workspace(self, n_rows: int) -> Workspace:
        """Make memory for batches of ``n_rows``."""
        widths = [len(matrix) for matrix in self._matrices[:-1]]
        return Workspace(widths, self._keeps, n_rows, self._matrices[0])

    def forward(self, rows: Tensor, space: Workspace) -> Tensor:
        """Give the outputs. (B, D + 1), the last column being one -> (K, B)."""
        below = rows.t()
        for matrix, activate, kept, inside, hidden in zip(
            self._matrices, self._forward, space.kept, space.inside, space.hidden, strict=False
        ):
            torch.mm(matrix, below, out=kept)
            activate(kept, inside)
            below = hidden
        return torch.mm(self._matrices[-1], below)

    def backward(self, rows: Tensor, slope: Tensor, space: Workspace, into: Sequence[Tensor]) -> None:
        """Write the gradients of all layers, given that of the outputs, ``slope`` (K, B)."""
        for layer in range(len(into) - 1, 0, -1):
            torch.mm(slope, space.transposed[layer - 1], out=into[layer])
            back = torch.mm(self._weights_transposed[layer], slope, out=space.back[layer - 1])
            slope = self._backward[layer - 1](back, space.kept[layer - 1])
        torch.mm(slope, rows, out=into[0])
