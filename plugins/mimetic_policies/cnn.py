"""The policy ``cnn``: images through convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from mimetic.policies.actor_critic import sb3_learning_rate
from mimetic_policies.learned import LearnedPolicy, build_learned
from mimetic_policies.nature import NatureFeatures

if TYPE_CHECKING:
    import gymnasium as gym

    from mimetic import PolicyContext
    from mimetic.policies import ObservationFeatures
    from mimetic_policies.config import CnnConfig


class CnnPolicy(LearnedPolicy):
    """A convolutional policy. It takes images with their channels first or last, whichever its space says."""

    replayable: ClassVar[bool] = True
    component: ClassVar[str] = "cnn"
    features: ClassVar[type[ObservationFeatures]] = NatureFeatures
    takes_transposed_images = True

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        lr_schedule: Callable[[float], float] = sb3_learning_rate,
        *,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        features_extractor_class: type[NatureFeatures] = NatureFeatures,
        **options: Any,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch=[] if net_arch is None else net_arch,
            features_extractor_class=features_extractor_class,
            **options,
        )

    def describe_features(self) -> dict[str, Any]:
        """Say how images become features."""
        given = {"features_dim": 512, "layout": "auto", "normalize_images": True, **self.features_extractor_kwargs}
        return {key: given[key] for key in ("features_dim", "layout", "normalize_images")}


def build(config: CnnConfig, context: PolicyContext) -> CnnPolicy:
    """Build the policy of a run file."""
    options = {
        "features_dim": config.features_dim,
        "layout": config.layout,
        "normalize_images": config.normalize_images,
    }
    policy = build_learned(CnnPolicy, config, context, {"features_extractor_kwargs": options})
    assert isinstance(policy, CnnPolicy)
    return policy
