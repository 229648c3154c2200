"""The platform's save and load of policies, under the reference's names."""

import os
from pathlib import Path

import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.errors import DataError
from mimetic.storage import load_policy, save_policy as save_policy_file


def save_policy(policy: ActorCriticPolicy, policy_path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a policy file.

    Raises:
        TargetExistsError: something is there already, and ``overwrite`` is false.
    """
    save_policy_file(policy, Path(policy_path), overwrite=overwrite)


def reconstruct_policy(policy_path: str | os.PathLike[str], device: torch.device | str = "auto") -> ActorCriticPolicy:
    """Read a policy file back: the weights bit for bit, and nothing in it is executed.

    Raises:
        DataError: the file holds no policy, or one that is no ActorCriticPolicy.
    """
    policy = load_policy(Path(policy_path), device=device)
    if not isinstance(policy, ActorCriticPolicy):
        raise DataError(f"{policy_path}: holds a {type(policy).__name__}; expected an ActorCriticPolicy")
    return policy
