"""How does a plugin's process tell what it finds? Line by line, and each step before it is taken."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TextIO

from mimetic.plugins import Component
from mimetic.testing.examination.findings import ComponentReport, Finding, Level


class Teller:
    """Tells what is found, line by line."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def doing(self, step: str) -> None:
        """Say what comes next."""
        self._tell({"doing": step})

    def plugin(self, **facts: object) -> None:
        """Say something about the plugin as a whole."""
        self._tell({"plugin": facts})

    def component(self, report: ComponentReport) -> None:
        """Say what became of a component."""
        self._tell({"component": asdict(report)})

    def find(self, level: Level, about: object, message: str) -> None:
        """Say what somebody should know."""
        self._tell({"finding": asdict(Finding(level, title(about), " ".join(message.split())))})

    def done(self) -> None:
        """Say that this was all."""
        self._tell({"done": True})

    def _tell(self, line: Mapping[str, object]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


def title(about: object) -> str:
    """Name a component, or whatever else something is about, in a sentence."""
    return f"{about.kind} {about.name!r}" if isinstance(about, Component) else str(about)
