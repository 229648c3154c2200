"""How is a policy kept on disk? Weights and statistics, and what rebuilds everything around them.

A policy file names the component that built the policy, its config, the spaces and the environment. Nothing in it is
ever run: a file from anywhere is read as numbers and settings, and the settings are validated like a run file's.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from stable_baselines3.common.utils import get_device

from mimetic.config import Choice, ComponentConfig
from mimetic.errors import (
    ConfigError,
    DataError,
    MimeticError,
    TargetExistsError,
    UnknownComponentError,
    UntrustedFileError,
)
from mimetic.hookspecs import PolicyContext
from mimetic.plugins import registry
from mimetic.policies.origins import PolicyOrigin, build_policy, origin_of, remember_origin
from mimetic.policies.sb3_policies import describe_sb3_policy
from mimetic.spaces import space_from_json, space_to_json
from mimetic.storage.safetensors_file import read_document, read_safetensors, require_format, write_safetensors

if TYPE_CHECKING:
    import gymnasium as gym
    import numpy as np

KIND, VERSION = "policy", 1
FILE_NAME = "policy.safetensors"
"""What a run's folder calls its policy."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicyFile:
    """What a policy file says, without its weights."""

    path: Path
    name: str  # of the policy component
    config: Mapping[str, Any]
    distribution: str  # that offered the component
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    env: Mapping[str, Any] | None  # id, kwargs, max_episode_steps and wrappers, as in a run file
    ties: Mapping[str, str]  # tensors that are the same one: name -> the name that it is stored under


# --- saving -----------------------------------------------------------------------------------------------------


def save_policy(
    policy: Any,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    env: ComponentConfig | Mapping[str, Any] | None = None,
) -> None:
    """Write a policy file: complete, or not at all. Equal policies give equal bytes.

    Args:
        policy: built by a component, or one of stable-baselines3's own actor-critic policies.
        path: where to; ``policy.safetensors`` in a run's folder.
        overwrite: replace a file that is there.
        env: what the policy acts in: the `env` section of a run file.

    Raises:
        ConfigError: nothing is known that would rebuild the policy; the message says why.
        TargetExistsError: something is there, and ``overwrite`` is false.
    """
    path = Path(path)
    if path.is_dir() or (not overwrite and os.path.lexists(path)):
        what = "is a folder" if path.is_dir() else "exists already"
        raise TargetExistsError(f"{path} {what}, and nothing was written; choose another path or overwrite a file")
    _require_weights(policy)
    origin = origin_of(policy) or describe_sb3_policy(policy)
    arrays, ties = _without_ties(_state(policy))
    _require_rebuildable(policy, origin)
    document = {
        "kind": KIND,
        "version": VERSION,
        "name": origin.name,
        "config": dict(origin.config),
        "distribution": registry().find("policy", origin.name).distribution,
        "observation_space": space_to_json(policy.observation_space),
        "action_space": space_to_json(policy.action_space),
        "env": None if env is None else _plain_env(env),
        "ties": ties,
    }
    write_safetensors(path, arrays, document, overwrite=overwrite)


def _require_weights(policy: object) -> None:
    if not isinstance(policy, torch.nn.Module):
        raise ConfigError(f"a {type(policy).__name__} has no weights, so there is nothing to save as a policy file")


def _state(policy: torch.nn.Module) -> dict[str, torch.Tensor]:
    state = {}
    for name, value in policy.state_dict().items():
        if not isinstance(value, torch.Tensor):
            raise ConfigError(f"the policy's state {name!r} is a {type(value).__name__}; only tensors can be saved")
        if value.dtype == torch.bfloat16:
            raise ConfigError(
                f"the policy's {name!r} is bfloat16, which the file does not keep; call policy.float() first"
            )
        state[name] = value.detach().cpu()
    return state


