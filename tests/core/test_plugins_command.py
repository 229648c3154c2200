"""``mimetic plugins``: the list, and one component with its keys."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt
from pydantic import BaseModel, Field

from mimetic.cli.plugins import run
from mimetic.hookspecs import CommandEntry, DataSourceEntry, LossEntry, PolicyEntry, WrapperEntry, hookimpl
from mimetic.plugins import using
from mimetic.testing import manager_with


class Optimizer(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """How parameters move."""

    lr: Annotated[float, Gt(0)] = 1e-3
    """How far."""


class Config(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """A policy that has everything."""

    path: Path
    """Where the weights lie."""
    sizes: tuple[Annotated[int, Ge(1)], ...] = (32, 32)
    """Units of each layer."""
    activation: Literal["tanh", "relu"] = "tanh"
    ceiling: int | None = Field(default=None, ge=1, le=9)
    optimizer: Optimizer = Optimizer()
    table: dict[str, bool] = Field(default_factory=dict)


def entry(kind: Any = PolicyEntry, name: str = "mine", **more: Any) -> Any:
    targets = {"config": f"{__name__}:Config", "factory": f"{__name__}:build"}
    return kind(name=name, summary="Acts", **targets, **more)


class Offering:
    @hookimpl
    def mimetic_policies(self) -> Iterator[PolicyEntry]:
        yield entry(name="same")


@pytest.fixture(autouse=True)
def _this_module_can_be_imported_by_name(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    import sys

    monkeypatch.setitem(sys.modules, __name__, request.module)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what a command printed, parsed when it is a document."""

    def run_and_read(*words: str) -> Any:
        assert run(list(words)) == 0
        text = capsys.readouterr().out
        return json.loads(text) if "--json" in words else text

    return run_and_read


# --- the list ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--json"], ["list", "--json"], ["--json", "list"]])
def test_the_list_as_a_document(words: list[str], told: Any) -> None:
    with using(manager_with(entry(), entry(LossEntry), acme=None)):
        document = told(*words)

    assert document == {
        "plugins": [
            {
                "name": "acme",
                "state": "broken",
                "reason": "its entry point names None; name the module, or an instance, that holds the hooks",
                "distribution": "acme",
                "version": "0",
                "entry_point": "tests:acme",
                "components": [],
            },
            {
                "name": "entries",
                "state": "active",
                "reason": "",
                "distribution": "entries",
                "version": "0",
                "entry_point": "tests:entries",
                "components": [
                    {"kind": "policy", "name": "mine", "summary": "Acts"},
                    {"kind": "loss", "name": "mine", "summary": "Acts"},
                ],
            },
        ],
        "conflicts": [],
    }


def test_the_list_for_people(told: Any) -> None:
    with using(manager_with(entry(), acme=None)):
        lines = told().splitlines()

    assert lines == [
        "acme     broken  acme 0     tests:acme",
        "    its entry point names None; name the module, or an instance, that holds the hooks",
        "entries  active  entries 0  tests:entries",
        "    policy  mine  Acts",
    ]


def test_a_name_that_two_plugins_offer_is_listed(told: Any) -> None:
    with using(manager_with(acme=Offering(), beta=Offering())):
        assert told("--json")["conflicts"] == [{"kind": "policy", "name": "same", "plugins": ["acme", "beta"]}]
        assert "policy 'same' is offered by acme 0 (plugin 'acme') and beta 0" in told()


def test_a_machine_without_plugins_says_so(told: Any) -> None:
    with using(manager_with()):
        assert told() == "no plugin is installed\n"


# --- one component ----------------------------------------------------------------------------------------------


def test_a_component_as_a_document(told: Any) -> None:
    with using(manager_with(entry(requires=("pluggy",)))):
        document = told("show", "mine", "--json")

    assert (document["kind"], document["name"], document["summary"]) == ("policy", "mine", "Acts")
    assert (document["plugin"], document["distribution"], document["version"]) == ("entries", "entries", "0")
    assert document["requires"] == ["pluggy"]
    assert document["trainable"] is True
    assert document["doc"] == "A policy that has everything."
    assert [(k["name"], k["type"], k["required"], k["default"], k["doc"]) for k in document["keys"]] == [
        ("path", "path", True, None, "Where the weights lie."),
        ("sizes", "list[int >= 1]", False, [32, 32], "Units of each layer."),
        ("activation", "tanh | relu", False, "tanh", ""),
        ("ceiling", "int | null >= 1 <= 9", False, None, ""),
        ("optimizer", "settings", False, {"lr": 0.001}, ""),
        ("optimizer.lr", "float > 0", False, 0.001, "How far."),
        ("table", "mapping[text, true | false]", False, {}, ""),
    ]


def test_a_component_for_people(told: Any) -> None:
    with using(manager_with(entry(DataSourceEntry, suffixes=(".npz",), requires=("pluggy>=1",)))):
        text = told("show", "mine")

    assert text.startswith("data-source mine: Acts\n")
    assert re.search(r"^plugin +entries \(entries 0\)$", text, re.MULTILINE)
    assert re.search(r"^suffixes +\.npz$", text, re.MULTILINE)
    assert re.search(r"^requires +pluggy>=1$", text, re.MULTILINE)
    assert re.search(r"^optimizer +settings +as follows$", text, re.MULTILINE)
    assert "missing" not in text
    assert re.search(r"^path +path +required$", text, re.MULTILINE)
    assert re.search(r"^optimizer\.lr +float > 0 +default 0\.001\n    How far\.$", text, re.MULTILINE)


def test_what_a_component_lacks_is_shown(told: Any) -> None:
    with using(manager_with(entry(requires=("pluggy", "not-there>=2")))):
        assert told("show", "mine", "--json")["missing"] == ["not-there>=2, which is not installed"]
        assert re.search(r"^missing +not-there>=2, which is not installed$", told("show", "mine"), re.MULTILINE)


def test_a_command_has_no_keys_to_show(told: Any) -> None:
    with using(manager_with(CommandEntry(name="serve", factory="a:b", summary="Serves"))):
        assert told("show", "command:serve").startswith("command serve: Serves\n")
        assert "keys" not in told("show", "serve", "--json")


def test_a_name_of_several_kinds_needs_the_kind(told: Any) -> None:
    from mimetic.errors import ConfigError

    with using(manager_with(entry(), entry(WrapperEntry, level="env"))):
        assert told("show", "wrapper:mine", "--json")["level"] == "env"
        with pytest.raises(ConfigError, match="say one of policy:mine, wrapper:mine"):
            run(["show", "mine"])


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("mind", r"no component is called 'mind'\. Did you mean 'mine'\?.*Plugin 'acme' .* is broken"),
        ("loss:mine", r"no loss term is called 'mine'\."),
        ("lossy:mine", r"no kind of component is called 'lossy'\. Kinds: algorithm, policy, loss, data-source"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(word: str, message: str) -> None:
    from mimetic.errors import ConfigError

    with using(manager_with(entry(), acme=None)), pytest.raises(ConfigError, match=message):
        run(["show", word])


def test_a_component_in_conflict_cannot_be_shown() -> None:
    from mimetic.errors import ComponentConflictError

    with using(manager_with(acme=Offering(), beta=Offering())), pytest.raises(ComponentConflictError, match="beta 0"):
        run(["show", "same"])


def test_every_component_in_the_box_can_be_shown(told: Any) -> None:
    from mimetic.plugins import registry

    known = registry()
    for component in known.components():
        document = told("show", f"{component.kind}:{component.name}", "--json")
        undocumented = [key["name"] for key in document.get("keys", []) if not key["doc"]]
        assert undocumented == [], str(component)
