"""What do the learning policies of this plugin share? A config that says all about them, and files that run nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from mimetic.errors import DataError
from mimetic.policies import MimeticPolicy, ObservationFeatures, PolicyOrigin
from mimetic.policies.activations import ACTIVATIONS, activation_name
from mimetic.seeding import torch_stream
from mimetic.storage import load_policy, save_policy

if TYPE_CHECKING:
    import os

    import torch

    from mimetic import PolicyContext
    from mimetic_policies.config import HeadConfig


class LearnedPolicy(MimeticPolicy):
    """A policy that knows the config of its component, and is saved and loaded as a policy file."""

    component: ClassVar[str]
    """The name of the component that builds policies of this class."""

    features: ClassVar[type[ObservationFeatures]]
    """The features extractor that the component's config describes."""

    def describe(self) -> PolicyOrigin | None:
        """Name the component and config that rebuild this policy; None when something has no place in the config."""
        activation = activation_name(self.activation_fn)
        noise = self.dist_kwargs or {}
        is_foreign = "component" not in vars(type(self)) or self.features_extractor_class is not self.features
        if is_foreign or activation is None or not noise.get("full_std", True) or noise.get("use_expln", False):
            return None
        arch = self.net_arch if isinstance(self.net_arch, dict) else {"pi": self.net_arch, "vf": self.net_arch}
        pi, vf = (list(arch.get(side, [])) for side in ("pi", "vf"))
        config = {
            "net_arch": pi,
            "vf_arch": None if vf == pi else vf,
            "activation": activation,
            "ortho_init": self.ortho_init,
            "log_std_init": self.log_std_init,
            "squash_output": self.codec.squash,
            "use_sde": self.use_sde,
            **self.describe_features(),
        }
        return PolicyOrigin(self.component, config)

    def describe_features(self) -> dict[str, Any]:
        """Return the part of the config that says how an observation becomes features."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a policy file; nothing is overwritten unless told so."""
        save_policy(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: torch.device | str = "auto") -> Self:
        """Read a policy of this class from its file.

        Raises:
            DataError: the file holds no policy, or one of another class.
        """
        policy = load_policy(path, device)
        if not isinstance(policy, cls):
            raise DataError(f"{path}: holds a {type(policy).__name__}; expected a {cls.__name__}")
        return policy


def build_learned(
    kind: type[LearnedPolicy], config: HeadConfig, context: PolicyContext, features: dict[str, Any]
) -> LearnedPolicy:
    """Build a policy from its config, reproducibly from ``context.seed``."""
    vf_arch = config.net_arch if config.vf_arch is None else config.vf_arch
    with torch_stream(context.seed, "policy"):
        policy = kind(
            context.observation_space,
            context.action_space,
            net_arch={"pi": list(config.net_arch), "vf": list(vf_arch)},
            activation_fn=ACTIVATIONS[config.activation],
            ortho_init=config.ortho_init,
            log_std_init=config.log_std_init,
            squash_output=config.squash_output,
            use_sde=config.use_sde,
            **features,
        )
    return policy.to(context.device)
