"""How does a word on the command line become a policy?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stable_baselines3.common.utils import get_device

from mimetic.config import Choice, parse_choice
from mimetic.errors import ConfigError, UnknownComponentError
from mimetic.hookspecs import PolicyContext
from mimetic.policies.fit import require_fit
from mimetic.policies.origins import build_policy
from mimetic.storage.opening import file_kind
from mimetic.storage.policies import load_policy, read_policy_file

if TYPE_CHECKING:
    import gymnasium as gym
    import torch
    from stable_baselines3.common.vec_env import VecEnv

SUFFIX = ".safetensors"
"""How the platform's own files end."""


def open_policy(
    source: str | os.PathLike[str] | Choice,
    *,
    observation_space: gym.Space[Any] | None = None,
    action_space: gym.Space[Any] | None = None,
    device: torch.device | str = "auto",
    seed: int = 0,
    venv: VecEnv | None = None,
) -> Any:
    """Open what POLICY names: a run's folder, a policy file, a path whose ending belongs to a component, or a SPEC.

    Args:
        source: a path, or ``name:key=value,...`` of a policy, or that component as it was chosen. Relative paths
            start from the working folder.
        observation_space: of the environment; a policy file has its own, and it is compared with this one.
        action_space: likewise.
        device: where its weights are put.
        seed: what weights that are not loaded are drawn from.
        venv: what it will act in, for policies that look at more than observations.

    Raises:
        ConfigError: there is no such file and no such policy, or a policy needs spaces and none are known.
        DataError: the file is no policy.
        SpaceError: the policy was made for other spaces.
    """
    if isinstance(source, Choice):
        choice = source
    else:
        text = os.fspath(source)
        if os.path.isdir(text) or text.endswith(SUFFIX) or file_kind(text) is not None:
            policy = load_policy(text, device)
            require_fit(policy, observation_space, action_space, text)
            return policy
        choice = _choice(text)
    if observation_space is None or action_space is None:
        raise ConfigError(f"the policy {choice.name!r} needs to know the spaces that it acts in: name an environment")
    context = PolicyContext(
        observation_space=observation_space,
        action_space=action_space,
        device=get_device(device),
        seed=seed,
        base_dir=Path.cwd(),
        venv=venv,
    )
    return build_policy(choice, context)


def _choice(text: str) -> Choice:
    try:
        return parse_choice(text, "policy")
    except UnknownComponentError as error:
        if os.path.exists(text):
            read_policy_file(text)  # raises, and says what it is instead
        raise ConfigError(f"{text}: there is no such file or folder; and as a policy: {error}") from error
