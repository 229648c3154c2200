"""What every test starts from: one torch thread, no plugin switches from the shell, no display."""

import os
import sys
from collections.abc import Iterator

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


@pytest.fixture(autouse=True)
def _no_plugin_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIMETIC_PLUGINS", "MIMETIC_DISABLE_PLUGINS", "MIMETIC_STRICT_PLUGINS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _what_a_test_installed_is_forgotten(request: pytest.FixtureRequest) -> Iterator[None]:
    """Packages that a test wrote into its own folder must not answer to their name in the next test."""
    yield
    folder = request.node.funcargs.get("tmp_path")
    if folder is not None:
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
                del sys.modules[name]
