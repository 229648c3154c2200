"""When is the next frame due? Held against a monotonic clock, so that small delays do not add up."""

import time

SLOWEST, FASTEST = 0.25, 960.0
FPS_AFTER_UNTHROTTLED = 60.0
MAKE_UP_S = 0.25
"""A shorter delay is made up by the frames after it; a longer one is accepted, nothing rushes after it."""


class Pace:
    """Says how long to wait. ``fps <= 0``: never."""

    def __init__(self, fps: float) -> None:
        """Start with ``fps`` frames a second."""
        self.fps = fps
        self._due: float | None = None  # seconds of the monotonic clock; None: the next frame starts the count

    def next_frame(self) -> None:
        """Say that a frame was shown now, and that the next is due one period after this one was."""
        now = time.monotonic()
        if self.fps <= 0 or self._due is None or now > self._due + MAKE_UP_S:
            self._due = now
        if self.fps > 0:
            self._due += 1 / self.fps

    def seconds_left(self) -> float:
        """Return how long it is until the next frame is due, zero when it is."""
        if self.fps <= 0 or self._due is None:
            return 0.0
        return max(0.0, self._due - time.monotonic())

    def restart(self) -> None:
        """Count from the next frame on, after a pause or a change of the rate."""
        self._due = None

    def faster(self) -> None:
        """Double the rate; beyond 960 a second there is none."""
        if self.fps > 0:
            self.fps = 0.0 if self.fps >= FASTEST else min(FASTEST, self.fps * 2)
        self.restart()

    def slower(self) -> None:
        """Halve the rate, down to a frame in four seconds."""
        self.fps = max(SLOWEST, self.fps / 2) if self.fps > 0 else FPS_AFTER_UNTHROTTLED
        self.restart()
