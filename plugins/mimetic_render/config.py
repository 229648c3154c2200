"""What a run file may say about the window."""

from mimetic.config import ComponentConfig


class RenderConfig(ComponentConfig):
    """One window that shows every environment while it runs."""

    fps: float = 60.0
    """Steps a second; zero or less: as fast as they come."""
