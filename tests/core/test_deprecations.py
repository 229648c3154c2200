"""What will go warns, with what to write instead: deprecated hooks name the plugin, deprecated keys the key."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from mimetic import hookspecs
from mimetic.config import ComponentConfig
from mimetic.errors import MimeticDeprecationWarning
from mimetic.plugins import PluginState
from mimetic.plugins.reports import report
from mimetic.testing import discovered, fake_distribution

LOSSES = """
    from mimetic import LossEntry, hookimpl

    @hookimpl
    def mimetic_losses():
        yield LossEntry(name="acme.loss", config="acme_mimetic.config:C", factory="acme_mimetic.loss:b", summary="Pays")

    @hookimpl
    def mimetic_run_failed(run, error):
        pass
"""
INSTEAD = "mimetic_losses goes in 3.0: offer the term by mimetic_terms"


class Old(ComponentConfig):
    """Settings of which one will go."""

    exponent: float = 2.0
    """How steep."""

    gamma: float | None = Field(default=None, deprecated="write `exponent` instead; it goes in 3.0")
    """The name of `exponent` before 2.1."""


@pytest.fixture
def deprecated_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a hook be what it may become in some release."""
    options: dict[str, Any] = hookspecs.mimetic_losses.mimetic_spec  # type: ignore[attr-defined]  # pluggy's mark
    monkeypatch.setitem(options, "warn_on_impl", MimeticDeprecationWarning(INSTEAD))


@pytest.mark.usefixtures("deprecated_hook")
def test_a_plugin_that_uses_a_deprecated_hook_works_and_is_told_what_to_write_instead(tmp_path: Path) -> None:
    with discovered(fake_distribution(tmp_path, plugin=LOSSES)) as registry:
        [record] = registry.plugins

        assert (record.state, record.deprecations) == (PluginState.ACTIVE, (INSTEAD,))
        assert f"plugin 'acme' (acme-mimetic 1.0, entry point acme_mimetic.plugin): {INSTEAD}" in report(registry, {})


def test_a_deprecated_argument_of_a_hook_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = hookspecs.mimetic_run_failed.mimetic_spec  # type: ignore[attr-defined]  # pluggy's mark
    instead = {"error": MimeticDeprecationWarning("`error` goes in 3.0: read `run.error`")}
    monkeypatch.setitem(options, "warn_on_impl_args", instead)

    with discovered(fake_distribution(tmp_path, plugin=LOSSES)) as registry:
        [record] = registry.plugins

    assert record.deprecations == ("`error` goes in 3.0: read `run.error`",)


def test_other_warnings_of_a_plugin_pass(tmp_path: Path) -> None:
    plugin = LOSSES.replace(
        "        yield", "        import warnings\n        warnings.warn('mind', UserWarning)\n        yield"
    )

    with pytest.warns(UserWarning, match="mind"), discovered(fake_distribution(tmp_path, plugin=plugin)) as registry:
        [record] = registry.plugins

    assert record.deprecations == ()


def test_a_deprecated_key_that_is_given_warns_with_what_to_write_instead() -> None:
    with pytest.warns(MimeticDeprecationWarning, match="the key 'gamma' is deprecated: write `exponent` instead"):
        Old.model_validate({"gamma": 3.0})


def test_a_deprecated_key_that_is_left_out_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Old.model_validate({"exponent": 3.0})


def test_people_see_the_warning_without_asking_for_it() -> None:
    """Python hides DeprecationWarning; what run files say concerns who wrote them."""
    assert issubclass(MimeticDeprecationWarning, FutureWarning)
