"""The engine for plain feed-forward policies: the same steps as autograd's, without autograd.

Nothing outside this package depends on how it works. It does by hand what autograd would do, on one flat vector of
parameters, and the tests hold the two together.

Shapes, in all modules of this package: B rows, D inputs of a layer, H outputs of a hidden layer, K outputs of the
last one. Activations are kept on their side, (H, B), so that a softmax runs along the rows of memory; and a layer's
bias is one more column of its weights, (H, D + 1), with a row of ones below its inputs, so that one product gives the
gradients of both.
"""

from mimetic_bc.engines.mlp.engine import MlpEngine

__all__ = ["MlpEngine"]
