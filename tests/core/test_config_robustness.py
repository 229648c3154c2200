"""Whatever is written, a run file is read or refused with a sentence; nothing else is ever raised."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from mimetic.config import load_run_file, parse_spec, parse_value, run_config
from mimetic.config.parse import parse_document
from mimetic.errors import ConfigError
from mimetic.plugins import using
from small_plugins import small_registry

SECTIONS = ["name", "seed", "plugins", "env", "demonstrations", "policy", "algorithm", "losses", "evaluation"]
KEYS = ["name", "weight", "id", "path", "mode", "net_arch", "schedule", "wrappers", "kwargs", "videos", "x", "0"]
MARKS = ["- ", ": ", "\n  ", "&x", "*x", "<<: ", "---\n", "...\n", "!t ", "%YAML 1.1\n", "\ud800", "\ufeff", "\x00"]
PIECES = [*"{}[]:,-?&*!|>'\"%@`#\n \t<~.=\\a1é", "1e5", "null", *MARKS]
text = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)
names = st.sampled_from(["mlp", "nll", "one"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | names
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=5,
)
overrides = st.tuples(st.lists(st.sampled_from([*SECTIONS, *KEYS, "nll", "csv"]), max_size=4).map(".".join), text)


@pytest.fixture(autouse=True, scope="module")
def _small_plugins() -> Iterator[None]:
    with using(small_registry()):
        yield


@settings(max_examples=300, deadline=None)
@given(text=text)
def test_no_text_breaks_the_readers(text: str) -> None:
    for read in (parse_value, parse_spec, lambda text: parse_document(text, "a"), _toml):
        with suppress(ConfigError):
            read(text)


def _toml(text: str) -> object:
    return parse_document(text, "a", toml=True)


@settings(max_examples=200, deadline=None)
@given(mapping=st.dictionaries(st.sampled_from(SECTIONS), values, max_size=4))
def test_no_values_break_the_validation(mapping: dict[str, Any]) -> None:
    with suppress(ConfigError):
        run_config({"demonstrations": "demo", "algorithm": {"name": "bc", "n_epochs": 1}} | mapping)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(overrides.map("=".join), max_size=3))
def test_no_override_breaks_the_command_line(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("demonstrations: demo\nalgorithm: {name: bc, n_epochs: 1}\npolicy: mlp\nlosses: [nll]\n")

    with suppress(ConfigError):
        load_run_file(path, words)
