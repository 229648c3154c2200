"""Whatever lies in a file that somebody sent, nothing of it runs; the error names the file and what was expected."""

import base64
import builtins
import contextlib
import io
import os
import pickle
import resource
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from mimetic.errors import DataError
from mimetic_policies.sb3.inert_pickle import MAX_OPCODES, Call, Name, read_pickle
from mimetic_policies.sb3.statistics import read_statistics
from sb3_zips import (
    ACTS,
    CHOICES,
    OBS,
    Anywhere,
    members,
    model,
    opened,
    saved,
    some_obs,
    with_data,
    with_weights,
    written,
)

CANARY = "canary"
COMMAND = f"touch {CANARY}"
CODE = f"open({CANARY!r}, 'w').close()"


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, state: Any = None) -> None:
        self.call = (function, arguments, state)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call if self.call[2] is not None else self.call[:2]


def _text(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


PAYLOADS: Mapping[str, bytes] = {
    **{f"os.system, protocol {each}": pickle.dumps(Calls(os.system, COMMAND), each) for each in (0, 2, 4, 5)},
    **{f"eval, protocol {each}": pickle.dumps(Calls(builtins.eval, CODE), each) for each in (0, 2, 4, 5)},
    "INST": f"(S'{COMMAND}'\nios\nsystem\n.".encode(),
    "OBJ": f"(cos\nsystem\nS'{COMMAND}'\no.".encode(),
    "a dotted name": b"\x80\x04" + _text("posixpath") + _text("os.system") + b"\x93" + _text(COMMAND) + b"\x85R.",
    "NEWOBJ": b"\x80\x02cos\nsystem\nX" + struct.pack("<I", len(COMMAND)) + COMMAND.encode() + b"\x85\x81.",
    "NEWOBJ_EX": b"\x80\x04cos\nsystem\n" + _text(COMMAND) + b"\x85}\x92.",
    "BUILD": pickle.dumps(Calls(bytearray, state={"x": Calls(os.system, COMMAND)}), 4),
    "BUILD of slots": b"\x80\x02ccollections\nUserString\n)\x81N}X\x01\x00\x00\x00acos\nsystem\n(S'"
    + COMMAND.encode()
    + b"'\ntRs\x86b.",
    "a call as a key": b"\x80\x02}cos\nsystem\n(S'" + COMMAND.encode() + b"'\ntRK\x01s.",
}
BROKEN: Mapping[str, bytes] = {
    "EXT1": b"\x80\x02\x82\x01.",
    "EXT2": b"\x80\x02\x83\x01\x01.",
    "EXT4": b"\x80\x02\x84\x01\x01\x01\x01.",
    "a persistent id": b"Pother\n.",
    "a persistent id from the stack": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "a buffer from outside": b"\x80\x05\x97.",
    "a memo index of 2^31": b"\x80\x02}r\xff\xff\xff\x7f.",
    "a memo index in text": b"}p99999999999\n.",
    "a memo that was never put": b"\x80\x02h\x05.",
    "a text of 2^31 bytes": b"\x80\x02X\xff\xff\xff\x7fabc.",
    "bytes of 2^62 bytes": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"abc.",
    "a bytearray of 2^62 bytes": b"\x80\x05\x96" + struct.pack("<Q", 2**62) + b"abc.",
    "a frame of 2^62 bytes": b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"N",
    "a long of 2^31 bytes": b"\x80\x02\x8b\xff\xff\xff\x7f.",
    "a number of a million digits": b"L" + b"9" * 1_000_000 + b"L\n.",
    "an unknown instruction": b"\x80\x02\xff.",
    "an empty stack": b".",
    "too few for a tuple": b"\x80\x02K\x01\x87.",
    "a mark that is missing": b"\x80\x02u.",
    "a name that is no text": b"\x80\x04K\x01K\x02\x93.",
    "cut off": pickle.dumps({"obs_rms": np.zeros(100)})[:-20],
    "nothing": b"",
    "no pickle": b"PK\x03\x04 this is something else",
}


@pytest.fixture(autouse=True)
def _nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert not Path(CANARY).exists(), "something in the file ran"


def statistics_with(**more: Any) -> bytes:
    """Pickle statistics that are in order, with something more in them."""
    wrapper = VecNormalize(DummyVecEnv([lambda: Anywhere(OBS, ACTS)]))
    vars(wrapper).update(more)
    return pickle.dumps(wrapper)


# --- statistics -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_pickle_that_calls_something_is_not_run(payload: str) -> None:
    Path("stats.pkl").write_bytes(PAYLOADS[payload])

    with pytest.raises(
        DataError, match=r"stats\.pkl: holds a .*expected what .*VecNormalize\.save. wrote \(nothing in"
    ):
        opened(f"sb3:path={saved(Path('agent.zip'))},vecnormalize=stats.pkl")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_payloads_would_run_if_they_were_unpickled(payload: str) -> None:
    """Else the test above would prove nothing."""
    with contextlib.suppress(Exception):  # most fail, once they ran
        pickle.loads(PAYLOADS[payload])

    assert Path(CANARY).exists() == (payload not in ("NEWOBJ", "NEWOBJ_EX"))  # which want a class, and find a function
    Path(CANARY).unlink(missing_ok=True)


@pytest.mark.parametrize("payload", BROKEN)
def test_a_pickle_that_is_none_or_a_bomb_is_refused_by_name(payload: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Path("stats.pkl").write_bytes(BROKEN[payload])

    with pytest.raises(DataError, match=r"stats\.pkl: .*expected what .*VecNormalize\.save. wrote"):
        read_statistics(Path("stats.pkl"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 100_000  # KiB


def test_what_statistics_would_call_is_not_called_though_their_numbers_are_read() -> None:
    Path("stats.pkl").write_bytes(statistics_with(training=Calls(os.system, COMMAND), x=Calls(eval, CODE)))

    statistics = read_statistics(Path("stats.pkl"))

    assert np.array_equal(statistics.moments[""].var, np.ones(3))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("clip_obs", Calls(os.system, COMMAND)),
        ("obs_rms", Calls(os.system, COMMAND)),
        ("obs_rms", {"": Calls(eval, CODE)}),
        ("norm_obs_keys", Calls(os.system, COMMAND)),
    ],
)
def test_a_call_in_place_of_a_number_is_none(name: str, value: Any) -> None:
    Path("stats.pkl").write_bytes(statistics_with(**{name: value}))

    if name == "norm_obs_keys":  # which one array has no use for
        read_statistics(Path("stats.pkl"))
        return
    with pytest.raises(DataError, match=r"stats\.pkl: its (clip_obs|obs_rms)"):
        read_statistics(Path("stats.pkl"))


@pytest.mark.parametrize(
    ("shape", "raw", "message"),
    [
        ((2**62,), b"12345678", "no row of sizes"),
        ((2**39,), b"12345678", "has 8 bytes; it needs 4398046511104"),
        ((-1,), b"12345678", "no row of sizes"),
        ((True,), b"12345678", "no row of sizes"),
        ((1,) * 40, b"12345678", "no row of sizes"),
        ((1,), b"123", "has 3 bytes; it needs 8"),
        ((1,), Calls(os.system, COMMAND), r"made of a (posix|nt)\.system"),
    ],
)
def test_an_array_that_claims_other_than_it_brings_is_refused(shape: Any, raw: Any, message: str) -> None:
    function, arguments, *_ = cast("tuple[Any, ...]", np.zeros(1).__reduce__())
    wrapper: Any = VecNormalize(DummyVecEnv([lambda: Anywhere(OBS, ACTS)]))
    wrapper.obs_rms.mean = Calls(function, *arguments, state=(1, shape, np.dtype("f8"), False, raw))
    Path("stats.pkl").write_bytes(pickle.dumps(wrapper))

    with pytest.raises(DataError, match=rf"stats\.pkl: its obs_rms\.mean is an array .*{message}"):
        read_statistics(Path("stats.pkl"))


def test_more_instructions_than_statistics_can_have_are_refused() -> None:
    with pytest.raises(DataError, match="more than 1,000,000 instructions"):
        read_pickle(b"\x80\x02" + b"N" * (MAX_OPCODES + 1) + b".")


def test_a_file_too_large_for_statistics_is_not_even_read() -> None:
    with Path("stats.pkl").open("wb") as file:
        file.truncate(2**40)  # which takes no room on the disk

    with pytest.raises(DataError, match=r"stats\.pkl: has 1,099,511,627,776 bytes; at most"):
        read_statistics(Path("stats.pkl"))


def test_deep_nesting_is_no_trouble() -> None:
    value: Any = read_pickle(b"\x80\x02)" + b"\x85" * 200_000 + b".")

    assert isinstance(value, tuple)


def test_a_name_that_would_move_a_terminals_cursor_is_told_harmlessly() -> None:
    assert str(Name("os", "\x1b[2Jsystem")) == "'os.\\x1b[2Jsystem'"
    assert len(str(Name("m" * 10_000, "x"))) < 110


def test_a_call_is_a_record_of_what_would_have_been_called() -> None:
    value = read_pickle(pickle.dumps(Calls(os.system, COMMAND)))

    assert isinstance(value, Call)
    assert value.function == Name(os.system.__module__, "system")
    assert value.arguments == (COMMAND,)


# --- zips -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", PAYLOADS)
def test_pickles_among_the_settings_are_never_looked_at(payload: str) -> None:
    """Every one of them is replaced, and the policy acts as before."""
    path = saved(Path("agent.zip"))
    expected = opened(path).predict(some_obs(OBS), deterministic=True)[0]
    text = base64.b64encode(PAYLOADS[payload]).decode()

    def poison(data: dict[str, Any]) -> None:
        for entry in [*data.values(), data]:
            if isinstance(entry, dict):
                entry[":serialized:"] = text

    assert np.array_equal(opened(with_data(path, poison)).predict(some_obs(OBS), deterministic=True)[0], expected)


def test_pickles_that_tell_about_normalisation_are_read_and_not_run() -> None:
    path = saved(Path("agent.zip"), DQN, acts=CHOICES)
    text = base64.b64encode(PAYLOADS["os.system, protocol 4"]).decode()
    entry = {":type:": "<class 'numpy.ndarray'>", ":serialized:": text}

    opened(with_data(path, lambda data: data.update(_last_obs=entry, _last_original_obs=entry)), acts=CHOICES)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_weights_that_are_a_pickle_are_not_run(payload: str) -> None:
    path = saved(Path("agent.zip"))
    written(path, members(path) | {"policy.pth": PAYLOADS[payload]})

    with pytest.raises(
        DataError, match=r"agent\.zip: its member 'policy\.pth' .*expected a zip that .*model\.save. wrote"
    ):
        opened(path)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_weights_as_torch_writes_them_with_a_pickle_inside_are_not_run(payload: str) -> None:
    """A file of torch's own is a zip too, whose member ``data.pkl`` says what the tensors are."""
    path = saved(Path("agent.zip"))
    content = members(path)
    inner = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content["policy.pth"])) as old, zipfile.ZipFile(inner, "w") as new:
        for name in old.namelist():
            new.writestr(name, PAYLOADS[payload] if name.endswith("data.pkl") else old.read(name))
    written(path, content | {"policy.pth": inner.getvalue()})

    with pytest.raises(
        DataError, match=r"agent\.zip: its member 'policy\.pth' .*expected a zip that .*model\.save. wrote"
    ):
        opened(path)


