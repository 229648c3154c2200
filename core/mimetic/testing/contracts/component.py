"""What must hold for every component, whatever its kind?"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from unittest import SkipTest

from mimetic.errors import ConfigError, MimeticError
from mimetic.hookspecs import Kind
from mimetic.plugins import Component, registry
from mimetic.testing.contracts.facts import refusals_told, require

if TYPE_CHECKING:
    from mimetic.config import ComponentConfig

NOTHING: Mapping[str, object] = MappingProxyType({})


class Contract:
    """The first fact of every component. Inherit from the suite of its kind, and name it.

    ::

        class TestFocal(LossContract):
            name = "acme.focal"
            options = {"gamma": 0.5}

    Each ``test_...`` is a fact that pytest collects; a fact that is not about the component skips itself.
    """

    kind: ClassVar[Kind]
    name: ClassVar[str] = ""
    """What run files call the component."""

    def test_its_entry_point_finds_it(self) -> None:
        """Nothing else here can be true of a component that nobody finds."""
        self.component()

    def component(self) -> Component:
        """Return the component, found as run files find it."""
        require(bool(self.name), f"{type(self).__name__}.name is not set; expected the component's name in run files")
        try:
            return registry().find(self.kind, self.name)
        except MimeticError as error:
            hint = "the distribution that you work on must be installed: pip install -e ."
            raise AssertionError(f"{error} ({hint})") from error

    def attempt(self, tmp_path: Path) -> None:
        """Build the component once and close it again, in the first of the worlds that it is tried in.

        Raises:
            AssertionError: it refuses, or fails; the cause is what it raised.
        """


class ComponentContract(Contract):
    """The facts of every component that has settings; inherit from the suite of its kind instead."""

    options: ClassVar[Mapping[str, object]] = NOTHING
    """The settings that it is tried with."""

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        """Return the settings that it is tried with; override it when they name files, and write those here."""
        return self.options

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_its_settings_refuse_unknown_keys(self, tmp_path: Path) -> None:
        """A misspelt key that is ignored costs somebody a day."""
        component = self.component()
        self.config(tmp_path)
        settings = {**self._settled(tmp_path), "no_such_key": 1}
        try:
            registry().make_config(self.kind, component.name, settings, base_dir=tmp_path)
        except ConfigError as error:
            require("no_such_key" in str(error), f"{component} refuses 'no_such_key' without naming it: {error}")
        else:
            raise AssertionError(
                f"{component}: its settings let 'no_such_key' through; derive them from ComponentConfig"
            )

    def test_its_settings_can_be_written_down_and_read_again(self, tmp_path: Path) -> None:
        """A run is repeated from its config.yaml, and a policy rebuilt from its file."""
        config = self.config(tmp_path)
        written = json.loads(json.dumps(config.model_dump(mode="json", by_alias=True)))
        with refusals_told(f"{self.component()}: its settings, written down as {written}, are not taken again"):
            again = registry().make_config(self.kind, self.name, written, base_dir=tmp_path)
        require(again == config, f"{self.component()}: written down and read again, {config!r} becomes {again!r}")

    def test_every_setting_says_what_it_means(self) -> None:
        """The text under a field is all that ``mimetic plugins show`` and editors can tell about it."""
        from mimetic.plugins.keys import keys_of

        silent = [key.name for key in keys_of(self.model()) if not key.doc]
        require(
            not silent, f"{self.component()}: no text stands under the settings {', '.join(silent)}; say what they mean"
        )

    # --- what suites build on ---------------------------------------------------------------------------------------

    def model(self) -> "type[ComponentConfig]":
        """Return the model of its settings."""
        with refusals_told("its settings cannot be used"):
            return registry().config_model(self.component())

    def config(self, tmp_path: Path) -> "ComponentConfig":
        """Return the settings that it is tried with, validated."""
        with refusals_told(f"{self.component()}: the settings of this test are refused"):
            return registry().make_config(self.kind, self.name, self._settled(tmp_path), base_dir=tmp_path)

    def _settled(self, tmp_path: Path) -> Mapping[str, object]:
        """Ask for the settings once a test, so that the files that they name are written once."""
        settled: dict[Path, Mapping[str, object]] = self.__dict__.setdefault("_settings", {})
        if tmp_path not in settled:
            settled[tmp_path] = self.settings(tmp_path)
        return settled[tmp_path]

    def build(self, context: object, tmp_path: Path) -> Any:
        """Build the component, as a run does."""
        with refusals_told(f"{self.component()} cannot be built"):
            return registry().build(self.kind, self.name, self.config(tmp_path), context)


def fresh_folder(tmp_path: Path) -> Path:
    """Return a new empty folder below a test's own."""
    return Path(tempfile.mkdtemp(dir=tmp_path))


def skip(reason: str) -> SkipTest:
    """Return what skips a test, in pytest and in unittest, when a fact is not about this component."""
    return SkipTest(reason)
