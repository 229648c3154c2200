"""Real files by other people lie beside a checkout, never in it; tests that need one skip when it is absent."""

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data(name: str) -> Path:
    """Return the path of a shared file, or skip the test."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"shared data {name} is not on this machine")
    return path