def test_what_weights_name_is_told() -> None:
    path = saved(Path("agent.zip"))
    buffer = io.BytesIO()
    torch.save({"log_std": Calls(os.system, COMMAND)}, buffer)
    written(path, members(path) | {"policy.pth": buffer.getvalue()})

    with pytest.raises(DataError, match=r"its member 'policy\.pth' names (posix|nt)\.system, which is no weight"):
        opened(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": b"{"}, "its member 'data' is no JSON"),
        ({"data": b"[1, 2]"}, "its member 'data' is a list, no mapping"),
        ({"data": b"\xff\xfe"}, "its member 'data' is no JSON"),
        ({"data": b"[" * 200_000}, "its member 'data' is no JSON"),
        ({"data": b"{}"}, "its observation space is not stated"),
        ({"policy.pth": b""}, "its member 'policy.pth' is damaged"),
        ({"policy.pth": b"weights"}, "its member 'policy.pth' is damaged"),
    ],
)
def test_a_damaged_member_is_named(change: dict[str, bytes], message: str) -> None:
    path = saved(Path("agent.zip"))

    with pytest.raises(DataError, match=rf"agent\.zip: {message}"):
        opened(written(path, members(path) | change))


@pytest.mark.parametrize("name", ["data", "policy.pth"])
def test_a_member_that_is_missing_is_named(name: str) -> None:
    path = saved(Path("agent.zip"))
    content = members(path)
    del content[name]

    with pytest.raises(DataError, match=rf"agent\.zip: has no member '{name}'; expected a zip that"):
        opened(written(path, content))


