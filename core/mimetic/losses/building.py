"""How does an entry of a run file's ``losses`` become a weighted term?"""

from collections.abc import Sequence

from mimetic.config import LossChoice, WeightSchedule
from mimetic.errors import ComponentFailedError, ConfigError, Fault
from mimetic.hookspecs import LossContext
from mimetic.losses.objective import WeightedTerm
from mimetic.losses.schedules import CosineSchedule, LinearSchedule, Weight
from mimetic.plugins import registry


def build_terms(choices: Sequence[LossChoice], context: LossContext) -> tuple[WeightedTerm, ...]:
    """Build every term of an objective.

    Raises:
        ConfigError: no term has a weight, so that there is nothing to minimise.
    """
    terms = tuple(build_term(choice, context) for choice in choices)
    if not any(callable(term.weight) or term.weight for term in terms):
        seen = ", ".join(f"{term.name} {term.weight}" for term in terms) or "none"
        raise ConfigError(Fault(f"every weight is zero ({seen}); expected at least one term to minimise", "losses"))
    return terms


def build_term(choice: LossChoice, context: LossContext) -> WeightedTerm:
    """Build one term.

    Raises:
        ComponentFailedError: the factory gave something that cannot be called.
    """
    component = registry().find("loss", choice.name)
    provider = f"{component.distribution} {component.version}"
    term = choice.build(context)
    if not callable(term):
        raise ComponentFailedError(
            f"loss term {choice.name!r} of {provider}: its factory gave a {type(term).__name__}; "
            "expected a function of LossInputs that gives a scalar tensor"
        )
    return WeightedTerm(choice.id, _weight(choice.weight), term, provider)


def _weight(weight: float | WeightSchedule) -> Weight:
    if not isinstance(weight, WeightSchedule):
        return weight
    schedule = LinearSchedule if weight.schedule == "linear" else CosineSchedule
    return schedule(weight.start, weight.end)
