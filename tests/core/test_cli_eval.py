"""mimetic eval: what is asked reaches the evaluation, what is said can be read, what is wrong is listed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import torch

from evaluation_parts import Demanding, Shown, Tape, env_id, parts
from mimetic.cli import main
from mimetic.cli.eval.options import parser, read
from mimetic.hookspecs import PolicyContext
from mimetic.plugins import using
from mimetic.policies import build_policy
from mimetic.storage import load_demonstrations, save_policy

LEN = "worlds:mimetic-tests/Len-v0"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def only_parts() -> Iterator[None]:
    """The components of ``evaluation_parts`` are all there is."""
    Tape.tapes.clear()
    Shown.windows.clear()
    with using(parts()):
        yield


# --- what is said -----------------------------------------------------------------------------------------------


def test_a_table_tells_people_how_the_policy_did(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "ones", "--env", LEN, "--episodes", "3", "--wrapper", "scale:factor=2"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "worlds:mimetic-tests/Len-v0: 3 episodes, 15 steps, deterministic, seed 0",
        "                   mean          std          min          max",
        "return            10.00         0.00        10.00        10.00",
        "env return         5.00         0.00         5.00         5.00",
        "length             5.00         0.00         5.00         5.00",
        "95% interval of the mean return: 10.00 to 10.00",
    ]


def test_success_is_told_where_the_environment_knows_it(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "ones", "--env", env_id("Paid"), "--episodes", "4"]) == 0

    assert capsys.readouterr().out.splitlines()[-1].startswith("success: ")


def test_json_is_one_document_and_nothing_else(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "ones", "--env", LEN, "--episodes", "2", "--json", "--out", "here"]) == 0

    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert (document["n_traj"], len(document["episodes"])) == (2, 2)
    assert json.loads(Path("here/evaluation.json").read_text()) == document
    assert printed.err == f"folder: {Path('here').absolute()}\n"


def test_twenty_episodes_are_the_default_unless_steps_are_asked(only_parts: None) -> None:
    assert settings_of("ones", "--env", LEN).n_episodes == 20
    assert settings_of("ones", "--env", LEN, "--timesteps", "9").n_episodes is None


@pytest.mark.filterwarnings("default")
def test_a_cut_episode_is_told_in_a_sentence(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "ones", "--env", LEN, "--env-kwargs", "n=null", "--episodes", "1", "--max-steps", "9"]

    assert main(words) == 0
    assert capsys.readouterr().err == (
        "mimetic: warning: 1 of 1 episodes made 9 steps without an end (the first is episode 0), so they were cut and "
        "are marked truncated; max_steps sets the limit\n"
    )


# --- what is asked ----------------------------------------------------------------------------------------------


def test_every_option_reaches_the_settings(only_parts: None) -> None:
    words = "ones --env x --episodes 3 --timesteps 4 --stochastic --n-envs 5 --processes --vectorization native"
    words += " --max-steps 6 --videos episodes --render --render-fps 7.5 --reward step --explore switching"
    words += " --save-rollouts r --wrapper scale render:fps=2 --seed 8"

    settings = settings_of(*words.split())

    assert settings.model_dump(mode="json") == {
        "n_episodes": 3,
        "n_timesteps": 4,
        "seed": 8,
        "n_envs": 5,
        "deterministic": False,
        "every_n_epochs": None,
        "max_steps": 6,
        "processes": True,
        "vectorization": "native",
        "videos": {"mode": "episodes"},
        "render": True,
        "render_fps": 7.5,
        "save_rollouts": str(Path("r").absolute()),
        "reward": "step",
        "explore": "switching",
        "wrappers": [{"name": "scale", "factor": 0.1}, {"name": "render", "fps": 2.0}],
    }


def test_the_seed_decides(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("0", "0", "1"):
        assert main(["eval", "ones", "--env", env_id("Paid"), "--json", "--seed", seed]) == 0
        outputs.append(capsys.readouterr().out)

    assert outputs[0] == outputs[1] != outputs[2]


def test_arguments_of_the_environment_are_yaml_or_bare_text(only_parts: None) -> None:
    _, env = read_words("ones", "--env", "x", "--env-kwargs", "n=5", "r=1e-1", "mode=wild", "--env-kwargs", "a=[1, 2]")

    assert env.kwargs == {"n": 5, "r": 0.1, "mode": "wild", "a": [1, 2]}


def test_every_fault_of_the_command_line_is_listed_under_its_option(
    only_parts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--env x --env-kwargs n --episodes 0 --n-envs 0 --reward nothing --explore scale --wrapper sclae --seed -1"

    assert main(["eval", "twos", *words.split()]) == 2

    lines = [line.split(": ") for line in capsys.readouterr().err.splitlines()]
    options = ["--wrapper", "--reward", "--explore", "--episodes", "--n-envs", "--env-kwargs", "POLICY", "--seed"]
    assert {source for source, *_ in lines} == {"command line"}
    assert sorted(option for _, option, *_ in lines) == sorted(options)


def test_an_environment_is_needed(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "ones"]) == 2
    assert capsys.readouterr().err == ("command line: --env: is missing: the policy names no environment of its own\n")


def test_an_environment_that_cannot_be_rendered_ends_with_2_before_anything_is_made(
    only_parts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "ones", "--env", env_id("Blind"), "--videos", "one"]) == 2

    assert "its render_modes: ['ansi']" in capsys.readouterr().err
    assert list(Path("evaluations").iterdir()) == []


# --- what is written --------------------------------------------------------------------------------------------


def test_nothing_is_written_unless_it_is_asked(only_parts: None) -> None:
    assert main(["eval", "ones", "--env", LEN]) == 0

    assert list(Path().iterdir()) == []


def test_videos_and_rollouts_get_a_numbered_folder_that_is_told(
    only_parts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        words = ["--episodes", "1", "--videos", "one", "--save-rollouts", f"{number}.safetensors"]
        assert main(["eval", "ones", "--env", LEN, *words]) == 0
        folder = Path("evaluations").absolute() / f"ones-{number}"
        assert capsys.readouterr().out.splitlines()[-2:] == [
            f"folder: {folder}",
            f"rollouts: {Path(f'{number}.safetensors').absolute()}",
        ]
        document = json.loads((folder / "evaluation.json").read_text())
        assert document["episodes"][0]["video"] == "videos/0.mp4"
        assert len(load_demonstrations(f"{number}.safetensors")) == 1


def test_a_folder_that_is_not_empty_is_refused(only_parts: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full/precious").touch()

    assert main(["eval", "ones", "--env", LEN, "--out", "full"]) == 2
    assert "exists and is not empty" in capsys.readouterr().err


# --- Ctrl-C -----------------------------------------------------------------------------------------------------


def test_ctrl_c_reports_what_is_complete_and_ends_with_130(tmp_path: Path) -> None:
    """A never-ending evaluation in a process of its own, as in a terminal."""
    command = [sys.executable, "-m", "mimetic", "eval", "random", "--env", "CartPole-v1", "--episodes", "100000000"]
    process = subprocess.Popen(
        [*command, "--out", "here", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    wait_for(tmp_path / "here")
    try:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()

    assert (process.returncode, "Traceback" in err) == (130, False)
    if out:  # it had begun
        document = json.loads(out)
        assert document["interrupted"] is True
        assert json.loads((tmp_path / "here" / "evaluation.json").read_text()) == document


# --- policies from files ----------------------------------------------------------------------------------------


def test_the_policy_files_environment_is_built_with_its_arguments_and_wrappers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A time limit by a wrapper in the file cuts each episode of 9 steps at 4."""
    wrapper = {"name": "gymnasium", "class": "TimeLimit", "kwargs": {"max_episode_steps": 4}}
    saved(tmp_path / "policy.safetensors", {"id": LEN, "kwargs": {"n": 9}, "wrappers": [wrapper]})

    assert main(["eval", str(tmp_path / "policy.safetensors"), "--episodes", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    assert [(each["length"], each["truncated"]) for each in document["episodes"]] == [(4, True), (4, True)]


def test_another_environment_keeps_the_wrappers_and_drops_the_arguments(tmp_path: Path) -> None:
    """Arguments belong to a constructor; wrappers make what the policy sees."""
    wrapper = {"name": "gymnasium", "class": "TimeLimit", "kwargs": {"max_episode_steps": 4}}
    path = saved(tmp_path / "policy.safetensors", {"id": LEN, "kwargs": {"n": 9}, "wrappers": [wrapper]})

    _, other = read_words(path, "--env", env_id("Demanding"), "--env-kwargs", "needed=1")
    _, same = read_words(path, "--env-kwargs", "r=2")

    assert (other.id, other.kwargs, len(other.wrappers)) == (env_id("Demanding"), {"needed": 1}, 1)
    assert (same.id, same.kwargs, len(same.wrappers)) == (LEN, {"n": 9, "r": 2}, 1)


def test_a_trained_policy_gives_the_same_bytes_for_any_number_of_environments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "policy.safetensors", {"id": "CartPole-v1", "kwargs": {}, "max_episode_steps": 30})
    outputs = set()
    for n_envs in ("1", "2", "3", "8"):
        for extra in ([], ["--processes"]) if n_envs == "2" else ([],):
            words = ["--episodes", "7", "--stochastic", "--json", "--n-envs", n_envs, *extra]
            assert main(["eval", path, *words]) == 0
            lines = capsys.readouterr().out.splitlines()
            outputs.add("\n".join(line for line in lines if '"env_index"' not in line))

    assert len(outputs) == 1


def test_a_policy_made_for_nested_observations_acts_in_an_environment_that_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "policy.safetensors", {"id": env_id("Nested")}, "multi-input")

    assert main(["eval", path, "--episodes", "2", "--n-envs", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["len_mean"] == 3.0


def test_a_policy_for_other_observations_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "policy.safetensors", {"id": "CartPole-v1"})

    assert main(["eval", path, "--env", "Pendulum-v1"]) == 2
    assert "shape (4,) is not shape (3,)" in capsys.readouterr().err


def test_the_constructor_is_called_once_for_each_environment(only_parts: None) -> None:
    """BUG-03: no probing call, and none without the user's arguments."""
    Demanding.calls.clear()

    assert main(["eval", "ones", "--env", env_id("Demanding"), "--env-kwargs", "needed=1", "--n-envs", "3"]) == 0

    assert Demanding.calls == [{"needed": 1, "render_mode": None}] * 3


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from mimetic.cli import main\n"
        "assert main(['eval', '--help']) == 0\n"
        "heavy = {'numpy', 'torch', 'gymnasium', 'stable_baselines3', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "--save-rollouts FILE" in done.stdout


def read_words(*words: str) -> tuple[Any, Any]:
    env, settings = read(parser().parse_args(words))
    return settings, env


def settings_of(*words: str) -> Any:
    return read_words(*words)[0]


def saved(path: Path, env: dict[str, Any], policy: str = "mlp") -> str:
    made = gym.make(env["id"], **env.get("kwargs", {}))
    context = PolicyContext(
        observation_space=made.observation_space,
        action_space=made.action_space,
        device=torch.device("cpu"),
        seed=0,
        base_dir=path.parent,
    )
    save_policy(build_policy(policy, context), path, env=env)
    return os.fspath(path)


def wait_for(path: Path) -> None:
    import time

    for _ in range(600):
        if path.exists():
            time.sleep(0.5)
            return
        time.sleep(0.1)
