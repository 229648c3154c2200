"""The facts of every component that mimetic_loggers offers."""

import pytest

from mimetic.testing import LoggerContract


class TestStdout(LoggerContract):
    name = "stdout"


class TestLog(LoggerContract):
    name = "log"


class TestCsv(LoggerContract):
    name = "csv"


class TestJsonl(LoggerContract):
    name = "jsonl"


class TestTensorboard(LoggerContract):
    name = "tensorboard"

    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("tensorboard")
