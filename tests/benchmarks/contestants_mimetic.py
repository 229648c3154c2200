"""mimetic, as its user calls it: ``BC.train``, and a run file."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cases import columns_of, data_of, pieces_of, spaces_of
from foreign import ForeignPolicy

from mimetic import load_demonstrations, save_demonstrations
from mimetic.logs import HierarchicalLogger, configure
from mimetic.run import execute
from mimetic.types import Trajectory, TransitionsMinimal
from mimetic_bc import BC

torch.set_num_threads(1)


def trainer(engine: str, precision: str = "auto") -> Callable[[dict[str, Any]], Callable[[int], None]]:
    """Clone by ``BC.train``, logging every 500 batches, with the progress bar on."""

    def train(case: dict[str, Any]) -> Callable[[int], None]:
        obs_space, action_space = spaces_of(case)
        obs, acts = data_of(case)
        policy: Any = {"cnn": "cnn", "foreign": None}.get(case["policy"], f"mlp:net_arch={case['widths']}")
        if policy is None:
            policy = ForeignPolicy(obs_space, action_space, lambda _: 1e-3, net_arch=case["widths"])
        bc = BC(
            observation_space=obs_space,
            action_space=action_space,
            rng=np.random.default_rng(0),
            policy=policy,
            demonstrations=TransitionsMinimal(obs, acts),
            batch_size=case["batch"],
            device=case.get("device", "cpu"),
            custom_logger=configure(tempfile.mkdtemp(), ["stdout", "csv"]),
            engine=engine,
            precision=precision,
        )
        return lambda n: bc.train(n_batches=n)

    return train


def episodes_of(obs: np.ndarray, acts: np.ndarray, n: int = 20) -> list[Trajectory]:
    """Cut rows into ``n`` episodes."""
    size = len(acts) // n
    starts = range(0, len(acts) - size + 1, size)
    return [
        Trajectory(np.resize(obs[i : i + size], (size + 1, *obs.shape[1:])), acts[i : i + size], None, True)
        for i in starts
    ]


def run_file(case: dict[str, Any]) -> Callable[[int], None]:
    """Execute a run file whole: read and check the data, build, train, save. Only the imports were done before."""
    folder = Path(tempfile.mkdtemp())
    obs_space, action_space = spaces_of(case)
    obs, acts = data_of(case)
    data = folder / "data.safetensors"
    save_demonstrations(episodes_of(obs, acts), data, observation_space=obs_space, action_space=action_space)
    policy = {"name": "cnn"} if case["policy"] == "cnn" else {"name": "mlp", "net_arch": case["widths"]}

    def run(n: int) -> None:
        config = {
            "name": "speed",
            "demonstrations": [{"name": "native", "path": str(data)}],
            "policy": policy,
            "algorithm": {"name": "bc", "n_batches": n, "batch_size": case["batch"]},
        }
        execute(config, out=folder / "run")
        shutil.rmtree(folder / "run")

    return run


def ready(case: dict[str, Any]) -> Callable[[int], None]:
    """Take demonstrations, check them, and draw the first batch."""
    obs_space, action_space = spaces_of(case)
    bc = BC(
        observation_space=obs_space,
        action_space=action_space,
        rng=np.random.default_rng(0),
        device="cpu",
        custom_logger=HierarchicalLogger([]),
    )
    demonstrations: Any = columns_of(case)
    if case["source"] != "transitions":
        demonstrations = [Trajectory(obs, acts, None, True) for obs, acts in pieces_of(case)]
    file = Path(tempfile.mkdtemp()) / "data.safetensors"
    if case["source"] == "file":
        save_demonstrations(demonstrations, file, observation_space=obs_space, action_space=action_space)

    def run(n: int) -> None:
        for _ in range(n):
            bc.set_demonstrations(load_demonstrations(file) if file.exists() else demonstrations)
            assert bc._batches is not None
            next(iter(bc._batches.epoch(0)))

    return run


CONTESTANTS = {
    "auto": trainer("auto"),
    "autograd": trainer("autograd"),
    "full": trainer("autograd", "full"),
    "bfloat16": trainer("autograd", "bfloat16"),
    "run file": run_file,
    "ready": ready,
}
