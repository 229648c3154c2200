"""YAML as run files have it: plain values, positions, and a sentence for everything that is refused."""

import math
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from mimetic.config.document import Place
from mimetic.config.emit import emit
from mimetic.config.parse import parse_document, read_document
from mimetic.config.yaml import read_yaml
from mimetic.errors import ConfigError


def value_of(text: str) -> object:
    value, _ = read_yaml(text, "a.yaml")
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1E5", 1e5),
        ("-.5", -0.5),
        ("010", 10),
        ("0x1f", 31),
        ("0o17", 15),
        ("+3", 3),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("true", True),
        ("no", "no"),
        ("on", "on"),
        ("None", "None"),
        ("null", None),
        ("~", None),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("'1e-4'", "1e-4"),
        ('"true"', "true"),
        ("1.2.3", "1.2.3"),
        ("[1, 2.5, a]", [1, 2.5, "a"]),
        ("{a: {b: 1e-3}}", {"a": {"b": 1e-3}}),
    ],
)
def test_a_scalar_means_what_yaml_1_2_says(text: str, value: object) -> None:
    """1e-4 is a number wherever it stands, free mappings included (case C-1); "no" is text and 010 is ten."""
    read = value_of(f"key: {text}")

    assert read == {"key": value}
    assert type(read["key"]) is type(value)


def test_not_a_number_is_read() -> None:
    value = value_of("key: .nan")

    assert isinstance(value, dict)
    assert math.isnan(value["key"])


def test_every_key_and_item_has_its_place() -> None:
    _, places = read_yaml("a: 1\nb:\n  c: [x, y]\n  d:\n    - e: 2\n", "a.yaml")

    assert places == {
        ("a",): Place("a.yaml", 1, 1),
        ("b",): Place("a.yaml", 2, 1),
        ("b", "c"): Place("a.yaml", 3, 3),
        ("b", "c", 0): Place("a.yaml", 3, 7),
        ("b", "c", 1): Place("a.yaml", 3, 10),
        ("b", "d"): Place("a.yaml", 4, 3),
        ("b", "d", 0): Place("a.yaml", 5, 7),
        ("b", "d", 0, "e"): Place("a.yaml", 5, 7),
    }


