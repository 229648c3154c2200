"""What is a policy, and how does anything act by one?

``actor_critic`` is the base class of trainable policies, ``inputs`` what their networks see of an observation,
``actors`` what collection and evaluation call, ``acting`` how any policy becomes one, ``structure`` which layers one
has, ``plain_network``, ``row_network`` and ``torch_network`` how they are calculated, ``direct_calls`` how they are
called, ``torch_rows``, ``blocks`` and ``operations`` of how many rows at once, ``choices`` and ``noise`` how an action
is drawn, ``origins`` how a policy is built from a component and remembers it, ``optimizers`` how SB3's optimiser of one
is made, ``replaying`` whether its passes may be recorded on a GPU.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.policies.acting import as_actor as as_actor
    from mimetic.policies.actor_critic import (
        MimeticPolicy as MimeticPolicy,
        codec_of as codec_of,
    )
    from mimetic.policies.actors import (
        Actor as Actor,
        EpisodeStreams as EpisodeStreams,
        UniformActor as UniformActor,
    )
    from mimetic.policies.inputs import (
        FlatFeatures as FlatFeatures,
        InputLeaf as InputLeaf,
        ObservationFeatures as ObservationFeatures,
        RunningNorm as RunningNorm,
        input_leaves as input_leaves,
    )
    from mimetic.policies.optimizers import without_compiler as without_compiler
    from mimetic.policies.origins import (
        PolicyOrigin as PolicyOrigin,
        build_policy as build_policy,
        origin_of as origin_of,
        remember_origin as remember_origin,
    )
    from mimetic.policies.replaying import (
        says_it_is_replayable as says_it_is_replayable,
        what_forbids_replaying as what_forbids_replaying,
    )

_MODULE_OF = {
    "as_actor": "acting",
    "MimeticPolicy": "actor_critic",
    "codec_of": "actor_critic",
    "Actor": "actors",
    "EpisodeStreams": "actors",
    "UniformActor": "actors",
    "FlatFeatures": "inputs",
    "InputLeaf": "inputs",
    "ObservationFeatures": "inputs",
    "RunningNorm": "inputs",
    "input_leaves": "inputs",
    "without_compiler": "optimizers",
    "PolicyOrigin": "origins",
    "build_policy": "origins",
    "origin_of": "origins",
    "remember_origin": "origins",
    "says_it_is_replayable": "replaying",
    "what_forbids_replaying": "replaying",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic.policies' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic.policies.{_MODULE_OF[name]}"), name)
