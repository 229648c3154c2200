"""From a rule in a Python file to a policy that has learned it: collect, look, train, evaluate."""

import json
from pathlib import Path

import pytest

from mimetic.cli import main
from mimetic.storage import load_demonstrations

RULE = """
def balance(obs):
    '''Push to where the pole falls and the cart drifts.'''
    position, velocity, angle, spin = obs
    return int(angle + 0.35 * spin + 0.1 * velocity + 0.03 * position > 0)
"""

RUN = """
env: {id: CartPole-v1}
demonstrations: [{name: native, path: DATA}]
policy: {name: mlp, net_arch: [32, 32]}
algorithm: {name: bc, n_epochs: 10, batch_size: 64, optimizer: {name: adam, lr: 3e-3}, lr_schedule: linear}
evaluation: {n_episodes: 10}
loggers: []
"""


@pytest.mark.parametrize("data", ["rule.safetensors", "rule"])
def test_a_policy_learns_what_a_rule_was_seen_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rule.py").write_text(RULE)
    Path("cartpole.yaml").write_text(RUN.replace("DATA", data))

    words = ["--env", "CartPole-v1", "--episodes", "12", "--n-envs", "4", "--explore", "epsilon-greedy:epsilon=0.05"]
    assert main(["collect", "function:path=rule.py:balance", *words, "--out", data]) == 0
    assert main(["data", "inspect", data]) == 0
    assert main(["train", "cartpole.yaml", "--out", "run"]) == 0
    assert main(["collect", "run", "--episodes", "2", "--out", "again"]) == 0

    collected = load_demonstrations(data)
    learned = json.loads(Path("run/evaluation.json").read_text())
    assert collected.returns is not None
    assert collected.returns.mean() > 400
    assert learned["return_mean"] >= 450
    assert len(load_demonstrations("again")) == 2
    assert "12 trajectories" in capsys.readouterr().out
