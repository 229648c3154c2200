"""What is a policy made of? Of layers behind a features extractor, or of something that only its own code knows.

Most policies are the former, whatever they are called and wherever they come from. They can be calculated without
what surrounds a call of ``predict``: on numpy (``plain_network``) or on torch (``row_network``, ``torch_network``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.policies import ActorCriticPolicy, BaseModel, BasePolicy
from stable_baselines3.common.torch_layers import MlpExtractor
from stable_baselines3.dqn.policies import QNetwork
from stable_baselines3.sac.policies import Actor as SacActor
from stable_baselines3.td3.policies import Actor as Td3Actor
from torch import nn

from mimetic.policies.actor_critic import MimeticPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The layers by which a policy acts, one behind the other."""

    policy: BaseModel
    extractor: nn.Module
    layers: tuple[Any, ...]  # modules, taken apart as far as they are known, or methods of modules

    @property
    def log_std(self) -> torch.Tensor | None:
        """The logarithms ``(D,)`` of a Gaussian's deviations, where the outputs are its means."""
        if not isinstance(getattr(self.policy, "action_dist", None), DiagGaussianDistribution):
            return None
        log_std = getattr(self.policy, "log_std", None)
        return log_std.detach() if isinstance(log_std, nn.Parameter) else None

    @property
    def is_sb3_s_own(self) -> bool:
        """Whether nobody's code but SB3's decides what the policy is; its exact bits are those of ``predict`` then."""
        return all(type(part).__module__.startswith("stable_baselines3.") for part in (self.policy, self.extractor))


def structure_of(policy: BasePolicy) -> Structure | None:
    """Return the layers of a policy, or None when it has ways of its own.

    The last layer of an actor-critic policy gives its distribution's parameters; that of DQN's network gives values
    of actions, that of SAC's and TD3's actors the likeliest actions, in [-1, 1].
    """
    if isinstance(policy, ActorCriticPolicy):
        return None if has_own_ways(policy) or policy.use_sde else _actor_critic(policy)
    if type(policy) is QNetwork:
        layers = _apart(policy.q_net)
    elif type(policy) is SacActor and not policy.use_sde:
        layers = [*_apart(policy.latent_pi), *_apart(policy.mu), nn.Tanh()]
    elif type(policy) is Td3Actor:
        layers = _apart(policy.mu)
    else:
        return None
    return None if has_hooks(policy) else Structure(policy, policy.features_extractor, tuple(layers))


def has_hooks(module: nn.Module) -> bool:
    """Whether calling a module does more than its class says."""
    return bool(module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))


def have_hooks(modules: Iterable[nn.Module]) -> bool:
    """Whether calling one of these, or of those in them, does more than its class says."""
    return any(has_hooks(inner) for module in modules for inner in module.modules())


_METHODS = (
    "forward",
    "predict",
    "_predict",
    "get_distribution",
    "extract_features",
    "_features",
    "_get_action_dist_from_latent",
    "obs_to_tensor",
    "__call__",
)


def has_own_ways(policy: ActorCriticPolicy) -> bool:
    """Whether a policy's class, or a hook, does something else than SB3's, or than ours where it derives from that."""
    parent = MimeticPolicy if isinstance(policy, MimeticPolicy) else ActorCriticPolicy
    nothing = object()
    own = (
        getattr(type(policy), name, nothing) is not getattr(parent, name, nothing) or name in vars(policy)
        for name in _METHODS
    )
    return any(own) or has_hooks(policy)


def _actor_critic(policy: ActorCriticPolicy) -> Structure:
    extractor = policy.mlp_extractor
    is_plain = type(extractor) is MlpExtractor and not has_hooks(extractor)
    hidden = _apart(extractor.policy_net) if is_plain else [extractor.forward_actor]
    return Structure(policy, policy.pi_features_extractor, (*hidden, *_apart(policy.action_net)))


def _apart(module: nn.Module) -> list[Any]:
    """Take sequences of layers apart."""
    if has_hooks(module):
        return [module]
    if type(module) is nn.Sequential:
        return [layer for part in module for layer in _apart(part)]
    return [] if type(module) is nn.Identity else [module]
