"""What do the names and shapes of weights say about the layers of a network?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mimetic.errors import DataError

if TYPE_CHECKING:
    import torch

Weights = Mapping[str, "torch.Tensor"]


def as_today(weights: Weights) -> Weights:
    """Name weights as releases since 2.0 do: no layers before the two heads, an extractor under each head's name."""
    own = {name: value for name, value in weights.items() if ".shared_net." not in name}
    shared = {name: value for name, value in weights.items() if ".shared_net." in name}
    offset = 2 * sum(name.endswith(".weight") for name in shared)
    if shared:
        own = {_moved(name, offset): value for name, value in own.items()}
        for head in ("policy_net", "value_net"):
            own |= {name.replace("shared_net", head): value for name, value in shared.items()}
    if not any(name.startswith("pi_features_extractor.") for name in own):
        extractor = {name: value for name, value in own.items() if name.startswith("features_extractor.")}
        own |= {f"{head}_{name}": value for head in ("pi", "vf") for name, value in extractor.items()}
    return own


def _moved(name: str, offset: int) -> str:
    """``mlp_extractor.policy_net.0.weight`` with ``offset`` added to its number."""
    found = re.fullmatch(r"(mlp_extractor\.(?:policy|value)_net\.)(\d{1,6})(\..+)", name)
    return f"{found[1]}{int(found[2]) + offset}{found[3]}" if found else name


def layers_of(weights: Weights, prefix: str, *, chained: bool = True) -> list[tuple[int, int]]:
    """Return how many numbers each linear layer takes and gives, in their order; each takes what the last one gives."""
    pattern = re.compile(re.escape(prefix) + r"(\d{1,6})\.weight")
    found = {int(match[1]): weights[name] for name in weights if (match := pattern.fullmatch(name))}
    layers: list[tuple[int, int]] = []
    for index in sorted(found):
        n_out, n_in = matrix_shape(f"{prefix}{index}.weight", found[index])
        if chained and layers and layers[-1][1] != n_in:
            raise DataError(f"its layers {prefix}* do not fit each other: {layers[-1][1]} numbers, then {n_in}")
        layers.append((n_in, n_out))
    return layers


def matrix_shape(name: str, weight: torch.Tensor) -> tuple[int, int]:
    """Return how many rows and columns a weight has. Raises: DataError when it is no matrix."""
    if weight.ndim != 2 or not weight.numel():
        raise DataError(f"its weight {name!r} has shape {tuple(weight.shape)}; a matrix was expected")
    return int(weight.shape[0]), int(weight.shape[1])


def first_input(weights: Weights) -> int:
    """Return what a network without hidden layers takes."""
    name = next((name for name in ("action_net.weight", "mu.weight", "mu.0.weight") if name in weights), None)
    if name is None:
        raise DataError("its weights hold no layer that could act")
    return matrix_shape(name, weights[name])[1]


def first_few(names: Mapping[str, Any] | list[str]) -> str:
    """Name some of what is not known, as a terminal can show it."""
    few = [ascii(name)[1:-1][:80] for name in list(names)[:3]]
    return ", ".join(few) + (", ..." if len(names) > 3 else "")
