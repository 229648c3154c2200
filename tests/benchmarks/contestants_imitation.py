"""The reference library, as its user calls it: ``BC.train`` with its defaults."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cases import columns_of, data_of, pieces_of, spaces_of
from foreign import ForeignPolicy
from imitation.algorithms import bc
from imitation.data import serialize
from imitation.data.types import Trajectory, Transitions
from imitation.util import logger as imitation_logger
from stable_baselines3.common.policies import ActorCriticCnnPolicy, ActorCriticPolicy

torch.set_num_threads(1)


def train(case: dict[str, Any]) -> Callable[[int], None]:
    """Clone by ``BC.train``, logging every 500 batches, with the progress bar on."""
    obs_space, action_space = spaces_of(case)
    obs, acts = data_of(case)
    kinds = {"cnn": ActorCriticCnnPolicy, "foreign": ForeignPolicy}
    options = {} if case["policy"] == "cnn" else {"net_arch": case["widths"]}
    policy = kinds.get(case["policy"], ActorCriticPolicy)(obs_space, action_space, lambda _: 1e-3, **options)
    trainer = bc.BC(
        observation_space=obs_space,
        action_space=action_space,
        rng=np.random.default_rng(0),
        policy=policy,
        demonstrations=Transitions(
            obs=obs,
            acts=acts,
            infos=np.array([{}] * len(obs)),
            next_obs=obs,
            dones=np.zeros(len(obs), bool),
        ),
        batch_size=case["batch"],
        device=case.get("device", "cpu"),
        custom_logger=imitation_logger.configure(tempfile.mkdtemp(), ["stdout", "csv"]),
    )
    return lambda n: trainer.train(n_batches=n)


def ready(case: dict[str, Any]) -> Callable[[int], None]:
    """Take demonstrations and draw the first batch."""
    obs_space, action_space = spaces_of(case)
    trainer = bc.BC(
        observation_space=obs_space,
        action_space=action_space,
        rng=np.random.default_rng(0),
        device="cpu",
        custom_logger=imitation_logger.configure(tempfile.mkdtemp(), []),
    )
    folder = Path(tempfile.mkdtemp()) / "saved"
    if case["source"] != "transitions":
        demonstrations: Any = [Trajectory(obs=o, acts=a, infos=None, terminal=True) for o, a in pieces_of(case)]
    else:
        obs, acts = columns_of(case)
        infos, dones = np.array([{}] * len(obs)), np.zeros(len(obs), bool)
        demonstrations = Transitions(obs=obs, acts=acts, infos=infos, next_obs=obs, dones=dones)

    if case["source"] == "file":
        serialize.save(folder, demonstrations)

    def run(n: int) -> None:
        for _ in range(n):
            trainer.set_demonstrations(serialize.load(folder) if folder.exists() else demonstrations)
            next(iter(trainer._demo_data_loader))

    return run


CONTESTANTS = {"train": train, "ready": ready}
