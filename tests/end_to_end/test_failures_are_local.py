"""What one component does wrong stays its own: watchers are switched off, and what a run needs ends it by name.

Each is a real distribution on the path, used by ``mimetic train`` from a run file.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mimetic.cli import main
from mimetic.testing import discovered, fake_distribution
from mimetic.testing.contracts.facts import closing_what_it_opens

PLUGIN = """
    from mimetic import (
        AlgorithmEntry, DataSourceEntry, LoggerEntry, LossEntry, PolicyEntry, RewardEntry, WrapperEntry, hookimpl,
    )

    MIMETIC_API = (1, 0)

    def entry(kind, name, **more):
        targets = dict(config="acme_mimetic.config:Config", factory=f"acme_mimetic.{name}:build")
        return kind(name=f"acme.{name}", summary="Fails", **targets, **more)

    @hookimpl
    def mimetic_algorithms():
        yield entry(AlgorithmEntry, "algorithm")

    @hookimpl
    def mimetic_policies():
        yield entry(PolicyEntry, "policy")

    @hookimpl
    def mimetic_losses():
        yield entry(LossEntry, "loss")

    @hookimpl
    def mimetic_data_sources():
        yield entry(DataSourceEntry, "source")

    @hookimpl
    def mimetic_wrappers():
        yield entry(WrapperEntry, "wrapper", level="env")
        yield entry(WrapperEntry, "explorer", level="policy")

    @hookimpl
    def mimetic_loggers():
        yield entry(LoggerEntry, "logger")

    @hookimpl
    def mimetic_rewards():
        yield entry(RewardEntry, "reward")

    @hookimpl
    def mimetic_epoch_ended(run, report):
        if "observed" in run.name:
            raise RuntimeError(f"no epoch {report.epoch}")

    @hookimpl
    def mimetic_run_finished(run, result):
        if "observed" in run.name:
            (run.dir / "seen.txt").write_text("to the end")
