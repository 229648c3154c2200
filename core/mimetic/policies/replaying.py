"""May a policy's passes be recorded on a GPU, and replayed?

Only where everything in them is arithmetic on the device: a replay repeats no line of Python. So each class that takes
part must be known, or must say so: ``replayable = True`` in its own body, since a subclass may do anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stable_baselines3.common.policies import ActorCriticCnnPolicy, ActorCriticPolicy, MultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor, MlpExtractor, NatureCNN

if TYPE_CHECKING:
    from torch import nn

_KNOWN: frozenset[type] = frozenset(
    {
        ActorCriticPolicy,
        ActorCriticCnnPolicy,
        MultiInputActorCriticPolicy,
        CombinedExtractor,
        FlattenExtractor,
        MlpExtractor,
        NatureCNN,
    }
)


def what_forbids_replaying(policy: nn.Module) -> str | None:
    """Say why a policy's passes are not to be recorded; None when they may be."""
    for module in policy.modules():
        name = type(module).__name__
        if not _is_replayable(type(module)):
            return f"{name} does not say that it is replayable"
        if _is_altered(module):
            return f"a hook watches its {name}, or a method was replaced"
    if any(p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None) for p in policy.parameters()):
        return "a hook watches the gradients of its weights"
    return None


def says_it_is_replayable(thing: object) -> bool:
    """Read the declaration of a class, a function, or the class of an object."""
    own = vars(thing) if isinstance(thing, type) or hasattr(thing, "__code__") else vars(type(thing))
    return own.get("replayable") is True


def _is_replayable(kind: type) -> bool:
    return kind in _KNOWN or kind.__module__.startswith("torch.nn.modules.") or says_it_is_replayable(kind)


def _is_altered(module: nn.Module) -> bool:
    """Whether this object does more than its class says."""
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    return any(hooks) or any(callable(value) and hasattr(type(module), name) for name, value in vars(module).items())
