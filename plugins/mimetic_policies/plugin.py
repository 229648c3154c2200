"""Hooks of mimetic_policies: the policies in the box, the wrapper around any gymnasium wrapper, and two rewards."""

from collections.abc import Iterator

from mimetic import PolicyEntry, RewardEntry, WrapperEntry, hookimpl

MIMETIC_API = (1, 0)

_CONFIG = "mimetic_policies.config"
_LEARNS = ("torch", "stable-baselines3")


@hookimpl
def mimetic_policies() -> Iterator[PolicyEntry]:
    """Offer the policies."""
    yield PolicyEntry(
        name="mlp",
        config=f"{_CONFIG}:MlpConfig",
        factory="mimetic_policies.mlp:build",
        summary="Feed-forward actor-critic over the flattened observation",
        requires=_LEARNS,
    )
    yield PolicyEntry(
        name="cnn",
        config=f"{_CONFIG}:CnnConfig",
        factory="mimetic_policies.cnn:build",
        summary="Convolutional actor-critic for images, channels first or last",
        requires=_LEARNS,
    )
    yield PolicyEntry(
        name="multi-input",
        config=f"{_CONFIG}:MultiInputConfig",
        factory="mimetic_policies.multi_input:build",
        summary="Actor-critic for Dict observations, nested ones too: images by convolution, the rest flattened",
        requires=_LEARNS,
    )
    yield PolicyEntry(
        name="actor-critic",
        config=f"{_CONFIG}:ActorCriticConfig",
        factory="mimetic_policies.sb3_actor_critic:build",
        summary="stable-baselines3's own actor-critic policy, unchanged",
        requires=_LEARNS,
    )
    yield PolicyEntry(
        name="file",
        config=f"{_CONFIG}:FileConfig",
        factory="mimetic_policies.saved:build",
        summary="A saved policy, to train on from its weights or to act",
        requires=_LEARNS,
        suffixes=(".safetensors",),
    )
    yield PolicyEntry(
        name="sb3",
        config="mimetic_policies.sb3.config:Sb3Config",
        factory="mimetic_policies.sb3.opening:build",
        summary="A policy that stable-baselines3 saved, rebuilt without running its pickles; PPO's and A2C's train on",
        requires=_LEARNS,
        suffixes=(".zip",),
    )
    yield PolicyEntry(
        name="sb3-network",
        config="mimetic_policies.sb3.config:Sb3NetworkConfig",
        factory="mimetic_policies.sb3.opening:rebuild",
        summary="The network of a policy `sb3`, which rebuilds one that was saved as a policy file",
        requires=_LEARNS,
        trainable=False,
    )
    yield PolicyEntry(
        name="function",
        config=f"{_CONFIG}:FunctionPolicyConfig",
        factory="mimetic_policies.functions:build_policy",
        summary="A function from a module or a Python file: one observation in, one action out",
        trainable=False,
    )
    yield PolicyEntry(
        name="random",
        config=f"{_CONFIG}:RandomConfig",
        factory="mimetic_policies.untrained:build_random",
        summary="Uniformly random actions, reproducible from each episode's seed",
        trainable=False,
    )
    yield PolicyEntry(
        name="zero",
        config=f"{_CONFIG}:ZeroConfig",
        factory="mimetic_policies.untrained:build_zero",
        summary="The action zero, always",
        trainable=False,
    )


@hookimpl
def mimetic_wrappers() -> Iterator[WrapperEntry]:
    """Offer gymnasium's wrappers."""
    yield WrapperEntry(
        name="gymnasium",
        level="env",
        config=f"{_CONFIG}:GymnasiumWrapperConfig",
        factory="mimetic_policies.gymnasium_wrapper:build",
        summary="Any gymnasium wrapper by its class name and arguments",
    )


@hookimpl
def mimetic_rewards() -> Iterator[RewardEntry]:
    """Offer the rewards."""
    yield RewardEntry(
        name="zero",
        config=f"{_CONFIG}:ZeroRewardConfig",
        factory="mimetic_policies.rewards:build_zero",
        summary="Zero for every transition",
    )
    yield RewardEntry(
        name="function",
        config=f"{_CONFIG}:FunctionRewardConfig",
        factory="mimetic_policies.rewards:build_function",
        summary="A function (obs, acts, next_obs, dones) from a module or a Python file",
    )
