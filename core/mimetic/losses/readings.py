"""What does a policy say about a batch? One forward pass, read in the cheapest way that gives the policy's own answer.

A policy whose class overrides ``evaluate_actions`` is asked through it. One that leaves stable-baselines3's methods
alone has its distribution asked, which spares the value network. Of those, the ones with a plain distribution are
read by the formulas in ``closed_forms``, which spares the distribution objects too.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Protocol

import torch
from stable_baselines3.common import distributions as sb3
from stable_baselines3.common.policies import ActorCriticPolicy, BaseModel
from torch import Tensor

from mimetic.losses.closed_forms import (
    bernoulli_entropy,
    bernoulli_log_prob,
    categorical_entropy,
    categorical_log_prob,
    categorical_log_probs,
    gaussian_entropy,
    gaussian_log_prob,
)
from mimetic.policies import MimeticPolicy, codec_of
from mimetic.spaces import ActionCodec


class Reading(Protocol):
    """What a policy says about one batch of B rows. Each part is computed when it is first asked for."""

    @property
    def log_prob(self) -> Tensor:
        """``log p(act | obs)``, (B,), in nats."""

    @property
    def entropy(self) -> Tensor | None:
        """The entropy of the actions, (B,), in nats; None when it has no closed form."""

    @property
    def distribution(self) -> Any:
        """stable-baselines3's distribution over encoded actions."""

    @property
    def targets(self) -> Tensor:
        """The batch's actions as the distribution takes them, (B,) or (B, D)."""


Reader = Callable[[Any, Tensor], Reading]
"""``reader(obs, acts)``: asks one policy about one batch; the actions are the environment's."""


def policy_reader(policy: ActorCriticPolicy) -> Reader:
    """Choose how ``policy`` is read. The answer depends on its class and its distribution alone."""
    codec = codec_of(policy)
    if not _is_known(policy, "evaluate_actions"):
        return partial(_EvaluatedReading, policy, codec)
    head = plain_head(policy)
    if head is None:
        return partial(_DistributionReading, policy, codec)
    return partial(_read_head, head, policy, codec)


def plain_head(policy: ActorCriticPolicy) -> "type[PlainHead] | None":
    """Return what reads the outputs of ``policy``'s last layer; None when only the policy knows what they mean."""
    if not all(_is_known(policy, name) for name in _DECIDING):
        return None
    return _PLAIN_HEADS.get(type(policy.action_dist))


_DECIDING = ("evaluate_actions", "get_distribution", "_get_action_dist_from_latent")
_KNOWN_CLASSES = (ActorCriticPolicy, MimeticPolicy)


def _is_known(policy: ActorCriticPolicy, method: str) -> bool:
    """Whether a method is one of those that are known here, and no replacement by a subclass or on the instance."""
    known = [getattr(kind, method) for kind in _KNOWN_CLASSES]
    return method not in vars(policy) and getattr(type(policy), method) in known


# --- asked through the policy's own evaluate_actions ------------------------------------------------------------


class _EvaluatedReading:
    """``evaluate_actions`` gives log-probability and entropy; a distribution costs a second forward pass."""

    def __init__(self, policy: ActorCriticPolicy, codec: ActionCodec, obs: Any, acts: Tensor) -> None:
        self._policy, self._codec, self._obs, self._acts = policy, codec, obs, acts
        _, self.log_prob, self.entropy = policy.evaluate_actions(obs, acts)

    @property
    def distribution(self) -> Any:
        return copy.copy(self._policy.get_distribution(self._obs))

    @property
    def targets(self) -> Tensor:
        return self._codec.encode(self._acts)


# --- asked through the distribution -----------------------------------------------------------------------------


class _DistributionReading:
    """stable-baselines3's distribution object, without the value network."""

    def __init__(self, policy: ActorCriticPolicy, codec: ActionCodec, obs: Any, acts: Tensor) -> None:
        self.targets = codec.encode(acts)
        self.distribution: Any = copy.copy(policy.get_distribution(obs))

    @property
    def log_prob(self) -> Tensor:
        log_prob: Tensor = self.distribution.log_prob(self.targets)
        return log_prob

    @property
    def entropy(self) -> Tensor | None:
        entropy: Tensor | None = self.distribution.entropy()
        return entropy


