"""May the passes of a training be recorded and replayed?"""

from mimetic.policies import says_it_is_replayable, what_forbids_replaying as what_forbids_replaying_policy
from mimetic_bc.engines.interface import Job
from mimetic_bc.terms import kind_of


def what_forbids_replaying(job: Job) -> str | None:
    """Say why the passes of a job are not to be recorded; None when they may be."""
    for term in job.terms:
        if callable(term.weight):
            return f"the weight of {term.name!r} follows a schedule"
        if kind_of(term.term) is None and not says_it_is_replayable(term.term):
            return f"loss term {term.name!r} does not say that it is replayable"
    return what_forbids_replaying_policy(job.policy)
