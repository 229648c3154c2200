"""The facts of the component that mimetic_render offers."""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from mimetic.testing import VenvWrapperContract


class TestRender(VenvWrapperContract):
    name = "render"
    options: ClassVar[Mapping[str, object]] = {"fps": 0}

    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("pygame")
