"""A component in one word on the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mimetic.config import Choice, LossChoice, parse_choice, parse_spec
from mimetic.errors import ConfigError, UnknownComponentError
from mimetic.hookspecs import Kind
from mimetic.plugins import using
from small_plugins import FileSource, Huber, Mlp, Switching, small_registry


@pytest.fixture(autouse=True)
def _small_plugins() -> Iterator[None]:
    with using(small_registry()):
        yield


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("mlp", "mlp", {}),
        ("mlp:", "mlp", {}),
        ("sb3:path=agent.zip,vecnormalize=stats.pkl", "sb3", {"path": "agent.zip", "vecnormalize": "stats.pkl"}),
        ("function:path=module:callable", "function", {"path": "module:callable"}),
        ("mlp:net_arch=[64, 64],activation=relu", "mlp", {"net_arch": [64, 64], "activation": "relu"}),
        ("x:a={b: 1, c: [2, 3]},d='e,f',g=\"h,i\"", "x", {"a": {"b": 1, "c": [2, 3]}, "d": "e,f", "g": "h,i"}),
        ("x:a=it's,b=1e-3", "x", {"a": "it's", "b": 1e-3}),
        ("x:a=b=c", "x", {"a": "b=c"}),
        ("x:a=true,b=null,c=", "x", {"a": True, "b": None, "c": None}),
        ("acme.mlp:a=1", "acme.mlp", {"a": 1}),
    ],
)
def test_a_spec_is_a_name_and_options(text: str, name: str, options: dict[str, object]) -> None:
    """Values are YAML, else bare text; commas inside brackets or quotes do not split."""
    assert parse_spec(text) == (name, options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "command line: expected name or name:key=value,..., seen ''"),
        (":a=1", "expected name or name:key=value"),
        ("mlp:relu", "command line: expected key=value after 'mlp', seen 'relu'"),
        ("mlp:=1", "expected key=value after 'mlp', seen '=1'"),
        ("mlp:a=1,a=2", "command line: 'a' is given twice in 'mlp:a=1,a=2'"),
        ("mlp:a=[1", "command line: a: not valid YAML"),
    ],
)
def test_a_malformed_spec_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_spec(text)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind", "choice"),
    [
        ("mlp:net_arch=[8]", "policy", Choice("policy", "mlp", Mlp(net_arch=(8,)))),
        ("huber:delta=2,weight=0.5", "loss", LossChoice("loss", "huber", Huber(delta=2), 0.5, "huber")),
        (
            "switching:random_prob=0.1,switch_prob=1.0",
            "wrapper",
            Choice("wrapper", "switching", Switching(random_prob=0.1, switch_prob=1)),
        ),
    ],
)
def test_a_spec_becomes_a_validated_component(text: str, kind: Kind, choice: Choice) -> None:
    assert parse_choice(text, kind) == choice


def test_a_path_stands_for_the_component_that_its_ending_belongs_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert parse_choice("runs/a.npz", "data-source") == Choice(
        "data-source", "npz", FileSource(path=tmp_path / "runs/a.npz")
    )


def test_a_path_in_a_spec_is_relative_to_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert parse_choice("file:path=a.zip", "policy").config == FileSource(path=tmp_path / "a.zip")


def test_every_fault_of_a_spec_comes_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_choice("mlp:net_arhc=[8],activation=tahn", "policy")

    assert str(caught.value).splitlines() == [
        "command line: activation: expected one of 'tanh', 'relu', seen 'tahn', did you mean 'tanh'?",
        "command line: net_arhc: unknown key for policy 'mlp', did you mean 'net_arch'? "
        "(keys: activation, net_arch, normalize_obs)",
    ]


def test_an_unknown_component_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownComponentError, match=r"no policy is called 'mpl'\. Did you mean 'mlp'\?"):
        parse_choice("mpl:a=1", "policy")


def test_a_wrapper_of_another_level_is_refused() -> None:
    with pytest.raises(ConfigError, match="the wrapper 'clip' goes around one environment, here one of level 'policy'"):
        parse_choice("clip", "wrapper", levels=("policy",))
