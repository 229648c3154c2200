"""The JSON schema that editors use accepts what loads and refuses what does not."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from mimetic.config import json_schema, run_config, starter_run_file
from mimetic.config.parse import parse_document
from mimetic.hookspecs import LossEntry
from mimetic.plugins import using
from small_plugins import small_registry

RUN: dict[str, Any] = {
    "name": "cartpole",
    "plugins": ["pydantic>=2"],
    "env": {"id": "CartPole-v1", "kwargs": {"any": [1]}, "wrappers": ["clip", {"name": "clip", "low": -2}]},
    "demonstrations": [{"name": "npz", "path": "rollouts.npz"}],
    "policy": {"name": "wrapped", "inner": {"name": "mlp", "net_arch": [32, 32]}},
    "algorithm": {"name": "bc", "n_epochs": 20, "optimizer": {"name": "adam", "lr": 1e-3}},
    "losses": ["nll", {"name": "huber", "weight": {"schedule": "linear", "start": 1}, "id": "h", "delta": 2}],
    "evaluation": {
        "videos": {"mode": "one", "format": "gif"},
        "explore": {"name": "switching", "random_prob": 0.1, "switch_prob": 1.0},
        "reward": "zero",
    },
    "loggers": ["stdout", {"name": "csv", "flush": False}],
}


@pytest.fixture(autouse=True, scope="module")
def _small_plugins() -> Iterator[None]:
    with using(small_registry()):
        yield


@pytest.fixture(scope="module")
def validator(_small_plugins: None) -> Draft202012Validator:
    return Draft202012Validator(json_schema())


def changed(key: str, value: object) -> dict[str, Any]:
    """Return the run with one key changed; dots lead into sections."""
    run = {**RUN}
    first, _, rest = key.partition(".")
    run[first] = {**run[first], rest: value} if rest else value
    return run


def test_the_schema_is_a_schema(validator: Draft202012Validator) -> None:
    Draft202012Validator.check_schema(validator.schema)


def test_slots_are_no_one_of(validator: Draft202012Validator) -> None:
    """An editor answers a failed oneOf by blaming the whole section."""
    assert "oneOf" not in str(validator.schema)


def test_every_reference_leads_somewhere(validator: Draft202012Validator) -> None:
    def references(schema: object) -> Iterator[str]:
        if isinstance(schema, dict):
            if isinstance(schema.get("$ref"), str):
                yield schema["$ref"]
            for value in schema.values():
                yield from references(value)
        elif isinstance(schema, list):
            for value in schema:
                yield from references(value)

    known = {f"#/$defs/{name}" for name in validator.schema["$defs"]}
    assert set(references(validator.schema)) <= known


@pytest.mark.parametrize(
    "run",
    [
        RUN,
        {"demonstrations": "demo", "algorithm": "bc"},
        changed("demonstrations", {"name": "npz", "path": "a"}),
        changed("policy", "mlp"),
        changed("evaluation", None),
        changed("evaluation.videos", "none"),
        changed("evaluation.videos", "episodes"),
        changed("evaluation.videos", None),
        changed("losses", [{"name": "acme.huber", "weight": 0.5}]),
    ],
)
def test_the_schema_accepts_what_loads(validator: Draft202012Validator, run: dict[str, Any]) -> None:
    assert [error.message for error in validator.iter_errors(run)] == []


def test_the_schema_accepts_the_starter(validator: Draft202012Validator) -> None:
    validator.validate(parse_document(starter_run_file(), "starter").value)


@pytest.mark.parametrize(
    ("run", "path"),
    [
        (changed("treads", 2), []),
        (changed("seed", "1"), ["seed"]),
        (changed("policy", "mpl"), ["policy"]),
        (changed("policy", "random"), ["policy"]),
        (changed("policy", "file"), ["policy"]),
        (changed("policy", {"name": "mpl"}), ["policy", "name"]),
        (changed("policy", {"net_arch": []}), ["policy"]),
        (changed("policy", {"name": "mlp", "net_arhc": [1]}), ["policy"]),
        (changed("policy", {"name": "wrapped", "inner": {"name": "mlp", "net_arhc": [1]}}), ["policy", "inner"]),
        (changed("policy", {"name": "mlp", "net_arch": ["a"]}), ["policy", "net_arch", 0]),
        (changed("algorithm", {"name": "bc", "optimizer": {"ls": 1}}), ["algorithm", "optimizer"]),
        (changed("losses", []), ["losses"]),
        (changed("losses", [{"name": "nll", "wieght": 1}]), ["losses", 0]),
        (changed("losses", [{"name": "nll", "weight": "x"}]), ["losses", 0, "weight"]),
        (changed("demonstrations", [{"name": "npz"}]), ["demonstrations", 0]),
        (changed("evaluation.n_episode", 1), ["evaluation"]),
        (changed("evaluation.videos", "two"), ["evaluation", "videos"]),
        (changed("evaluation.videos", {"fps": 3}), ["evaluation", "videos"]),
        (changed("evaluation.explore", "clip"), ["evaluation", "explore"]),
        (changed("env.wrappers", ["switching"]), ["env", "wrappers", 0]),
    ],
)
def test_the_schema_refuses_what_does_not_load_in_its_place(
    validator: Draft202012Validator, run: dict[str, Any], path: list[str | int]
) -> None:
    with pytest.raises(ValueError, match=r"."):
        run_config(run)

    errors = list(validator.iter_errors(run))

    assert errors
    assert max((_deepest(error) for error in errors), key=len) == path


def _deepest(error: Any) -> list[str | int]:
    inner = [_deepest(below) for below in error.context or ()]
    return max([list(error.absolute_path), *inner], key=len)


def test_keys_carry_their_documentation_and_default(validator: Draft202012Validator) -> None:
    mlp = validator.schema["$defs"]["policy.mlp"]["properties"]

    assert mlp["net_arch"] == {
        "default": [32, 32],
        "description": "Widths of the hidden layers.",
        "items": {"type": "integer"},
        "type": "array",
    }


def test_a_component_whose_settings_cannot_be_imported_is_known_by_name() -> None:
    entry = LossEntry(name="lost", config="no_such_module:Config", factory="nowhere:build", summary="Lost")

    with using(small_registry(acme=entry)):
        validator = Draft202012Validator(json_schema())

    assert validator.is_valid(changed("losses", [{"name": "lost", "any": 1}]))
