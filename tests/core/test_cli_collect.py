"""mimetic collect: what is asked reaches the collection, what is said can be read, what is wrong is listed."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation_parts import env_id, parts
from mimetic.cli import main
from mimetic.cli.collect import parser, read
from mimetic.plugins import using
from mimetic.storage import load_demonstrations

LEN = "worlds:mimetic-tests/Len-v0"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def only_parts() -> Iterator[None]:
    """The components of ``evaluation_parts`` are all there is."""
    with using(parts()):
        yield


def read_words(*words: str) -> tuple[Any, Any, Any]:
    return read(parser().parse_args(words))


# --- what is said -----------------------------------------------------------------------------------------------


def test_people_are_told_what_there_is_and_where(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--env", LEN, "--env-kwargs", "n=4", "r=0.5", "--episodes", "3", "--seed", "7", "--out", "mine"]

    assert main(["collect", "ones", *words]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "worlds:mimetic-tests/Len-v0: 3 episodes, 12 transitions, stochastic, seed 7",
        "                   mean          std          min          max",
        "return             2.00         0.00         2.00         2.00",
        "length             4.00         0.00         4.00         4.00",
        "3 terminated, 0 truncated",
        "data: mine",
    ]
    assert load_demonstrations("mine").acts.tolist() == [1] * 12


def test_one_episode_is_one(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--env", LEN, "--env-kwargs", "n=1", "--episodes", "1", "--deterministic", "--out", "a.safetensors"]

    assert main(["collect", "ones", *words]) == 0

    assert capsys.readouterr().out.startswith(f"{LEN}: 1 episode, 1 transition, deterministic, seed 0\n")


@pytest.mark.filterwarnings("default")  # as for people
def test_an_episode_that_is_cut_is_told(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--env", LEN, "--env-kwargs", "n=null", "--max-steps", "6", "--episodes", "1", "--out", "a"]

    assert main(["collect", "ones", *words]) == 0

    told = capsys.readouterr()
    assert "0 terminated, 1 truncated" in told.out
    assert told.err.startswith("mimetic: warning: 1 of 1 episodes made 6 steps without an end")


def test_the_bar_is_gone_when_nobody_watches(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "ones", "--env", LEN, "--out", "a"]) == 0

    assert capsys.readouterr().err == ""


# --- what is asked ----------------------------------------------------------------------------------------------


def test_every_option_reaches_the_settings(tmp_path: Path) -> None:
    words = [
        *["random", "--env", "CartPole-v1", "--episodes", "7", "--timesteps", "8", "--deterministic", "--n-envs", "3"],
        *["--explore", "epsilon-greedy:epsilon=0.5", "--processes", "--vectorization", "native", "--max-steps", "9"],
        *["--render", "--fps", "12", "--env-kwargs", "sutton_barto_reward=true", "--out", "here"],
        *["--wrapper", "gymnasium:class=TimeLimit,kwargs={max_episode_steps: 4}"],
    ]

    policy, env, settings = read_words(*words)

    assert (policy, env.id, env.kwargs) == ("random", "CartPole-v1", {"sutton_barto_reward": True})
    assert (settings.n_episodes, settings.n_timesteps, settings.n_envs, settings.max_steps) == (7, 8, 3, 9)
    assert (settings.deterministic, settings.processes, settings.vectorization) == (True, True, "native")
    assert (settings.render, settings.render_fps, settings.save_rollouts) == (True, 12.0, tmp_path / "here")
    assert settings.explore.as_dict() == {"name": "epsilon-greedy", "epsilon": 0.5}
    assert [wrapper.name for wrapper in settings.wrappers] == ["gymnasium"]


def test_twenty_episodes_are_collected_stochastically_when_nothing_else_is_asked() -> None:
    _, _, settings = read_words("random", "--env", LEN, "--out", "a")

    assert (settings.n_episodes, settings.n_timesteps, settings.deterministic) == (20, None, False)


def test_timesteps_alone_ask_for_no_number_of_episodes() -> None:
    _, _, settings = read_words("random", "--env", LEN, "--out", "a", "--timesteps", "100")

    assert (settings.n_episodes, settings.n_timesteps) == (None, 100)


# --- what is wrong ----------------------------------------------------------------------------------------------


def test_every_fault_is_listed_under_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--env", LEN, "--episodes", "0", "--n-envs", "0", "--seed", "-1", "--explore", "gaussain:sigma=1"]

    assert main(["collect", "radnom", *words, "--keys", "left=0", "--fps", "5", "--out", "a"]) == 2

    lines = capsys.readouterr().err.splitlines()
    options = ["--fps", "--keys", "--explore", "--n-envs", "--episodes", "--seed", "POLICY"]
    assert [line.split(": ")[1] for line in lines] == options
    assert lines[0].endswith("says nothing without a window: add --render")
    assert lines[1].endswith("are for the policy 'human', seen 'radnom'")
    assert "Did you mean 'gaussian'" in lines[2]
    assert not Path("a").exists()


def test_a_policy_without_an_environment_of_its_own_needs_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "random", "--out", "a"]) == 2

    assert capsys.readouterr().err == "command line: --env: is missing: the policy names no environment of its own\n"


def test_an_existing_target_ends_with_2_before_anything_is_built(
    only_parts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.safetensors").write_text("precious")

    assert main(["collect", "ones", "--env", "NoSuchEnv-v0", "--out", "mine.safetensors"]) == 2

    assert "mine.safetensors exists already, and nothing is written over" in capsys.readouterr().err
    assert Path("mine.safetensors").read_text() == "precious"


def test_the_target_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "random", "--env", LEN]) == 2
    assert "--out" in capsys.readouterr().err


def test_an_error_says_what_is_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The motor stalls in the second step of the second episode."""
    monkeypatch.setattr("evaluation_parts.Failing.step", _stalls_later)

    assert main(["collect", "random", "--env", env_id("Failing"), "--out", "a"]) == 1

    assert "ZeroDivisionError" in (said := capsys.readouterr().err)
    assert "a holds what was complete before: 1 episode\n" in said
    assert len(load_demonstrations("a")) == 1


