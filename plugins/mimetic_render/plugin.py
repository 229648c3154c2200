"""Hooks of mimetic_render."""

from collections.abc import Iterator

from mimetic import PolicyEntry, WrapperEntry, hookimpl

MIMETIC_API = (1, 0)


@hookimpl
def mimetic_wrappers() -> Iterator[WrapperEntry]:
    """Offer the window."""
    yield WrapperEntry(
        name="render",
        level="venv",
        config="mimetic_render.config:RenderConfig",
        factory="mimetic_render.interactive:build",
        summary="Shows all environments in one window while they run",
    )


@hookimpl
def mimetic_policies() -> Iterator[PolicyEntry]:
    """Offer whoever sits at the keyboard."""
    yield PolicyEntry(
        name="human",
        config="mimetic_render.config:HumanConfig",
        factory="mimetic_render.human:build",
        summary="You, at the keyboard, in the window that shows the environment",
        trainable=False,
    )
