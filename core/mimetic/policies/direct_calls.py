"""How is a layer called without what torch builds around each call of a module?

A module's call looks for hooks and, name by name, for the layers in it, which takes three times as long as a small
layer itself. Layers that are known become functions of torch's. In others, somebody's own, ``forward`` runs with a
stand-in for ``self``: whatever it looks for there is the module's own, but the layers that it calls are called
directly. These are the same operations on the same numbers; ``direct_calls`` tries that, on a copy.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from mimetic.policies.operations import Step, modules_of
from mimetic.policies.structure import has_hooks, have_hooks
from mimetic.policies.torch_rows import Tensors, bits_of, parts_of
from mimetic.seeding import generator

if TYPE_CHECKING:
    import numpy as np

_N_ROWS = 4
"""So many rows are tried."""

_LARGE = 100_000
"""Layers with more parameters take so long themselves that little would be saved, and a copy of them costs more."""


def known_call(step: Step) -> Step:
    """Return torch's function for a layer of a known kind, others as they are; it looks up parameters at each call."""
    if not isinstance(step, nn.Module) or has_hooks(step):
        return step
    function_of = _FUNCTIONS.get(type(step))
    return step if function_of is None else function_of(step)


def direct_calls(steps: Sequence[Step], draw: Callable[[np.random.Generator, int], Tensors]) -> Sequence[Step]:
    """Return what does in less time what each of ``steps`` does, or the step itself. Nothing but a copy is called.

    Args:
        steps: what is called one after the other, in evaluation mode.
        draw: makes rows to try them with.
    """
    modules = modules_of(steps)
    if not modules or have_hooks(modules):
        return steps
    if sum(tensor.numel() for module in modules for tensor in module.parameters()) > _LARGE:
        return steps
    try:
        return _tried(steps, draw(generator(0, "direct calls"), _N_ROWS))
    except Exception:  # layers that cannot be copied, or not take these rows: what is wrong with them shows in use
        return steps


def _tried(steps: Sequence[Step], rows: Tensors) -> list[Step]:
    x: Any = rows
    result = []
    with torch.random.fork_rng(devices={part.device for part in parts_of(rows) if part.is_cuda}), torch.no_grad():
        for step in steps:
            twin = copy.deepcopy(step)
            for module in modules_of([twin]):
                module.eval()
            given, x = _without_detours(twin)(copy.deepcopy(x)), twin(x)
            result.append(_without_detours(step) if _are_alike(given, x) else step)
    return result


def _are_alike(some: Any, others: Any) -> bool:
    return all(torch.equal(one, other) for one, other in zip(bits_of(some), bits_of(others), strict=True))


# --- functions --------------------------------------------------------------------------------------------------


def _linear(layer: nn.Module) -> Step:
    linear, parameters = functional.linear, layer._parameters
    return lambda x: linear(x, parameters["weight"], parameters["bias"])  # type: ignore[arg-type]  # these are not None


def _layer_norm(layer: Any) -> Step:
    norm, parameters, shape, eps = torch.layer_norm, layer._parameters, layer.normalized_shape, layer.eps
    return lambda x: norm(x, shape, parameters["weight"], parameters["bias"], eps)


_FUNCTIONS: dict[type[nn.Module], Callable[[Any], Step]] = {
    nn.Linear: _linear,
    nn.LayerNorm: _layer_norm,
    nn.Tanh: lambda layer: torch.tanh,
    nn.ReLU: lambda layer: torch.relu,
    nn.Sigmoid: lambda layer: torch.sigmoid,
    nn.LeakyReLU: lambda layer: partial(functional.leaky_relu, negative_slope=layer.negative_slope),
    nn.ELU: lambda layer: partial(functional.elu, alpha=layer.alpha),
    nn.SiLU: lambda layer: functional.silu,
    nn.GELU: lambda layer: partial(functional.gelu, approximate=layer.approximate),
}


# --- stand-ins --------------------------------------------------------------------------------------------------


def _without_detours(step: Step) -> Step:
    """Return what should do the same as a module, or a method of one; what is called otherwise remains as it is."""
    if isinstance(step, nn.Module):
        stand_in: Step = _layer(step)
        return stand_in
    owner, function = getattr(step, "__self__", None), getattr(step, "__func__", None)
    if isinstance(owner, nn.Module) and isinstance(function, FunctionType):
        return MethodType(function, _stand_in(owner))
    return step


def _layer(module: nn.Module) -> Any:
    """Return what a module's code should find in the place of a layer."""
    if type(module) is nn.ModuleList:
        return tuple(map(_layer, module))
    if type(module) is nn.ModuleDict:
        return {name: _layer(each) for name, each in module.items()}
    return _stand_in(module) if _is_called_plainly(module) else module


def _is_called_plainly(module: nn.Module) -> bool:
    """Whether a call is nothing but ``forward``, written in Python."""
    kind = type(module)
    plain = kind.__call__ is nn.Module.__call__ and isinstance(kind.forward, FunctionType)
    return plain and module._compiled_call_impl is None and not has_hooks(module)


class _StandIn:
    """A module to whoever asks it: it has all that the module has, but calls the layers in it directly."""

    def __init__(self, module: nn.Module) -> None:
        """Stand in for ``module``."""
        layers = {name: _layer(each) for name, each in module._modules.items() if each is not None}
        vars(self).update(layers, _StandIn__module=module)

    @property  # type: ignore[misc]  # mypy knows no object that says it is of another class
    def __class__(self) -> type:
        return type(self.__module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self).pop(name, None)  # it is another layer from now on
        setattr(self.__module, name, value)

    def __delattr__(self, name: str) -> None:
        vars(self).pop(name, None)
        delattr(self.__module, name)


def _stand_in(module: nn.Module) -> Any:
    """Return a stand-in with the module's operators, the call among them: Python looks for these in a class alone."""
    kind = type(module)
    special = (name for name in dir(kind) if name.startswith("__") and not hasattr(_StandIn, name))
    operators = {name: _operator_of(module, name) for name in special if callable(getattr(kind, name))}
    return type(kind.__name__, (_StandIn,), {**operators, "__call__": _call_of(module)})(module)


def _operator_of(module: nn.Module, name: str) -> Any:
    return lambda stand_in, *args: getattr(module, name)(*args)


def _call_of(module: nn.Module) -> Any:
    """Return what a stand-in's class has for a call."""
    known = known_call(module)
    if known is not module and not getattr(module, "inplace", False):
        return staticmethod(known)
    if type(module) is nn.Sequential:
        return staticmethod(partial(_one_after_the_other, [_layer(layer) for layer in module]))
    return type(module).forward if module._modules else staticmethod(module.forward)


def _one_after_the_other(steps: Sequence[Step], x: Any) -> Any:
    for step in steps:
        x = step(x)
    return x
