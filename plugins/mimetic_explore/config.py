"""What a run file may say about exploration."""

from typing import Annotated

from pydantic import Field

from mimetic.config import ComponentConfig

Probability = Annotated[float, Field(ge=0, le=1)]


class SwitchingConfig(ComponentConfig):
    """Stretches of random actions between stretches of the policy's own."""

    random_prob: Probability
    """How likely a choice between random actions and the policy's falls on random ones."""

    switch_prob: Probability
    """How likely it is, after each step, that the choice is made anew. 1: before every step."""

    shared_switch: bool = False
    """One choice for all environments, carried over from episode to episode, as the reference library has it."""


class EpsilonGreedyConfig(ComponentConfig):
    """A random action now and then, each step for itself."""

    epsilon: Probability
    """How likely an action is random."""


class GaussianConfig(ComponentConfig):
    """Noise on every action; for continuous (Box) actions only."""

    sigma: Annotated[float, Field(gt=0)]
    """The noise's standard deviation, in the action's own units; what leaves the action space is clipped."""
