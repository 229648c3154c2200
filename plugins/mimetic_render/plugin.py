"""Hooks of mimetic_render."""

from collections.abc import Iterator

from mimetic import WrapperEntry, hookimpl

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
