"""A distribution that the core has never heard of is installed, and each of its components takes part in a run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ACME = Path(__file__).resolve().parents[1] / "third_party" / "acme_mimetic"

RUN_FILE = """
plugins: [acme-mimetic>=1.2]
env: {id: CartPole-v1, wrappers: [{name: acme.scale, factor: 2.0}]}
demonstrations: [{name: acme.csv, path: acme.csv}]
policy: acme.linear
algorithm: {name: acme.full-batch, n_steps: 200}
losses: [{name: acme.focal, gamma: 0.5}]
evaluation: {n_episodes: 5, reward: {name: acme.centred, width: 2.4}}
loggers: [acme.lines]
"""

COMPONENTS = {
    ("algorithm", "acme.full-batch"),
    ("policy", "acme.linear"),
    ("loss", "acme.focal"),
    ("data-source", "acme.csv"),
    ("wrapper", "acme.scale"),
    ("logger", "acme.lines"),
    ("reward", "acme.centred"),
    ("command", "acme-hello"),
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install acme-mimetic into a folder, without network, as a person would with pip."""
    folder = tmp_path_factory.mktemp("acme")
    target = folder / "site"
    source = folder / "source"
    shutil.copytree(ACME, source)  # a build leaves files behind, and the checkout is not the test's to change
    flags = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *flags, "--target", str(target), str(source)], check=True)
    return target


@pytest.fixture(scope="module")
def run(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train from a run file that names nothing but Acme's components, and give the run's folder."""
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    obs = rng.normal(0, 0.1, (400, 4))
    acts = obs @ [0.1, 0.3, 1.0, 1.0] > 0  # push towards the side that the pole leans to
    np.savetxt(
        folder / "acme.csv",
        np.column_stack([np.zeros(400), obs, acts]),
        delimiter=",",
        header="episode,x,v,angle,spin,act",
        comments="",
    )
    (folder / "acme.yaml").write_text(RUN_FILE, encoding="utf-8")
    mimetic(installed, "train", str(folder / "acme.yaml"), "--out", str(folder / "out"))
    return folder / "out"


def mimetic(installed: Path, *words: str, status: int = 0) -> str:
    """Run a command with Acme's folder on the path, and give what it printed."""
    env = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-m", "mimetic", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == status, done.stderr
    return done.stdout


def test_every_component_of_an_installed_package_is_listed(installed: Path) -> None:
    document = json.loads(mimetic(installed, "plugins", "--json"))

    (acme,) = [plugin for plugin in document["plugins"] if plugin["name"] == "acme"]

    assert (acme["state"], acme["distribution"], acme["version"]) == ("active", "acme-mimetic", "1.2.0")
    assert {(part["kind"], part["name"]) for part in acme["components"]} == COMPONENTS


def test_its_command_is_a_word_after_mimetic(installed: Path) -> None:
    assert mimetic(installed, "acme-hello", "you") == "hello from acme you\n"


def test_its_algorithm_policy_loss_source_and_wrapper_train_a_policy_that_balances(run: Path) -> None:
    """The environment's own return tells: 500 is the most that CartPole-v1 gives."""
    evaluation = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))

    assert evaluation["n_traj"] == 5
    assert evaluation["env_return_mean"] >= 475


def test_its_reward_is_the_return_and_the_environments_own_stands_beside_it(run: Path) -> None:
    """Acme's reward is below one for each step away from the middle, CartPole's is one."""
    evaluation = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))

    for episode in evaluation["episodes"]:
        assert 0 < episode["return"] < episode["env_return"] == episode["length"]


def test_its_logger_writes_a_line_for_every_step_and_the_evaluation(run: Path) -> None:
    lines = (run / "acme.txt").read_text(encoding="utf-8").splitlines()

    assert [int(line.split()[0]) for line in lines] == list(range(201))
    assert "acme/loss=" in lines[0]
    assert "evaluation/return_mean=" in lines[-1]


def test_its_version_is_in_the_manifest(run: Path) -> None:
    manifest: dict[str, Any] = json.loads((run / "manifest.json").read_text(encoding="utf-8"))

    (acme,) = [plugin for plugin in manifest["plugins"] if plugin["name"] == "acme"]

    assert (acme["distribution"], acme["version"]) == ("acme-mimetic", "1.2.0")


def test_its_policy_and_wrapper_travel_in_the_policy_file(installed: Path, run: Path) -> None:
    """The evaluation rebuilds both from the file alone, and so finds the same returns."""
    document = json.loads(mimetic(installed, "eval", str(run), "--episodes", "5", "--json"))
    recorded = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))

    assert [e["length"] for e in document["episodes"]] == [e["length"] for e in recorded["episodes"]]


def test_without_the_package_the_run_file_says_what_to_install(run: Path) -> None:
    """The same file on a machine where nobody installed Acme."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-m", "mimetic", "config", "check", str(run / "config.yaml")]

    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 2
    assert "pip install 'acme-mimetic>=1.2'" in done.stderr
    assert "Traceback" not in done.stderr
