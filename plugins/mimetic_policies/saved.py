"""The policy ``file``: a saved policy, to train on or to act."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mimetic.storage import open_policy

if TYPE_CHECKING:
    from mimetic import PolicyContext
    from mimetic_policies.config import FileConfig


def build(config: FileConfig, context: PolicyContext) -> Any:
    """Load the policy and compare its spaces with those that it is to act in."""
    return open_policy(
        config.path,
        observation_space=context.observation_space,
        action_space=context.action_space,
        device=context.device,
        seed=context.seed,
    )