def test_a_zip_of_stable_baselines_2_is_told_from_one_of_3() -> None:
    path = written(Path("agent.zip"), {"data": b"{}", "parameters": b"", "parameter_list": b"[]"})

    with pytest.raises(DataError, match="written by stable-baselines 2, with weights for TensorFlow"):
        opened(path)


def test_what_a_policys_own_save_wrote_is_told_from_what_an_algorithms_wrote() -> None:
    model(PPO).policy.save("agent.zip")

    with pytest.raises(DataError, match=r"agent\.zip: written by a policy's own `save` .*mimetic\.save_policy"):
        opened("agent.zip")


@pytest.mark.parametrize("length", [0, 3, 1000, -100, -1])
def test_a_zip_that_is_cut_off_is_named(length: int) -> None:
    path = saved(Path("agent.zip"))
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(DataError, match=r"agent\.zip: .*expected a zip that stable-baselines3's .model\.save. wrote"):
        opened(path)


def test_a_zip_whose_bytes_changed_on_the_way_is_named() -> None:
    path = saved(Path("agent.zip"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)

    with pytest.raises(DataError, match=r"agent\.zip: damaged, or no zip \(Bad CRC-32"):
        opened(path)


@pytest.mark.parametrize("name", ["data", "policy.pth"])
def test_a_packed_bomb_is_refused_before_it_is_unpacked(name: str) -> None:
    path = saved(Path("agent.zip"))
    written(path, members(path) | {name: b"\0" * (50 * 2**20)}, packed=True)

    with pytest.raises(DataError, match=rf"agent\.zip: its member '{name}' is packed to less than a 100th"):
        opened(path)


def test_a_member_too_large_is_refused_before_it_is_read() -> None:
    path = saved(Path("agent.zip"))
    forged = bytearray(path.read_bytes())
    (directory,) = struct.unpack_from("<I", forged, forged.rindex(b"PK\x05\x06") + 16)
    struct.pack_into("<II", forged, directory + 20, 2**31, 2**31)  # the sizes that its first entry, `data`, claims
    path.write_bytes(forged)

    with pytest.raises(DataError, match=r"its member 'data' has 2,147,483,648 bytes; at most"):
        opened(path)


def test_packed_weights_inside_torchs_own_zip_are_refused() -> None:
    path = saved(Path("agent.zip"))
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", b"\0" * (10 * 2**20))
    written(path, members(path) | {"policy.pth": inner.getvalue()})

    with pytest.raises(DataError, match=r"'policy\.pth' is packed in a way that torch never writes"):
        opened(path)


@pytest.mark.parametrize("name", ["../escaped", "/mimetic-escaped", "..\\escaped", "data/../../escaped", "C:\\escaped"])
def test_names_of_members_lead_nowhere(name: str) -> None:
    path = saved(Path("agent.zip"))
    before = sorted(Path.cwd().parent.rglob("*"))
    written(path, members(path) | {name: b"#!/bin/sh"})

    opened(path)

    assert sorted(Path.cwd().parent.rglob("*")) == before
    assert not Path("/mimetic-escaped").exists()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], "is no mapping from names to tensors"),
        ({"log_std": 3.0}, "is no mapping from names to tensors"),
        ({3: torch.ones(1)}, "is no mapping from names to tensors"),
        ({"log_std": torch.ones(1).expand(2**40)}, r"weight 'log_std' claims shape \(1099511627776,\)"),
        ({"log_std": torch.eye(2).to_sparse()}, "weight 'log_std' is no plain tensor"),
        ({"log_std": torch.ones(2)}, "its weights are those of no policy that is known here: log_std"),
    ],
)
def test_weights_that_are_none_are_named(weights: Any, message: str) -> None:
    path = with_weights(saved(Path("agent.zip")), lambda _: weights)

    with pytest.raises(DataError, match=rf"agent\.zip: .*{message}"):
        opened(path)


def test_layers_that_would_build_a_giant_are_refused_before_it_is_built() -> None:
    """Two thin layers of 16 MB each claim a matrix of 70 TB between them."""
    thin = torch.zeros(2**22, 1)
    path = with_weights(
        saved(Path("agent.zip")),
        lambda weights: (
            weights | {"mlp_extractor.policy_net.0.weight": thin, "mlp_extractor.policy_net.2.weight": thin}
        ),
    )

    with pytest.raises(DataError, match=r"its layers mlp_extractor\.policy_net\.\* do not fit each other"):
        opened(path)


def test_a_path_to_no_file_says_so_and_finds_the_one_that_was_meant() -> None:
    saved(Path("agent.zip"))

    with pytest.raises(DataError, match=r"agent: there is no such file \(there is .*agent\.zip\)"):
        opened("sb3:path=agent")
    with pytest.raises(DataError, match=r"other\.zip: there is no such file; expected a zip that"):
        opened("other.zip")


def test_a_folder_is_no_zip() -> None:
    Path("agent").mkdir()

    with pytest.raises(DataError, match="agent: cannot be read"):
        opened("sb3:path=agent")
