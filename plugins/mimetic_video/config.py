"""What a run file may say about films."""

from typing import Literal

from mimetic.config import ComponentConfig

Preset = Literal["ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"]
VideoFormat = Literal["mp4", "gif"]


class VideoConfig(ComponentConfig):
    """How the counted episodes of an evaluation are filmed."""

    mode: Literal["one", "episodes"] = "one"
    """``one``: a file per environment, its episodes one after the other; ``episodes``: a file per episode."""

    format: VideoFormat = "mp4"
    """``mp4`` (H.264), or ``gif`` (every frame with a palette of its own, at most 50 frames a second)."""

    preset: Preset = "veryfast"
    """How hard the mp4 encoder works: faster presets make larger files. A gif has no presets."""

    caption: bool = False
    """Write step, action and return so far onto the frames."""
