"""The facts of every policy hold for those from elsewhere too."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium import spaces

from mimetic.testing import PolicyContract
from sb3_zips import ACTS, CHOICES, OBS, saved


class TestZip(PolicyContract):
    name = "sb3"
    observation_spaces = (OBS,)
    action_spaces = (ACTS,)

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        saved(tmp_path / "agent.zip")
        return {"path": "agent.zip"}


class TestSac(PolicyContract):
    name = "sb3-network"
    options: ClassVar[Mapping[str, object]] = {"kind": "sac", "net_arch": {"pi": [8]}, "vecnormalize": {}}
    observation_spaces: ClassVar[tuple[spaces.Space[Any], ...]] = (OBS, spaces.Box(-1, 1, (2, 2), np.float64))
    action_spaces: ClassVar[tuple[spaces.Space[Any], ...]] = (ACTS,)


class TestNoisySac(TestSac):
    options: ClassVar[Mapping[str, object]] = {"kind": "sac", "use_sde": True}


class TestTd3(TestSac):
    options: ClassVar[Mapping[str, object]] = {"kind": "td3"}


class TestDqn(TestSac):
    options: ClassVar[Mapping[str, object]] = {"kind": "dqn", "exploration_rate": 0.5}
    action_spaces = (CHOICES,)


class TestNormalizedActorCritic(TestSac):
    options: ClassVar[Mapping[str, object]] = {
        "kind": "actor-critic",
        "features": "combined",
        "vecnormalize": {"keys": ["a"]},
    }
    observation_spaces = (spaces.Dict({"a": OBS, "b": spaces.Discrete(3)}),)
    action_spaces = (ACTS, CHOICES)


@pytest.mark.usefixtures("_sb3_contrib")
class TestRecurrent(TestSac):
    options: ClassVar[Mapping[str, object]] = {"kind": "recurrent-ppo", "lstm": {"hidden_size": 8}}
    action_spaces = (ACTS, CHOICES)


@pytest.mark.usefixtures("_sb3_contrib")
class TestQrDqn(TestSac):
    options: ClassVar[Mapping[str, object]] = {"kind": "qr-dqn", "n_quantiles": 5}
    action_spaces = (CHOICES,)


@pytest.fixture
def _sb3_contrib() -> None:
    pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
