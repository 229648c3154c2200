"""Hooks of mimetic_explore."""

from collections.abc import Iterator

from mimetic import WrapperEntry, hookimpl

MIMETIC_API = (1, 0)


@hookimpl
def mimetic_wrappers() -> Iterator[WrapperEntry]:
    """Offer ways of exploring."""
    yield WrapperEntry(
        name="switching",
        level="policy",
        config="mimetic_explore.config:SwitchingConfig",
        factory="mimetic_explore.switching:build",
        summary="Switches between the policy and uniformly random actions",
    )
    yield WrapperEntry(
        name="epsilon-greedy",
        level="policy",
        config="mimetic_explore.config:EpsilonGreedyConfig",
        factory="mimetic_explore.switching:build_epsilon_greedy",
        summary="Takes a uniformly random action with a fixed probability",
    )
    yield WrapperEntry(
        name="gaussian",
        level="policy",
        config="mimetic_explore.config:GaussianConfig",
        factory="mimetic_explore.gaussian:build",
        summary="Adds Gaussian noise to continuous actions",
    )
