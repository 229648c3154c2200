"""Where does a policy come from? The name and config of the component that rebuilds it, kept on the policy itself."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mimetic.config import Choice, parse_choice
from mimetic.errors import MimeticError
from mimetic.plugins import registry
from mimetic.policies.optimizers import without_compiler
from mimetic.seeding import torch_stream

if TYPE_CHECKING:
    from stable_baselines3.common.policies import ActorCriticPolicy

    from mimetic.hookspecs import PolicyContext

_ATTRIBUTE = "mimetic_origin"


@dataclass(frozen=True, slots=True)
class PolicyOrigin:
    """The component that built a policy, and its config as plain data."""

    name: str
    config: Mapping[str, Any]


def build_policy(choice: Choice | str, context: PolicyContext) -> Any:
    """Build a policy from what a run file or a command line names, reproducibly from ``context.seed``.

    A policy with weights remembers its origin, so that it can be saved. One that was loaded keeps the origin that
    its file states.
    """
    if isinstance(choice, str):
        choice = parse_choice(choice, "policy")
    with torch_stream(context.seed, "policy"), without_compiler():
        policy = choice.build(context)
    if origin_of(policy) is None:
        config = choice.config.model_dump(mode="json", by_alias=True)
        remember_origin(policy, PolicyOrigin(choice.name, config))
    return policy


def origin_of(policy: object) -> PolicyOrigin | None:
    """Return what rebuilds a policy, or None when nothing is known to."""
    origin = getattr(policy, _ATTRIBUTE, None)
    if isinstance(origin, PolicyOrigin):
        return origin
    describe = getattr(policy, "describe", None)
    described = describe() if callable(describe) else None
    return described if isinstance(described, PolicyOrigin) else None


def policy_title(policy: object) -> str:
    """Name a policy in a sentence: its component and who provides it, or its class when no component built it."""
    origin = origin_of(policy)
    with contextlib.suppress(MimeticError):
        if origin is not None:
            return str(registry().find("policy", origin.name))
    return f"policy {type(policy).__module__}.{type(policy).__qualname__}"


def remember_origin(policy: ActorCriticPolicy | object, origin: PolicyOrigin) -> None:
    """Keep a policy's origin on it; an object that takes no attributes stays without."""
    with contextlib.suppress(AttributeError, TypeError):
        setattr(policy, _ATTRIBUTE, origin)
