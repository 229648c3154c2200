"""How does an activation go forward and backward, in as few passes as torch allows?

``aten`` holds the functions that torch's own autograd calls.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mimetic_bc.engines.mlp.unserved import UnservedError

aten = torch.ops.aten


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """One activation: ``forward(z, h)`` writes h = f(z); ``backward(g, kept)`` gives g * f'(z)."""

    forward: Callable[[Tensor, Tensor], object]
    backward: Callable[[Tensor, Tensor], Tensor]
    keeps_input: bool = False  # what `backward` wants is z; else it is h, and z may be h


def read_activation(module: nn.Module) -> Activation:
    """Return what a module does, by its exact class.

    Raises:
        UnservedError: nobody knows it here.
    """
    maker = _MAKERS.get(type(module))
    if maker is None:
        known = ", ".join(sorted(kind.__name__ for kind in _MAKERS))
        raise UnservedError(f"its activation is {type(module).__name__} (served: {known})")
    return maker(module)


def _tanh(_: nn.Module) -> Activation:
    backward = aten.tanh_backward.default
    return Activation(lambda z, h: torch.tanh(z, out=h), lambda g, h: backward(g, h))


def _relu(_: nn.Module) -> Activation:
    backward = aten.threshold_backward.default
    return Activation(lambda z, h: torch.clamp_min(z, 0.0, out=h), lambda g, h: backward(g, h, 0.0))


def _sigmoid(_: nn.Module) -> Activation:
    backward = aten.sigmoid_backward.default
    return Activation(lambda z, h: torch.sigmoid(z, out=h), lambda g, h: backward(g, h))


def _leaky_relu(module: nn.Module) -> Activation:
    assert isinstance(module, nn.LeakyReLU)
    slope = module.negative_slope
    forward, backward = aten.leaky_relu.out, aten.leaky_relu_backward.default
    return Activation(lambda z, h: forward(z, slope, out=h), lambda g, z: backward(g, z, slope, False), True)


def _elu(module: nn.Module) -> Activation:
    assert isinstance(module, nn.ELU)
    alpha = module.alpha
    forward, backward = aten.elu.out, aten.elu_backward.default
    return Activation(lambda z, h: forward(z, alpha, out=h), lambda g, z: backward(g, alpha, 1, 1, False, z), True)


def _silu(_: nn.Module) -> Activation:
    forward, backward = aten.silu.out, aten.silu_backward.default
    return Activation(lambda z, h: forward(z, out=h), lambda g, z: backward(g, z), True)


def _gelu(module: nn.Module) -> Activation:
    assert isinstance(module, nn.GELU)
    form = module.approximate
    forward, backward = aten.gelu.out, aten.gelu_backward.default
    return Activation(
        lambda z, h: forward(z, approximate=form, out=h), lambda g, z: backward(g, z, approximate=form), True
    )


_MAKERS: dict[type[nn.Module], Callable[[nn.Module], Activation]] = {
    nn.Tanh: _tanh,
    nn.ReLU: _relu,
    nn.Sigmoid: _sigmoid,
    nn.LeakyReLU: _leaky_relu,
    nn.ELU: _elu,
    nn.SiLU: _silu,
    nn.GELU: _gelu,
}
