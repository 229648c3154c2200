"""In which numbers are forward passes calculated? Weights, gradients, losses and optimisers keep their own."""

from functools import partial
from typing import Any, Literal

import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor
from torch.nn.modules.conv import _ConvNd

from mimetic.errors import ConfigError, Fault, suggestion
from mimetic.losses import Reader, Reading

Precision = Literal["auto", "full", "bfloat16"]

PRECISIONS: tuple[Precision, ...] = ("auto", "full", "bfloat16")

_DEVICES = ("cpu", "cuda")


def choose_precision(name: str, policy: ActorCriticPolicy, device: torch.device) -> torch.dtype | None:
    """Return what torch's autocast is to calculate in, None for the precision of the weights.

    ``auto`` takes bfloat16 for policies with convolutions on a GPU that has it.

    Raises:
        ConfigError: there is no such precision, or not for this policy or device.
    """
    if name not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise ConfigError(
            Fault(f"no precision is called {name!r}{suggestion(name, PRECISIONS)} (known: {known})", "precision")
        )
    if name == "full" or (name == "auto" and not _gains(policy, device)):
        return None
    if device.type not in _DEVICES:
        raise ConfigError(Fault(f"bfloat16 is for {' and '.join(_DEVICES)}, the device is {device.type}", "precision"))
    if any(parameter.dtype != torch.float32 for parameter in policy.parameters()):
        raise ConfigError(Fault("bfloat16 is for policies in float32, and this one is not", "precision"))
    return torch.bfloat16


def reading_in(autocast: torch.dtype | None, reader: Reader, device: torch.device) -> Reader:
    """Let ``reader`` run the policy in that precision; what is made of its outputs has its own."""
    return reader if autocast is None else partial(_read, autocast, reader, device)


def _read(autocast: torch.dtype, reader: Reader, device: torch.device, obs: Any, acts: Tensor) -> Reading:
    with torch.autocast(device.type, autocast, cache_enabled=False):  # a recording could not keep casts
        return reader(obs, acts)


def _gains(policy: ActorCriticPolicy, device: torch.device) -> bool:
    if device.type != "cuda" or not torch.cuda.is_bf16_supported(including_emulation=False):
        return False
    is_single = all(parameter.dtype == torch.float32 for parameter in policy.parameters())
    return is_single and any(isinstance(module, _ConvNd) for module in policy.modules())
