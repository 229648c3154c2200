"""What every test starts from: one torch thread, no plugin switches from the shell, no display."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


@pytest.fixture(autouse=True)
def _no_plugin_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIMETIC_PLUGINS", "MIMETIC_DISABLE_PLUGINS", "MIMETIC_STRICT_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
