"""Hooks of mimetic_video."""

from collections.abc import Iterator

from mimetic import WrapperEntry, hookimpl

MIMETIC_API = (1, 0)


@hookimpl
def mimetic_wrappers() -> Iterator[WrapperEntry]:
    """Offer the recorder that films an evaluation."""
    yield WrapperEntry(
        name="video",
        level="env",
        config="mimetic_video.config:VideoConfig",
        factory="mimetic_video.film:build",
        summary="Films every counted episode of an evaluation, the reset frame first",
        requires=("imageio-ffmpeg", "pillow"),
    )
