"""A linear policy."""

from acme_mimetic.config import LinearConfig
from mimetic import PolicyContext
from mimetic.policies import MimeticPolicy


def build(config: LinearConfig, context: PolicyContext) -> MimeticPolicy:
    """Build an actor-critic without hidden layers."""
    policy = MimeticPolicy(context.observation_space, context.action_space, net_arch=[], ortho_init=config.ortho_init)
    return policy.to(context.device)
