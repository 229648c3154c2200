"""Whose code raised is read off the traceback, and only what nobody foresaw is put into other words."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broken_distributions import MODEL
from mimetic.errors import ComponentFailedError, DataError
from mimetic.plugins import naming_the_provider
from mimetic.plugins.factories import import_target
from mimetic.plugins.registry import Registry
from mimetic.testing import discovered, fake_distribution

PLUGIN = """
    from mimetic import LossEntry, PolicyEntry, hookimpl

    @hookimpl
    def mimetic_policies():
        yield PolicyEntry(
            name="acme.policy", config="acme_mimetic.config:Config", factory="acme_mimetic.policy:build", summary="Acts"
        )

    @hookimpl
    def mimetic_losses():
        for name in ("acme.one", "acme.two"):
            yield LossEntry(
                name=name, config="acme_mimetic.config:Config", factory="acme_mimetic.losses:build", summary="Pays"
            )
"""
FILES = {
    "acme_mimetic/config.py": MODEL,
    "acme_mimetic/policy.py": "from acme_mimetic import helpers\n\ndef act():\n    return int('x')\n",
    "acme_mimetic/losses.py": "def pay():\n    return {}['x']\n",
    "acme_mimetic/helpers.py": "def call(what):\n    what()\n",
}


@pytest.fixture
def known(tmp_path: Path) -> Iterator[Registry]:
    with discovered(fake_distribution(tmp_path, plugin=PLUGIN, files=FILES)) as registry:
        yield registry


def function(known: Registry, target: str) -> object:
    return import_target(known.find("policy", "acme.policy"), "function", target, ComponentFailedError)


def call(known: Registry, target: str, *arguments: object) -> None:
    with naming_the_provider():
        function(known, target)(*arguments)  # type: ignore[operator]  # a function


def test_a_component_is_named_by_its_module(known: Registry) -> None:
    with pytest.raises(ComponentFailedError, match=r"^policy 'acme\.policy' of acme-mimetic 1\.0 raised ValueError"):
        call(known, "acme_mimetic.policy:act")


def test_a_module_that_several_components_share_leads_to_the_plugin(known: Registry) -> None:
    with pytest.raises(ComponentFailedError, match=r"^plugin 'acme' of acme-mimetic 1\.0 raised KeyError: 'x'"):
        call(known, "acme_mimetic.losses:pay")


def test_another_module_of_the_package_leads_to_the_plugin(known: Registry) -> None:
    with pytest.raises(ComponentFailedError, match=r"^plugin 'acme' of acme-mimetic 1\.0 raised ZeroDivisionError"):
        call(known, "acme_mimetic.helpers:call", lambda: 1 // 0)


def test_what_was_raised_is_the_cause(known: Registry) -> None:
    with pytest.raises(ComponentFailedError) as caught:
        call(known, "acme_mimetic.losses:pay")

    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_that_speaks_to_the_user_passes_as_it_is(known: Registry) -> None:
    def fail() -> None:
        raise DataError("column 'x' is missing")

    with pytest.raises(DataError, match=r"^column 'x' is missing$"):
        call(known, "acme_mimetic.helpers:call", fail)


def test_ctrl_c_passes(known: Registry) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(known, "acme_mimetic.helpers:call", interrupt)


def test_code_of_nobody_that_is_known_is_nobodys(known: Registry) -> None:
    with pytest.raises(ZeroDivisionError), naming_the_provider():
        1 // 0  # noqa: B018 - it is for what it raises
