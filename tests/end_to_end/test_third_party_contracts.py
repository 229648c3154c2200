"""What Acme ships keeps the contracts of its kinds, as everything in the box does."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from mimetic.testing import (
    AlgorithmContract,
    CommandContract,
    DataSourceContract,
    EnvWrapperContract,
    LoggerContract,
    LossContract,
    PolicyContract,
    RewardContract,
    discovered,
    fake_distribution,
)
from mimetic.testing.contracts.component import Contract
from mimetic.testing.contracts.suite import Verdict, outcomes

SOURCE = Path(__file__).resolve().parents[1] / "third_party" / "acme_mimetic" / "src"


class Algorithm(AlgorithmContract):
    name = "acme.full-batch"
    options = {"n_steps": 5}  # noqa: RUF012 - as an author writes it


class Policy(PolicyContract):
    name = "acme.linear"


class Loss(LossContract):
    name = "acme.focal"


class Source(DataSourceContract):
    name = "acme.csv"
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        (tmp_path / "drive.csv").write_text("episode,x,v,act\n0,0.5,-1.0,1\n0,0.25,2.0,0\n", encoding="utf-8")
        return {"path": "drive.csv"}

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([[0.5, -1.0], [0.25, 2.0]], np.float32), np.array([1, 0])


class Wrapper(EnvWrapperContract):
    name = "acme.scale"
    options = {"factor": 2.0}  # noqa: RUF012 - as an author writes it


class Logger(LoggerContract):
    name = "acme.lines"


class Reward(RewardContract):
    name = "acme.centred"


class Command(CommandContract):
    name = "acme-hello"
    argv = ("you",)


@pytest.fixture(scope="module")
def _acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    files = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    site = fake_distribution(tmp_path_factory.mktemp("site"), "acme-mimetic", "1.2.0", files=files)
    with discovered(site, alone=False):
        yield


@pytest.mark.usefixtures("_acme")
@pytest.mark.parametrize("suite", [Algorithm, Policy, Loss, Source, Wrapper, Logger, Reward, Command])
def test_a_component_of_somebody_else_keeps_its_contract(suite: type[Contract]) -> None:
    assert [each for each in outcomes(suite) if each.verdict == Verdict.FAILS] == []
