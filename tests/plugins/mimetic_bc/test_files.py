"""Saving and reconstructing a trained policy, under the reference's names."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from cloning import OBS, TWO, sign_demonstrations, silent, weights_of
from mimetic.errors import DataError, TargetExistsError
from mimetic_bc import BC, reconstruct_policy, save_policy


@pytest.fixture
def trained() -> BC:
    bc = BC(
        observation_space=OBS,
        action_space=TWO,
        rng=np.random.default_rng(0),
        demonstrations=sign_demonstrations(64),
        custom_logger=silent(),
    )
    bc.train(n_batches=1)
    return bc


def test_a_saved_policy_comes_back_bit_for_bit_in_a_fresh_process(trained: BC, tmp_path: Path) -> None:
    path, answers = tmp_path / "policy.safetensors", tmp_path / "acts.npy"
    obs = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    np.save(tmp_path / "obs.npy", obs)

    save_policy(trained.policy, path)
    code = (
        "import numpy as np; from mimetic_bc import reconstruct_policy\n"
        f"policy = reconstruct_policy({str(path)!r}, 'cpu'); obs = np.load({str(tmp_path / 'obs.npy')!r})\n"
        f"np.save({str(answers)!r}, policy.predict(obs, deterministic=True)[0])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

    assert np.array_equal(np.load(answers), trained.policy.predict(obs, deterministic=True)[0])
    assert weights_of(reconstruct_policy(str(path), "cpu")) == weights_of(trained.policy)


def test_saving_over_a_file_has_to_be_asked_for(trained: BC, tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    save_policy(trained.policy, path)

    with pytest.raises(TargetExistsError, match=r"policy\.safetensors"):
        save_policy(trained.policy, path)

    save_policy(trained.policy, path, overwrite=True)


def test_a_pickled_policy_is_refused_and_not_executed(trained: BC, tmp_path: Path) -> None:
    path = tmp_path / "policy.pt"
    torch.save(trained.policy, path)

    with pytest.raises(DataError, match=r"policy\.pt"):
        reconstruct_policy(path)
