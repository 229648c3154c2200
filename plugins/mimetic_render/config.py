"""What a run file may say about the window."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from mimetic.config import ComponentConfig, parse_spec
from mimetic.errors import ConfigError


class RenderConfig(ComponentConfig):
    """One window that shows every environment while it runs."""

    fps: float = 60.0
    """Steps a second; zero or less: as fast as they come."""


def _keys(value: object) -> object:
    """Read ``left=0,right=1`` as a mapping; digits may be written as numbers."""
    if isinstance(value, str):
        try:
            _, value = parse_spec(f"keys:{value}")
        except ConfigError as error:
            reasons = [fault.message.partition(" (form:")[0] for fault in error.faults]
            raise ValueError(f"{'; '.join(reasons)} (form: left=0,right=1)") from None
    if isinstance(value, dict):
        return {str(key) if type(key) is int else key: action for key, action in value.items()}
    return value


class HumanConfig(ComponentConfig):
    """Somebody at the keyboard of the window."""

    keys: Annotated[dict[str, Any] | None, BeforeValidator(_keys)] = None
    """Which key does what: ``{left: 0, right: 2, none: 1}``, or ``left=0,right=2,none=1`` in one word. ``left+up`` are
    two keys together; ``none`` is what happens without a key: an action, ``repeat`` (the last one) or ``wait``
    (nothing moves). null: as the environment itself says, or as is usual for it."""

    fps: Annotated[float, Field(gt=0)] | None = None
    """Steps a second; null: as the environment is meant to be shown, but 30 at most."""
