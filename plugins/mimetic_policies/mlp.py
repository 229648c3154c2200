"""The policy ``mlp``: everything in an observation as one row, through two small networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from mimetic.policies import FlatFeatures, ObservationFeatures
from mimetic.policies.actor_critic import sb3_learning_rate
from mimetic_policies.learned import LearnedPolicy, build_learned

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic import PolicyContext
    from mimetic_policies.config import MlpConfig


class MlpPolicy(LearnedPolicy):
    """A feed-forward policy; by default actor and critic have two hidden layers of 32 each, with tanh."""

    replayable: ClassVar[bool] = True
    component: ClassVar[str] = "mlp"
    features: ClassVar[type[ObservationFeatures]] = FlatFeatures

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        lr_schedule: Callable[[float], float] = sb3_learning_rate,
        *,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        normalize_obs: bool = False,
        **options: Any,
    ) -> None:
        options.setdefault("features_extractor_class", FlatFeatures)
        if normalize_obs:
            options["features_extractor_kwargs"] = {"normalize": True}
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch=[32, 32] if net_arch is None else net_arch,
            **options,
        )

    def describe_features(self) -> dict[str, Any]:
        """Say whether the input is normalised."""
        return {"normalize_obs": bool(self.features_extractor_kwargs.get("normalize", False))}


FeedForward32Policy = MlpPolicy
"""The reference library's name for a policy with two hidden layers of 32: ``mlp`` with its defaults."""


def build(config: MlpConfig, context: PolicyContext) -> MlpPolicy:
    """Build the policy of a run file."""
    policy = build_learned(MlpPolicy, config, context, {"normalize_obs": config.normalize_obs})
    assert isinstance(policy, MlpPolicy)
    return policy