def _without_ties(state: Mapping[str, torch.Tensor]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Store a tensor that several names share under the first of them."""
    arrays: dict[str, np.ndarray] = {}
    ties: dict[str, str] = {}
    first: dict[tuple[object, ...], str] = {}
    for name in sorted(state):
        tensor = state[name]
        place = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
        if tensor.numel() and place in first:
            ties[name] = first[place]
        else:
            first[place] = name
            arrays[name] = tensor.numpy()
    return arrays, ties


def _require_rebuildable(policy: Any, origin: PolicyOrigin) -> None:
    """Refuse to write a file that could not be read again: a layer was added, or another policy is meant."""
    try:
        twin = _build(origin, policy.observation_space, policy.action_space, torch.device("cpu"), 0)
    except MimeticError as error:
        raise ConfigError(
            f"the policy cannot be saved, since policy {origin.name!r} cannot be built: {error}"
        ) from error
    mine, other = _shapes(policy), _shapes(twin)
    if mine != other:
        names = sorted(name for name in {*mine, *other} if mine.get(name) != other.get(name))
        raise ConfigError(
            f"the policy cannot be saved: policy {origin.name!r} with its config has other weights than it "
            f"({', '.join(names[:3])}{', ...' if len(names) > 3 else ''}); build it from a component that has these"
        )


def _shapes(policy: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in policy.state_dict().items()}


def _plain_env(env: ComponentConfig | Mapping[str, Any]) -> dict[str, Any]:
    plain = env.model_dump(mode="json") if isinstance(env, ComponentConfig) else dict(env)
    wrappers = plain.get("wrappers") or ()
    return {
        "id": plain["id"],
        "kwargs": plain.get("kwargs") or {},
        "max_episode_steps": plain.get("max_episode_steps"),
        "wrappers": [choice.as_dict() if isinstance(choice, Choice) else choice for choice in wrappers],
    }


# --- loading ----------------------------------------------------------------------------------------------------


def load_policy(path: str | os.PathLike[str], device: torch.device | str = "auto") -> Any:
    """Rebuild a policy from its file (or its run's folder), ready to act; its weights are bit-equal to the saved.

    Raises:
        DataError: there is no such file, it is damaged, of another kind, or from a newer version.
        UnknownComponentError: the plugin that offers the policy is not installed; names it.
    """
    file = read_policy_file(path)
    origin = PolicyOrigin(file.name, file.config)
    try:
        policy = _build(origin, file.observation_space, file.action_space, get_device(device), 0)
    except UnknownComponentError as error:
        raise UnknownComponentError(
            f"{file.path}: made by policy {file.name!r} of the distribution {file.distribution!r}: {error}"
        ) from error
    except ConfigError as error:
        raise DataError(f"{file.path}: policy {file.name!r} no longer takes its config: {error}") from error
    if not isinstance(policy, torch.nn.Module):
        raise DataError(f"{file.path}: policy {file.name!r} builds a {type(policy).__name__}, which takes no weights")
    _fill(policy, file)
    policy.eval()
    remember_origin(policy, origin)
    return policy


def read_policy_file(path: str | os.PathLike[str]) -> PolicyFile:
    """Read what a policy file says, without its weights. Raises as ``load_policy``."""
    path = _policy_path(path)
    document = _read_document(path)
    require_format(path, document, KIND, VERSION)
    try:
        return PolicyFile(
            path=path,
            name=document["name"],
            config=document["config"],
            distribution=document["distribution"],
            observation_space=space_from_json(document["observation_space"]),
            action_space=space_from_json(document["action_space"]),
            env=document["env"],
            ties=document["ties"],
        )
    except KeyError as error:
        raise DataError(f"{path}: its description has no {error}; expected what `save_policy` writes") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _policy_path(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / FILE_NAME).is_file():
        raise DataError(f"{path}: a folder without {FILE_NAME}; expected a policy file or the folder of a run")
    return path / FILE_NAME


def _read_document(path: Path) -> Mapping[str, Any]:
    try:
        return read_document(path)
    except DataError as error:
        names = _zip_names(path)
        if "policy.pth" in names:
            raise DataError(
                f"{path}: a stable-baselines3 zip; expected a policy that mimetic saved. The policy component that "
                f"reads such zips takes it: sb3:path={path}"
            ) from error
        if any(name.endswith("data.pkl") for name in names):
            raise UntrustedFileError(
                f"{path}: written by torch.save, which holds a pickle that could run code; nothing in it was run. "
                "Expected a policy that mimetic saved: load it where you trust it and save it with mimetic.save_policy"
            ) from error
        raise


def _zip_names(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return []


def _build(
    origin: PolicyOrigin,
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    device: torch.device,
    seed: int,
) -> Any:
    config = registry().make_config("policy", origin.name, origin.config)
    context = PolicyContext(
        observation_space=observation_space, action_space=action_space, device=device, seed=seed, base_dir=Path.cwd()
    )
    return build_policy(Choice("policy", origin.name, config), context)


def _fill(policy: torch.nn.Module, file: PolicyFile) -> None:
    arrays = read_safetensors(file.path).arrays
    try:
        state = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        state |= {name: state[stored] for name, stored in file.ties.items()}
        policy.load_state_dict(state)
    except (KeyError, RuntimeError) as error:
        raise DataError(f"{file.path}: its weights do not fit policy {file.name!r} with its config: {error}") from error
    for name, stored in file.ties.items():
        _tie(policy, name, stored)


def _tie(policy: torch.nn.Module, name: str, stored: str) -> None:
    """Make one tensor of two that were one when the policy was saved."""
    module, _, leaf = name.rpartition(".")
    other, _, other_leaf = stored.rpartition(".")
    tensor = getattr(policy.get_submodule(other), other_leaf)
    if getattr(policy.get_submodule(module), leaf) is not tensor:
        setattr(policy.get_submodule(module), leaf, tensor)