def test_anchors_and_merge_keys_are_supported() -> None:
    text = "base: &base {a: 1, b: 2}\nother: {b: 3, <<: *base}\nlist: [*base, *base]\nboth: {<<: [*base, {c: 4}]}\n"

    assert value_of(text) == {
        "base": {"a": 1, "b": 2},
        "other": {"b": 3, "a": 1},
        "list": [{"a": 1, "b": 2}, {"a": 1, "b": 2}],
        "both": {"a": 1, "b": 2, "c": 4},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "a.yaml:3:1: a: written twice, first in line 1"),
        ("x:\n  {a: 1, a: 2}\n", "a.yaml:2:10: x.a: written twice, first in line 2"),
        ("a: !!python/name:os.system\n", "a.yaml:1:4: a: tags such as tag:yaml.org,2002:python/name:os.system"),
        ("a: !mine {b: 1}\n", "a.yaml:1:4: a: tags such as !mine are not read"),
        ("a: !!str 3\n", "a.yaml:1:4: a: tags such as"),
        ("a: 2024-01-31\n", "a.yaml:1:4: a: dates are not read: put quotes around '2024-01-31'"),
        ("a:\n\t- b\n", "a.yaml:2:1: not valid YAML: a tab cannot indent, use spaces"),
        ("a: b: c\n", "a.yaml:1:5: not valid YAML: a second ': ' in one line"),
        ("a: [1,\nb: 2\n", "a.yaml:3:1: not valid YAML: while parsing a flow sequence"),
        ("a: 'x\n", "not valid YAML"),
        ("1: a\n", "a.yaml:1:1: the key 1 is no text: put quotes around it"),
        ("a: {true: b}\n", "a.yaml:1:5: a: the key true is no text"),
        ("null: b\n", "the key null is no text"),
        ("? [a, b]\n: c\n", "a key is plain text"),
        ("a: 1\n---\nb: 2\n", "a.yaml:2:1: a second document: a run file holds one"),
        ("a: *b\n", "a.yaml:1:4: no anchor is called &b"),
        ("a: &b [*b]\n", "a.yaml:1:8: &b contains itself"),
        ("a: {<<: 3}\n", "'<<' takes the keys of a mapping"),
        ('a: "\\ud800"\n', "a.yaml:1:4: a: half of a surrogate pair is no text"),
        ("a: \x07\n", "a.yaml:1:4: the character U\\+0007 cannot stand in a text file"),
        (f"a: {'9' * 5000}\n", "a.yaml:1:4: a: a number of 5000 characters is too long"),
        (f"a: 0x{'f' * 5000}\n", "a number of 5002 characters is too long"),
        ("a: 1e999\n", "a.yaml:1:4: a: 1e999 is too large for a number of 64 bits"),
        (f"a: {'[' * 200}{']' * 200}\n", "nested more than 100 levels deep"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_place(text: str, message: str) -> None:
    """Tags, dates, duplicates and the like are refused, never guessed."""
    with pytest.raises(ConfigError, match=message.replace("[", r"\[").replace("(", r"\(")):
        value_of(text)


def test_all_such_faults_come_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        value_of("a: 2024-01-31\nb: !x 1\na: 2\n")

    assert [fault.line for fault in caught.value.faults] == [3, 1, 2]


def test_aliases_cannot_blow_up() -> None:
    """Ten levels of ten aliases stand for ten thousand million values."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    with pytest.raises(ConfigError, match="more than 100000 values, aliases included"):
        value_of("\n".join(levels))


plain_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["yes", "2024-01-31", "1e3", "<<", "a: b", "#", "- d", "", " ", "~", "a\nb", "\u2028", "é😀"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=20), plain_data, max_size=4))
def test_what_is_written_reads_back_as_the_same_data(data: dict[str, object]) -> None:
    text = emit(data)

    value = value_of(text)

    assert value == (data or None)
    assert repr(value) == repr(data or None)  # -0.0 and 0.0, 1 and true, 1 and 1.0 are told apart


# --- files ------------------------------------------------------------------------------------------------------


def read(path: Path) -> object:
    return read_document(path, path.name).value


def test_a_file_with_a_byte_order_mark_and_windows_line_ends_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfseed: 1\r\nname: x\r\n")

    assert read(path) == {"seed": 1, "name": "x"}


def test_toml_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('seed = 1\n[algorithm]\nname = "bc"\nlr = 1e-4\n')

    assert read(path) == {"seed": 1, "algorithm": {"name": "bc", "lr": 1e-4}}


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.yaml", b"", "a.yaml: nothing is in it: a run needs `demonstrations` and an `algorithm`"),
        ("a.yaml", b"# only a comment\n", "a.yaml: nothing is in it"),
        ("a.toml", b"", "a.toml: nothing is in it"),
        ("a.yaml", b"- a\n- b\n", "a.yaml: expected keys and values .*, seen a list"),
        ("a.yaml", b"cartpole\n", "a.yaml: expected keys and values .*, seen 'cartpole'"),
        ("a.yaml", b"a: 1\nb: caf\xe9\n", "a.yaml:2:7: the byte 0xe9 is no UTF-8: save the file as UTF-8"),
        ("a.toml", b"a = [1\nb = 2\n", "a.toml:2:1: not valid TOML"),
        ("a.toml", b"a = 2024-01-31\n", "a.toml: a: dates are not read"),
        ("a.toml", b"a = 1\na = 2\n", "a.toml:2:6: not valid TOML: Cannot overwrite a value"),
    ],
)
def test_what_is_no_run_file_is_refused(tmp_path: Path, name: str, raw: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(raw)

    with pytest.raises(ConfigError, match=message):
        read(path)


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "cartpole.yaml").touch()

    with pytest.raises(ConfigError, match=r"cartpol.yaml: no such file, did you mean 'cartpole.yaml'\?"):
        read(tmp_path / "cartpol.yaml")


def test_a_folder_is_no_run_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()

    with pytest.raises(ConfigError, match=r"this is a folder, .* did you mean runs/x/config.yaml\?"):
        read_document(tmp_path, "runs/x/")


def test_positions_follow_the_text_of_an_editor() -> None:
    document = parse_document("a: 1\n\n# comment\nb:\n  - c\n", "a.yaml")

    assert document.places["b", 0] == Place("a.yaml", 5, 5)