# --- read from the network's outputs ----------------------------------------------------------------------------


def _read_head(
    head: "type[PlainHead]", policy: ActorCriticPolicy, codec: ActionCodec, obs: Any, acts: Tensor
) -> "PlainHead":
    """Run the actor, (B, *O) -> (B, K), and read what it gives."""
    if isinstance(policy, MimeticPolicy):
        features = policy._features(obs, policy.pi_features_extractor)
    else:
        features = BaseModel.extract_features(policy, obs, policy.pi_features_extractor)
    outputs = policy.action_net(policy.mlp_extractor.forward_actor(features))
    if outputs.dtype in _COARSE:  # under torch's autocast; sums over them need more than they have
        outputs = outputs.float()
    return head(policy, outputs, partial(codec.encode, acts))


_COARSE = (torch.bfloat16, torch.float16)


class PlainHead(ABC):
    """The outputs of the actor's last layer, and what every plain distribution shares."""

    def __init__(self, policy: ActorCriticPolicy, outputs: Tensor, targets: Callable[[], Tensor]) -> None:
        """Read ``outputs`` (B, K); ``targets`` gives the encoded actions if anyone asks."""
        self._policy = policy
        self.outputs = outputs
        self._encode = targets

    @cached_property
    def targets(self) -> Tensor:
        """The batch's actions as the distribution takes them, (B,) or (B, D)."""
        return self._encode()

    @cached_property
    def distribution(self) -> Any:
        """stable-baselines3's distribution over encoded actions."""
        return copy.copy(self._policy.action_dist).proba_distribution(self.outputs)

    @property
    @abstractmethod
    def log_prob(self) -> Tensor:
        """``log p(act | obs)``, (B,), in nats."""

    @property
    @abstractmethod
    def entropy(self) -> Tensor | None:
        """The entropy of the actions, (B,), in nats."""


class _CategoricalHead(PlainHead):
    """Logits of one choice."""

    @cached_property
    def _log_probs(self) -> Tensor:
        return categorical_log_probs(self.outputs)

    @property
    def log_prob(self) -> Tensor:
        return categorical_log_prob(self._log_probs, self.targets)

    @property
    def entropy(self) -> Tensor:
        return categorical_entropy(self._log_probs)


class _MultiCategoricalHead(PlainHead):
    """Logits of several independent choices, side by side."""

    @cached_property
    def _log_probs(self) -> list[Tensor]:
        sizes = [int(size) for size in self._policy.action_dist.action_dims]  # type: ignore[attr-defined]  # a MultiCategorical has them
        return [categorical_log_probs(logits) for logits in torch.split(self.outputs, sizes, dim=1)]

    @property
    def log_prob(self) -> Tensor:
        chosen = self.targets.unbind(dim=1)
        parts = [categorical_log_prob(p, classes) for p, classes in zip(self._log_probs, chosen, strict=True)]
        return torch.stack(parts).sum(dim=0)

    @property
    def entropy(self) -> Tensor:
        return torch.stack([categorical_entropy(p) for p in self._log_probs]).sum(dim=0)


class _GaussianHead(PlainHead):
    """The mean of a Gaussian whose standard deviation is a parameter of the policy."""

    @property
    def log_prob(self) -> Tensor:
        return gaussian_log_prob(self.outputs, self._policy.log_std, self.targets)

    @property
    def entropy(self) -> Tensor:
        return gaussian_entropy(self._policy.log_std).expand(len(self.outputs))

    @cached_property
    def distribution(self) -> Any:
        return copy.copy(self._policy.action_dist).proba_distribution(self.outputs, self._policy.log_std)


class _BernoulliHead(PlainHead):
    """Logits of independent switches."""

    @property
    def log_prob(self) -> Tensor:
        return bernoulli_log_prob(self.outputs, self.targets)

    @property
    def entropy(self) -> Tensor:
        return bernoulli_entropy(self.outputs)


_PLAIN_HEADS: dict[type, type[PlainHead]] = {
    sb3.CategoricalDistribution: _CategoricalHead,
    sb3.MultiCategoricalDistribution: _MultiCategoricalHead,
    sb3.DiagGaussianDistribution: _GaussianHead,
    sb3.BernoulliDistribution: _BernoulliHead,
}
