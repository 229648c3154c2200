"""Hooks of mimetic_bc: behavioural cloning and the loss terms in the box."""

from collections.abc import Iterator

from mimetic import AlgorithmEntry, LossEntry, hookimpl

MIMETIC_API = (1, 0)


@hookimpl
def mimetic_algorithms() -> Iterator[AlgorithmEntry]:
    """Offer behavioural cloning."""
    yield AlgorithmEntry(
        name="bc",
        config="mimetic_bc.config:BCConfig",
        factory="mimetic_bc.trainer:build",
        summary="Behavioural cloning: supervised learning of the demonstrators' actions",
        requires=("torch", "stable-baselines3"),
    )


@hookimpl
def mimetic_losses() -> Iterator[LossEntry]:
    """Offer the loss terms."""
    summaries = {
        "nll": ("NegativeLogLikelihoodConfig", "Negative log-likelihood of the demonstrated actions"),
        "entropy": ("EntropyConfig", "Minus the entropy of the policy's actions, so that a weight rewards entropy"),
        "l2": ("L2Config", "Half the sum of squares of every parameter"),
        "mse": ("MeanSquaredErrorConfig", "Squared distance of the policy's mean action from the demonstrated one"),
        "huber": ("HuberConfig", "Like mse near the demonstrated action, linear far from it"),
        "cross-entropy": ("CrossEntropyConfig", "Cross-entropy of discrete actions, with label smoothing"),
    }
    for name, (config, summary) in summaries.items():
        yield LossEntry(
            name=name,
            config=f"mimetic_bc.config:{config}",
            factory=f"mimetic_bc.terms:build_{name.replace('-', '_')}",
            summary=summary,
            requires=("torch",),
        )