"""

FILES = {
    "config": '''
        from mimetic import ComponentConfig

        class Config(ComponentConfig):
            """Settings."""

            when: str = ""
            """When it fails."""
    ''',
    "policy": """
        import torch
        from mimetic.policies import FlatFeatures, MimeticPolicy

        def build(config, context):
            class Features(FlatFeatures):
                def forward(self, obs):
                    if self.training == (config.when == "training"):
                        raise RuntimeError(f"cannot see while {config.when}")
                    return super().forward(obs)

            return MimeticPolicy(
                context.observation_space, context.action_space, net_arch=[4], features_extractor_class=Features
            )
    """,
    "loss": """
        def build(config, context):
            def term(inputs):
                if config.when == "leaving":
                    raise SystemExit(9)
                return inputs.log_prob.mean() / 0 if config.when == "" else 1 / 0

            return term
    """,
    "source": """
        import numpy as np
        from mimetic.plugins import registry
        from mimetic import DataSourceContext
        from mimetic.types import as_demonstrations

        class Batches:
            passes = 0

            def __init__(self, when, pairs):
                self.when, self.pairs = when, pairs

            def __iter__(self):
                self.passes += 1
                for start in range(0, 960, 32):
                    if self.when == "reading" or (self.when == "third pass" and self.passes > 3):
                        raise OSError("the disk is gone")
                    yield {"obs": self.pairs.obs[start : start + 32], "acts": self.pairs.acts[start : start + 32]}

        def build(config, context):
            if config.when == "building":
                raise OSError("the disk is gone")
            pairs = as_demonstrations(registry().build("data-source", "demo", {}, context)).pairs()
            return Batches(config.when, pairs)
    """,
    "reward": """
        def build(config, context):
            def pay(obs, acts, next_obs, dones):
                return next_obs["position"]

            return pay
    """,
    "wrapper": """
        import gymnasium as gym

        class Failing(gym.Wrapper):
            n_steps = 0

            def step(self, action):
                self.n_steps += 1
                if self.n_steps == 5:
                    raise KeyError("the fifth step")
                return super().step(action)

        def build(config, context):
            return Failing(context.wrapped)
    """,
    "explorer": """
        from mimetic import Actor

        class Lost(Actor):
            def __call__(self, obs, state, episode_start):
                raise LookupError("no way")

        def build(config, context):
            return Lost()
    """,
    "algorithm": """
        from mimetic import Report

        class Trainer:
            facts = {}

            def __init__(self, policy):
                self.policy = policy

            def train(self):
                yield Report(0, 0, 1, {"loss": 1.0})
                raise ArithmeticError("diverged")

            def state_dict(self):
                return {}

            def load_state_dict(self, state):
                pass

        def build(config, context):
            return Trainer(context.policy)
    """,
    "logger": """
        class Logger:
            def __init__(self, path):
                self.file = path.open("x")

            def write(self, record):
                raise BlockingIOError(f"the line is busy at {record.step}")

            def close(self):
                self.file.close()

        def build(config, context):
            return Logger(context.run_dir / "acme.txt")
    """,
}

RUN = """
name: {name}
env: {{id: CartPole-v1, wrappers: {wrappers}}}
demonstrations: {demonstrations}
policy: {policy}
algorithm: {algorithm}
losses: {losses}
evaluation: {{n_episodes: 1, reward: {reward}, explore: {explore}}}
loggers: {loggers}
"""
RIGHT = {
    "name": "right",
    "wrappers": "[]",
    "demonstrations": "demo",
    "policy": "{name: mlp, net_arch: [4]}",
    "algorithm": "{name: bc, n_epochs: 5, batch_size: 2000}",
    "losses": "[nll]",
    "reward": "null",
    "explore": "null",
    "loggers": "[csv]",
}
FROM_BATCHES = "{name: bc, n_epochs: 4, batch_size: 32}"

ENDS_THE_RUN = {
    "a policy that raises in training": (
        {"policy": "{name: acme.policy, when: training}"},
        r"policy 'acme\.policy' of acme-mimetic 1\.0 raised RuntimeError: cannot see while training",
    ),
    "a policy that raises when it acts": (
        {"policy": "{name: acme.policy, when: acting}"},
        r"policy 'acme\.policy' of acme-mimetic 1\.0 raised RuntimeError: cannot see while acting",
    ),
    "a loss term that raises": (
        {"losses": "[nll, {name: acme.loss, when: dividing}]"},
        r"loss term 'acme\.loss' of acme-mimetic 1\.0 raised ZeroDivisionError: division by zero",
    ),
    "a loss term that leaves": (
        {"losses": "[nll, {name: acme.loss, when: leaving}]"},
        r"loss 'acme\.loss' of acme-mimetic 1\.0 raised SystemExit: 9",
    ),
    "a source that raises when it is built": (
        {"demonstrations": "{name: acme.source, when: building}"},
        r"data-source 'acme\.source' of acme-mimetic 1\.0 raised OSError: the disk is gone",
    ),
    "a source that raises when it is read": (
        {"demonstrations": "{name: acme.source, when: reading}", "algorithm": FROM_BATCHES},
        r"data-source 'acme\.source' of acme-mimetic 1\.0 raised OSError: the disk is gone",
    ),
    "a source that raises in the middle of training": (
        {"demonstrations": "{name: acme.source, when: third pass}", "algorithm": FROM_BATCHES},
        r"data-source 'acme\.source' of acme-mimetic 1\.0 raised OSError: the disk is gone",
    ),
    "a reward that raises": (
        {"reward": "acme.reward"},
        r"reward 'acme\.reward' of acme-mimetic 1\.0 raised IndexError: only integers",
    ),
    "a wrapper around the environment that raises": (
        {"wrappers": "[acme.wrapper]"},
        r"wrapper 'acme\.wrapper' of acme-mimetic 1\.0 raised KeyError: 'the fifth step'",
    ),
    "a wrapper around the policy that raises": (
        {"explore": "acme.explorer"},
        r"wrapper 'acme\.explorer' of acme-mimetic 1\.0 raised LookupError: no way",
    ),
    "an algorithm that raises": (
        {"algorithm": "acme.algorithm"},
        r"algorithm 'acme\.algorithm' of acme-mimetic 1\.0 raised ArithmeticError: diverged",
    ),
}

Train = Callable[..., int]


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install acme-mimetic beside what is in the box, for the length of a test."""
    files = {f"acme_mimetic/{name}.py": text for name, text in FILES.items()}
    monkeypatch.chdir(tmp_path)
    with discovered(fake_distribution(tmp_path / "site", plugin=PLUGIN, files=files), alone=False):
        yield tmp_path


