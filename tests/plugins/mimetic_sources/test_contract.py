"""The facts of every component that mimetic_sources offers."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from gymnasium import spaces

from mimetic.storage import save_demonstrations
from mimetic.testing import DataSourceContract
from mimetic.types import Trajectory

OBS = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)
ACTS = np.array([1, 0, 1, 1], dtype=np.int32)
OBSERVATION_SPACE = spaces.Box(0, 255, (2, 3), np.uint8)
ACTION_SPACE = spaces.Discrete(2)


class Pictures(DataSourceContract):
    """Sources that are given four steps over pictures of bytes."""

    observation_space = OBSERVATION_SPACE
    action_space = ACTION_SPACE

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        return OBS[:-1], ACTS


class TestNative(Pictures):
    name = "native"

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        trajectory = Trajectory(OBS, ACTS, None, terminal=True)
        save_demonstrations([trajectory], tmp_path / "set.safetensors")
        return {"path": "set.safetensors"}


class TestNpz(Pictures):
    name = "npz"

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        np.savez(tmp_path / "set.npz", obs=OBS[:-1], acts=ACTS)
        return {"path": "set.npz"}


class TestArrays(Pictures):
    name = "arrays"

    def settings(self, tmp_path: Path) -> Mapping[str, object]:
        np.savez(tmp_path / "set.npz", obs=OBS[:-1], acts=ACTS)
        text = (
            f"import numpy as np\n\nwith np.load({str(tmp_path / 'set.npz')!r}) as f:\n    PAIR = f['obs'], f['acts']\n"
        )
        (tmp_path / "data.py").write_text(text, encoding="utf-8")
        return {"path": "data.py:PAIR"}


class TestDemo(DataSourceContract):
    name = "demo"
