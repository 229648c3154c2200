"""mimetic_video, a plugin of mimetic: films what a policy does, without holding frames in memory.

Importing this package is light: each name below is imported from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic_video.config import VideoConfig as VideoConfig
    from mimetic_video.encoder import Encoder as Encoder, EncoderError as EncoderError
    from mimetic_video.film import EpisodeFilm as EpisodeFilm
    from mimetic_video.wrapper import VideoWrapper as VideoWrapper, video_wrapper_factory as video_wrapper_factory

_MODULE_OF = {
    "Encoder": "encoder",
    "EncoderError": "encoder",
    "EpisodeFilm": "film",
    "VideoConfig": "config",
    "VideoWrapper": "wrapper",
    "video_wrapper_factory": "wrapper",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mimetic_video' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mimetic_video.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too, loaded or not."""
    return sorted({*globals(), *_MODULE_OF})
