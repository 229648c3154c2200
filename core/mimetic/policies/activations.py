"""Which activation functions can a config name?"""

from collections.abc import Mapping
from types import MappingProxyType

from torch import nn

ACTIVATIONS: Mapping[str, type[nn.Module]] = MappingProxyType(
    {
        "tanh": nn.Tanh,
        "relu": nn.ReLU,
        "leaky_relu": nn.LeakyReLU,
        "elu": nn.ELU,
        "gelu": nn.GELU,
        "silu": nn.SiLU,
        "sigmoid": nn.Sigmoid,
    }
)
"""Activation functions by the name that a config gives them."""


def activation_name(kind: type[nn.Module]) -> str | None:
    """Return the name of an activation function, or None when no config can name it."""
    return next((name for name, known in ACTIVATIONS.items() if known is kind), None)