@pytest.fixture
def train(acme: Path) -> Train:
    """Carry out a run file that is right but for a few keys, and give the exit status."""

    def execute(**keys: str) -> int:
        (acme / "run.yaml").write_text(RUN.format(**{**RIGHT, **keys}), encoding="utf-8")
        with closing_what_it_opens("the run"):
            return main(["train", "run.yaml", "--out", "out"])

    return execute


@pytest.mark.parametrize("title", ENDS_THE_RUN)
def test_what_a_run_needs_ends_it_with_the_providers_name(
    title: str, train: Train, acme: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a traceback for whoever wrote it, every file closed, and the reason in the manifest."""
    keys, told = ENDS_THE_RUN[title]

    status = train(**keys)
    said = capsys.readouterr().err

    assert status == 1
    assert re.search(told, said.splitlines()[-1]), said
    assert "Traceback (most recent call last)" in said
    assert not (acme / "out" / "evaluation.json").exists()
    if (acme / "out").exists():  # else the run had not begun
        manifest = json.loads((acme / "out" / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["status"] == "failed"
        assert re.search(told, manifest["error"]), manifest["error"]
        assert not list((acme / "out").glob("*.tmp"))


def test_a_logger_that_raises_is_reported_once_and_switched_off_after_three_failures(
    train: Train, acme: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run goes on, and the other loggers keep every record."""
    status = train(loggers="[acme.logger, csv]", algorithm="{name: bc, n_epochs: 6, batch_size: 2000, log_interval: 1}")
    said = capsys.readouterr().err

    assert status == 0
    assert said.count("BlockingIOError: the line is busy at 0") == 1
    assert "the line is busy at 1" not in said
    assert said.count("logger 'acme.logger' failed in write() (traceback above); the run goes on") == 1
    assert said.count("logger 'acme.logger' failed 3 times and is switched off; the run goes on") == 1
    with (acme / "out" / "progress.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 31  # thirty steps, and the evaluation
    assert (acme / "out" / "policy.safetensors").is_file()


def test_an_observer_that_raises_is_reported_once_and_switched_off_after_three_failures(
    train: Train, acme: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run goes on, and so do its other hooks."""
    status = train(name="observed")
    said = capsys.readouterr().err

    assert status == 0
    assert said.count("RuntimeError: no epoch 1") == 1
    assert "no epoch 2" not in said
    who = "observer 'mimetic_epoch_ended' of 'acme' (acme-mimetic 1.0, entry point acme_mimetic.plugin)"
    assert said.count(f"{who} raised; the run goes on") == 1
    assert said.count(f"{who} failed 3 times and is switched off for this run") == 1
    assert (acme / "out" / "seen.txt").read_text(encoding="utf-8") == "to the end"


def test_other_commands_name_the_provider_too(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["data", "inspect", "acme.source:when=reading"])
    said = capsys.readouterr().err

    assert status == 1
    assert said.splitlines()[-1].startswith("data-source 'acme.source' of acme-mimetic 1.0 raised OSError")


def test_what_an_environment_raises_is_not_blamed_on_a_wrapper_around_it(
    train: Train, acme: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (acme / "site" / "wild.py").write_text(WILD, encoding="utf-8")
    (acme / "site" / "acme_mimetic" / "wrapper.py").write_text(PASSING_ON, encoding="utf-8")
    text = RUN.format(**{**RIGHT, "wrappers": "[acme.wrapper]"}).replace("CartPole-v1", "wild:Wild-v0")
    (acme / "run.yaml").write_text(text, encoding="utf-8")

    status = main(["train", "run.yaml", "--out", "out"])
    said = capsys.readouterr().err

    assert status == 1
    assert "unexpected ValueError" in said.splitlines()[-1]
    assert "acme-mimetic" not in said.splitlines()[-1]


WILD = """
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv

class Wild(CartPoleEnv):
    def step(self, action):
        raise ValueError("this is the environment's own")

gym.register("Wild-v0", entry_point="wild:Wild", max_episode_steps=500)
"""
PASSING_ON = """
import gymnasium as gym

class PassingOn(gym.Wrapper):
    def step(self, action):
        return super().step(action)

def build(config, context):
    return PassingOn(context.wrapped)
"""
