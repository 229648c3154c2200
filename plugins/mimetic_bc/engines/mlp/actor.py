"""Is a policy the plain feed-forward net that it seems to be, and which of its parts make up the actor?"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from stable_baselines3.common.policies import ActorCriticPolicy, BaseModel
from stable_baselines3.common.torch_layers import FlattenExtractor, MlpExtractor
from torch import Tensor, nn

from mimetic.losses import PlainHead, plain_head
from mimetic.policies import FlatFeatures, MimeticPolicy
from mimetic_bc.engines.mlp.activations import Activation, read_activation
from mimetic_bc.engines.mlp.unserved import UnservedError


@dataclass(frozen=True, slots=True, eq=False)
class Actor:
    """The parts of a policy that choose its actions."""

    policy: ActorCriticPolicy
    rows: Callable[[Any], Tensor]  # (B, *O) -> (B, D), what the first layer sees, but for the norm
    norm: nn.Module | None  # (B, D) -> (B, D), counting the rows that it sees
    layers: tuple[nn.Linear, ...]  # the last one gives the outputs
    activations: tuple[Activation, ...]  # one behind each layer but the last
    log_std: nn.Parameter | None  # (K,), when the actions are Gaussian
    rest: tuple[nn.Parameter, ...]  # what the actor does not use: the critic
    head: type[PlainHead]

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        """All parameters of the policy: weight and bias of each layer, the standard deviation, the rest."""
        layers = [p for layer in self.layers for p in (layer.weight, layer.bias)]
        log_std = [] if self.log_std is None else [self.log_std]
        return (*layers, *log_std, *self.rest)

    @property
    def form(self) -> tuple[object, ...]:
        """What two actors must have in common to be trained by one engine."""
        first = self.layers[0].weight
        return ([p.shape for p in self.parameters], len(self.layers), first.dtype, self.head, self.norm is None)


def read_actor(policy: ActorCriticPolicy) -> Actor:
    """Take a policy apart.

    Raises:
        UnservedError: something in it is not plain, and the message says what.
    """
    head = plain_head(policy)
    if head is None:
        raise UnservedError(f"the policy {type(policy).__name__} has an evaluation or a distribution of its own")
    rows, norm = _read_features(policy)
    layers, activations = _read_layers(policy)
    log_std = getattr(policy, "log_std", None)
    actor_parameters = [p for layer in layers for p in (layer.weight, layer.bias)]
    if log_std is not None:
        actor_parameters.append(log_std)
    own = {id(p) for p in actor_parameters}
    if len(own) < len(actor_parameters):
        raise UnservedError("layers of the policy share weights")
    parameters = list(policy.parameters())
    _check_parameters(parameters)
    rest = tuple(p for p in parameters if id(p) not in own)
    return Actor(policy, rows, norm, layers, activations, log_std, rest, head)


def _read_features(policy: ActorCriticPolicy) -> tuple[Callable[[Any], Tensor], nn.Module | None]:
    extractor = policy.pi_features_extractor
    _refuse_hooks(policy, extractor)
    _refuse_overrides(policy, "extract_features")
    if type(extractor) is FlatFeatures and isinstance(policy, MimeticPolicy):
        _refuse_overrides(policy, "_features")
        return extractor.rows, extractor.norm
    if type(extractor) is FlattenExtractor and not isinstance(policy, MimeticPolicy):
        return partial(BaseModel.extract_features, policy, features_extractor=extractor), None
    raise UnservedError(f"observations pass through {type(extractor).__name__}")


def _read_layers(policy: ActorCriticPolicy) -> tuple[tuple[nn.Linear, ...], tuple[Activation, ...]]:
    extractor = policy.mlp_extractor
    if type(extractor) is not MlpExtractor or type(extractor.policy_net) is not nn.Sequential:
        raise UnservedError(f"its hidden layers are a {type(extractor).__name__}")
    modules = [*extractor.policy_net, policy.action_net]
    _refuse_hooks(extractor, extractor.policy_net, *modules)
    layers = modules[::2]
    for layer in layers:
        if type(layer) is not nn.Linear or layer.bias is None:
            raise UnservedError(f"its layers are not all linear with a bias: {type(layer).__name__}")
    return tuple(layers), tuple(map(read_activation, modules[1::2]))


def _check_parameters(parameters: list[nn.Parameter]) -> None:
    if not all(p.requires_grad for p in parameters):
        raise UnservedError("some of its weights are frozen")
    if any(p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None) for p in parameters):
        raise UnservedError("a hook watches the gradients of its weights")
    dtypes = {p.dtype for p in parameters}
    if len(dtypes) > 1 or not dtypes <= {torch.float32, torch.float64}:
        raise UnservedError(f"its weights are {', '.join(sorted(map(str, dtypes)))}")
    devices = {p.device.type for p in parameters}
    if devices != {"cpu"}:
        raise UnservedError(f"its weights are on {', '.join(sorted(devices))}")


def _refuse_overrides(policy: ActorCriticPolicy, method: str) -> None:
    known = {getattr(kind, method, None) for kind in (ActorCriticPolicy, MimeticPolicy)}
    if method in vars(policy) or getattr(type(policy), method) not in known:
        raise UnservedError(f"the policy {type(policy).__name__} overrides {method}")


def _refuse_hooks(*modules: nn.Module) -> None:
    for module in modules:
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks:
            raise UnservedError(f"a hook watches its {type(module).__name__}")