def _stalls_later(self: Any, action: Any) -> Any:
    from worlds import Len

    if self.episode == 1 and self.t == 1:
        raise ZeroDivisionError("the motor stalled")
    return Len.step(self, action)


def test_without_a_plugin_for_people_human_is_an_unknown_policy(
    only_parts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", "human", "--env", LEN, "--keys", "left=0", "--out", "a"]) == 2

    assert "no policy is called 'human'" in capsys.readouterr().err


# --- Ctrl-C -----------------------------------------------------------------------------------------------------


def test_ctrl_c_keeps_what_is_complete_and_ends_with_130(tmp_path: Path) -> None:
    """A collection without an end to be seen, in a process of its own, as in a terminal."""
    program = (
        "import sys, worlds; from mimetic.cli import main\n"
        "reset = worlds.Len.reset\n"
        "def told(self, *, seed=None, options=None):\n"
        "    if self.episode == 20: print('playing', file=sys.stderr, flush=True)\n"
        "    return reset(self, seed=seed, options=options)\n"
        "worlds.Len.reset = told\n"
        f"sys.exit(main(['collect', 'random', '--env', '{LEN}', '--episodes', '100000000', '--out', 'rolled']))\n"
    )
    tests = str(Path(__file__).resolve().parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tests!r})\n{program}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == "playing\n"
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            said, faults = process.communicate(timeout=60)
        finally:
            process.kill()

    assert (process.returncode, faults) == (130, "")
    lines = said.splitlines()
    assert lines[1] == "interrupted: these are the episodes that were complete"
    assert lines[-1] == "data: rolled"
    data = load_demonstrations(tmp_path / "rolled")
    assert len(data) >= 20
    assert lines[0] == f"{LEN}: {len(data):,} episodes, {5 * len(data):,} transitions, stochastic, seed 0"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from mimetic.cli import main\n"
        "assert main(['collect', '--help']) == 0\n"
        "heavy = {'numpy', 'torch', 'gymnasium', 'stable_baselines3', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "--out PATH" in done.stdout
