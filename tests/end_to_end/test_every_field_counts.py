"""Every value that a run file can hold reaches what it configures.

The fields are read off the settings of whatever is in the box, and off the sections of a run file. Each is flipped to
another valid value, and what is built of it, or its first output, must differ. A new field fails here until a line in
one of the tables below says how it is flipped, and what it needs beside it to show.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from cloning import policy_for, silent, weights_of
from flip_worlds import Meter, demonstrations, episodes
from mimetic.config import Choice, ComponentConfig, EnvConfig, EvaluationConfig, RunConfig
from mimetic.config.slots import LossKeys
from mimetic.errors import MimeticError
from mimetic.evaluate import evaluate
from mimetic.hookspecs import (
    AlgorithmContext,
    DataSourceContext,
    LossContext,
    PolicyContext,
    RewardContext,
    WrapperContext,
)
from mimetic.losses import LossInputs, WeightedTerm
from mimetic.plugins import discover, registry
from mimetic.policies import as_actor, build_policy
from mimetic.run import execute
from mimetic.storage import save_demonstrations, save_policy
from mimetic.types import as_demonstrations, from_arrays

CPU = torch.device("cpu")
BOX = spaces.Box(-2, 2, (2,), np.float32)
IMAGE = spaces.Box(0, 255, (36, 36, 36), np.uint8)  # channels may be first or last


@dataclass(frozen=True)
class Flip:
    """Another valid value of a field, and the settings that it needs beside it."""

    value: Any
    beside: Mapping[str, Any] = field(default_factory=dict)


# --- the fields -------------------------------------------------------------------------------------------------


def fields_of(model: type[ComponentConfig], prefix: str = "") -> Iterator[str]:
    """Yield the keys of a model; of a section, the keys in it."""
    for name, info in model.model_fields.items():
        members = list(_members(info.annotation))
        sections = [kind for kind in members if issubclass(kind, ComponentConfig)]
        for section in sections:
            yield from fields_of(section, f"{prefix}{name}.")
        if not sections or float in members:  # a weight is a number or a schedule
            yield prefix + name


def _members(annotation: Any) -> Iterator[type]:
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_args(annotation) and get_origin(annotation) is not tuple:
        for member in get_args(annotation):
            yield from _members(member)
    elif isinstance(annotation, type):
        yield annotation


IN_THE_BOX = discover()
COMPONENTS = [
    (f"{component.kind}:{component.name}", name)
    for component in IN_THE_BOX.components()
    if component.distribution == "mimetic" and component.kind != "command"
    for name in fields_of(IN_THE_BOX.config_model(component))
]
SECTIONS = [*fields_of(RunConfig), *(f"losses.{name}" for name in fields_of(LossKeys))]


# --- how each is flipped ----------------------------------------------------------------------------------------

_HEAD = {
    "net_arch": Flip([5]),
    "vf_arch": Flip([5], {"net_arch": [4]}),
    "activation": Flip("relu", {"net_arch": [4]}),
    "ortho_init": Flip(False),
    "log_std_init": Flip(1.0),
    "squash_output": Flip(True),
    "use_sde": Flip(True),
}
_IMAGES = {"features_dim": Flip(8), "layout": Flip("chw"), "normalize_images": Flip(False)}
_SELECTION = {"min_return": Flip(5), "n_trajectories": Flip(1), "max_steps": Flip(2)}
_SDE = {"use_sde": True}
_CNN = {"features": "nature-cnn"}
_RECURRENT = {"kind": "recurrent-ppo", "lstm": {"hidden_size": 4}}
_NORMAL: Mapping[str, Any] = {"vecnormalize": {}}

NEEDED: Mapping[str, Mapping[str, Any]] = {
    "policy:cnn": {"layout": "hwc", "features_dim": 4},
    "policy:multi-input": {"layout": "hwc", "features_dim": 4},
    "policy:file": {"path": "one.safetensors"},
    "policy:function": {"path": "flip_worlds:always_zero"},
    "policy:human": {"keys": {"left": 0, "right": 1}},
    "policy:sb3": {"path": "one.zip"},
    "policy:sb3-network": {"kind": "actor-critic"},
    "data-source:arrays": {"path": "flip_worlds:episodes"},
    "data-source:native": {"path": "episodes.safetensors"},
    "data-source:npz": {"path": "episodes.npz"},
    "wrapper:epsilon-greedy": {"epsilon": 0.5},
    "wrapper:gaussian": {"sigma": 0.5},
    "wrapper:gymnasium": {"class": "FlattenObservation"},
    "wrapper:switching": {"random_prob": 0.5, "switch_prob": 0.5},
    "reward:function": {"path": "flip_worlds:reward_one"},
    "algorithm:bc": {"n_epochs": 2, "batch_size": 8},
}

FLIPS: Mapping[str, Mapping[str, Flip]] = {
    "policy:mlp": {**_HEAD, "normalize_obs": Flip(True)},
    "policy:cnn": {**_HEAD, **_IMAGES},
    "policy:multi-input": {**_HEAD, **_IMAGES, "normalize_obs": Flip(True)},
    "policy:actor-critic": {
        "features": Flip("nature-cnn"),
        "features_dim": Flip(8, _CNN),
        "net_arch.pi": Flip([5]),
        "net_arch.vf": Flip([5]),
        "activation": Flip("relu"),
        "ortho_init": Flip(False),
        "log_std_init": Flip(1.0),
        "use_sde": Flip(True),
        "full_std": Flip(False, _SDE),
        "use_expln": Flip(True, {**_SDE, "log_std_init": 0.5}),
        "squash_output": Flip(True, _SDE),
        "share_features_extractor": Flip(False, _CNN),
        "normalize_images": Flip(False, _CNN),
    },
    "policy:file": {"path": Flip("two.safetensors")},
    "policy:function": {
        "path": Flip("flip_worlds:always_one"),
        "call": Flip("batch", {"call": "single"}),
        "stochastic": Flip(True),
    },
    "policy:sb3": {"path": Flip("two.zip"), "vecnormalize": Flip("statistics.pkl")},
    "policy:sb3-network": {
        "kind": Flip("td3"),
        "net_arch.pi": Flip([5]),
        "net_arch.vf": Flip([5]),
        "activation": Flip("relu"),
        "features": Flip("nature-cnn"),
        "features_dim": Flip(8, _CNN),
        "normalize_images": Flip(False, _CNN),
        "share_features_extractor": Flip(False, _CNN),
        "use_sde": Flip(True),
        "full_std": Flip(False, _SDE),
        "use_expln": Flip(True, _SDE),
        "squash_output": Flip(True, _SDE),
        "clip_mean": Flip(1e-3, {**_SDE, "kind": "sac"}),
        "exploration_rate": Flip(1.0, {"kind": "dqn"}),
        "n_quantiles": Flip(3, {"kind": "qr-dqn"}),
        "lstm.hidden_size": Flip(5, _RECURRENT),
        "lstm.n_layers": Flip(2, _RECURRENT),
        "lstm.critic": Flip("linear", _RECURRENT),
        "vecnormalize.clip_obs": Flip(0.1, _NORMAL),
        "vecnormalize.epsilon": Flip(1e4, _NORMAL),
        "vecnormalize.keys": Flip(["image"], _NORMAL),
    },
    "policy:human": {"keys": Flip({"left": 1, "right": 0}), "fps": Flip(5.0)},
    "loss:huber": {"delta": Flip(0.1)},
    "loss:cross-entropy": {"label_smoothing": Flip(0.3)},
    "data-source:arrays": {**_SELECTION, "path": Flip("flip_worlds:demonstrations")},
    "data-source:demo": {"min_return": Flip(501), "n_trajectories": Flip(1), "max_steps": Flip(2)},
    "data-source:native": {**_SELECTION, "path": Flip("others.safetensors")},
    "data-source:npz": {
        **_SELECTION,
        "path": Flip("others.npz"),
        "columns": Flip({"acts": "rews"}),
        "horizon": Flip(5),
        "trust": Flip(True, {"path": "pickled.npz"}),
    },
    "wrapper:epsilon-greedy": {"epsilon": Flip(0.1)},
    "wrapper:gaussian": {"sigma": Flip(0.1)},
    "wrapper:gymnasium": {
        "class": Flip("DtypeObservation", {"class": "TimeAwareObservation"}),
        "kwargs": Flip({"max_episode_steps": 3}, {"class": "TimeLimit", "kwargs": {"max_episode_steps": 2}}),
    },
    "wrapper:render": {"fps": Flip(5)},
    "wrapper:switching": {
        "random_prob": Flip(0.1),
        "switch_prob": Flip(0.1),
        "shared_switch": Flip(True),
    },
    "wrapper:video": {
        "mode": Flip("episodes"),
        "format": Flip("gif"),
        "preset": Flip("ultrafast"),
        "caption": Flip(True),
    },
    "reward:function": {"path": Flip("flip_worlds:reward_two")},
    "algorithm:bc": {
        "n_epochs": Flip(3),
        "n_batches": Flip(3, {"n_epochs": None, "n_batches": 2}),
        "batch_size": Flip(16),
        "minibatch_size": Flip(2),
        "optimizer.name": Flip("sgd"),
        "optimizer.lr": Flip(1e-2),
        "optimizer.betas": Flip([0.5, 0.9]),
        "optimizer.eps": Flip(0.1),
        "optimizer.momentum": Flip(0.9, {"optimizer": {"name": "sgd"}}),
        "optimizer.nesterov": Flip(True, {"optimizer": {"name": "sgd", "momentum": 0.9}}),
        "optimizer.alpha": Flip(0.5, {"optimizer": {"name": "rmsprop"}}),
        "optimizer.weight_decay": Flip(0.5, {"optimizer": {"name": "adamw"}}),
        "lr_schedule": Flip("linear"),
        "max_grad_norm": Flip(1e-3),
        "drop_last": Flip(True),
        "log_interval": Flip(1),
        "engine": Flip("autograd"),
        "precision": Flip("bfloat16", {"engine": "autograd"}),
        "cuda_graphs": Flip(False, {"engine": "autograd"}),
    },
}

_EVALUATED = {"evaluation": {"n_episodes": 2}}
_SCHEDULE = {"losses": ["nll", {"name": "l2", "weight": {"schedule": "linear", "start": 1.0, "end": 0.1}}]}

SECTION_FLIPS: Mapping[str, Flip] = {
    "name": Flip("other"),
    "seed": Flip(1),
    "device": Flip("cuda:99"),
    "threads": Flip(2),
    "plugins": Flip(["not-installed-anywhere>=1.2"]),
    "env.id": Flip("flip_worlds:mimetic-tests/ShortMeter-v0", _EVALUATED),
    "env.kwargs": Flip({"n": 6}, _EVALUATED),
    "env.max_episode_steps": Flip(2, _EVALUATED),
    "env.wrappers": Flip([{"name": "gymnasium", "class": "TimeLimit", "kwargs": {"max_episode_steps": 2}}], _EVALUATED),
    "demonstrations": Flip([{"name": "arrays", "path": "flip_worlds:other_demonstrations"}]),
    "policy": Flip({"name": "mlp", "net_arch": [3]}),
    "algorithm": Flip({"name": "bc", "n_batches": 2, "batch_size": 8}),
    "losses": Flip([{"name": "nll"}]),
    "losses.weight": Flip(0.5),
    "losses.weight.schedule": Flip("cosine", _SCHEDULE),
    "losses.weight.start": Flip(0.7, _SCHEDULE),
    "losses.weight.end": Flip(0.7, _SCHEDULE),
    "losses.id": Flip("mine"),
    "evaluation.n_episodes": Flip(3),
    "evaluation.n_timesteps": Flip(9),
    "evaluation.seed": Flip(1),
    "evaluation.n_envs": Flip(2),
    "evaluation.deterministic": Flip(False),
    "evaluation.every_n_epochs": Flip(1, {"algorithm": {"n_epochs": 2}}),
    "evaluation.max_steps": Flip(2),
    "evaluation.processes": Flip(True, {"env": {"kwargs": {"measure": "process"}}}),
    "evaluation.vectorization": Flip("native"),
    "evaluation.videos": Flip("one"),
    "evaluation.render": Flip(True, {"env": {"kwargs": {"measure": "renders"}}}),
    "evaluation.render_fps": Flip(
        5.0, {"env": {"kwargs": {"n": 2, "measure": "slow steps"}}, "evaluation": {"render": True, "render_fps": 0.0}}
    ),
    "evaluation.save_rollouts": Flip("rollouts.safetensors"),
    "evaluation.reward": Flip("zero"),
    "evaluation.explore": Flip({"name": "epsilon-greedy", "epsilon": 1.0}),
    "evaluation.wrappers": Flip([{"name": "gymnasium", "class": "TimeLimit", "kwargs": {"max_episode_steps": 2}}]),
    "loggers": Flip(["jsonl", "csv"]),
}


# --- what is seen of a component --------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def _files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Write the files that settings name, and work beside them."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SDL_VIDEODRIVER", "dummy")
        made = from_arrays(episodes=episodes())
        save_demonstrations(made.data, "episodes.safetensors")
        save_demonstrations(from_arrays(episodes=episodes()[:2]).data, "others.safetensors")
        columns: dict[str, Any] = {
            "obs": np.concatenate([each["obs"] for each in episodes()]),
            "acts": np.concatenate([each["acts"] for each in episodes()]),
            "rews": np.concatenate([each["rews"] for each in episodes()]),
            "episode_ends": np.cumsum([len(each["acts"]) for each in episodes()]),
            "terminals": np.ones(4, bool),
        }
        np.savez("episodes.npz", **columns)
        np.savez("others.npz", **{**columns, "acts": 1 - columns["acts"]})
        np.savez("pickled.npz", **{**columns, "infos": np.array([{"step": step} for step in range(18)])})
        for seed, name in enumerate(("one", "two")):
            save_policy(build_policy("mlp", policy_context(BOX, spaces.Discrete(2), seed)), f"{name}.safetensors")
            PPO("MlpPolicy", Meter(), seed=seed, device="cpu").save(f"{name}.zip")
        VecNormalize(DummyVecEnv([Meter])).save("statistics.pkl")
        yield


def spaces_for(name: str) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
    """Return the spaces of observations and actions in which all of a policy's settings show."""
    if name == "multi-input":
        return spaces.Dict({"image": IMAGE, "vector": BOX}), BOX
    if name in ("file", "function", "sb3"):
        return BOX, spaces.Discrete(2)
    return (IMAGE if name in ("cnn", "actor-critic", "sb3-network") else BOX), BOX


def policy_context(obs_space: spaces.Space[Any], action_space: spaces.Space[Any], seed: int = 3) -> PolicyContext:
    return PolicyContext(
        observation_space=obs_space, action_space=action_space, device=CPU, seed=seed, base_dir=Path.cwd()
    )


def policy_seen(name: str, config: ComponentConfig) -> Any:
    if name == "human":
        return _human_seen(config)
    obs_space, action_space = spaces_for(name)
    if getattr(config, "kind", "") in ("dqn", "qr-dqn"):
        action_space = spaces.Discrete(2)
    policy = registry().build("policy", name, config, policy_context(obs_space, action_space))
    obs_space.seed(0)
    action_space.seed(0)
    if not isinstance(policy, torch.nn.Module):
        actor = as_actor(policy, observation_space=BOX, action_space=action_space, n_envs=2, deterministic=True)
        return actor.seeded, actor(np.zeros((2, 2), np.float32), None, np.ones(2, bool))[0].tolist()
    module: Any = policy
    if not isinstance(module, ActorCriticPolicy):
        return acting_seen(module, obs_space.sample())
    obs, _ = module.obs_to_tensor(obs_space.sample())
    with torch.no_grad():
        torch.manual_seed(0)
        if getattr(module, "use_sde", False):
            module.reset_noise()
        outputs = module.evaluate_actions(obs, torch.as_tensor(np.asarray(action_space.sample()))[None])
    weights = {name: (tuple(each.shape), each.numpy().tobytes()) for name, each in module.state_dict().items()}
    return weights, [name for name, _ in module.named_modules()], [None if o is None else o.tolist() for o in outputs]


def acting_seen(module: Any, obs: Any) -> Any:
    """Return what is seen of a policy that acts and is not trained, with deviations above one."""
    weights = {name: (tuple(each.shape), each.numpy().tobytes()) for name, each in module.state_dict().items()}
    with torch.no_grad():
        for name, weight in module.named_parameters():
            weight.add_(0.5 if "log_std" in name else 0.0)
    torch.manual_seed(0)
    acts = [module.predict(obs, deterministic=step == 0)[0].tolist() for step in range(20)]
    return weights, [type(each).__name__ for each in module.modules()], acts


def _human_seen(config: ComponentConfig) -> Any:
    import pygame

    venv = DummyVecEnv([lambda: Meter(render_mode="rgb_array")])
    window = registry().build("wrapper", "render", {"fps": 60}, _around(venv))
    context = replace(policy_context(venv.observation_space, venv.action_space), venv=window)
    try:
        actor = registry().build("policy", "human", config, context)
        window.reset()
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_RIGHT, unicode=""))
        return window.fps, actor(None, None, np.ones(1, bool))[0].tolist()
    finally:
        window.close()


def loss_seen(name: str, config: ComponentConfig) -> Any:
    action_space: spaces.Space[Any] = spaces.Discrete(3) if name == "cross-entropy" else BOX
    term = registry().build("loss", name, config, LossContext(action_space=action_space, device=CPU))
    acts = torch.zeros(6, dtype=torch.int64) if name == "cross-entropy" else torch.ones(6, 2)
    return term(LossInputs(policy_for(action_space, BOX), torch.ones(6, 2), acts)).item()


def source_seen(name: str, config: ComponentConfig) -> Any:
    context = DataSourceContext(observation_space=None, action_space=None, base_dir=Path.cwd())
    return as_demonstrations(registry().build("data-source", name, config, context)).fingerprint()


def wrapper_seen(name: str, config: ComponentConfig) -> Any:
    return _WRAPPERS[name](name, config)


def _gymnasium_seen(name: str, config: ComponentConfig) -> Any:
    env = registry().build("wrapper", name, config, _around(Meter()))
    kinds, inner = [], env
    while isinstance(inner, gym.Wrapper):
        kinds.append(type(inner).__name__)
        inner = inner.env
    env.reset(seed=0)
    return kinds, [env.step(0)[2:4] for _ in range(4)]


def _video_seen(name: str, config: ComponentConfig) -> Any:
    out = Path("films") / str(len(list(Path.cwd().glob("films/*"))))
    out.mkdir(parents=True)
    settings = EvaluationConfig(n_episodes=2, videos=Choice("wrapper", "video", config))
    evaluate(None, EnvConfig(id="mimetic-tests/Meter-v0"), settings, seed=0, out=out)
    films = sorted(path for path in out.rglob("*") if path.suffix in (".mp4", ".gif"))
    return {str(path.relative_to(out)): path.read_bytes() for path in films}


def _render_seen(name: str, config: ComponentConfig) -> Any:
    venv = DummyVecEnv([lambda: Meter(render_mode="rgb_array")])
    window = registry().build("wrapper", name, config, _around(venv))
    window.close()
    return window.fps


def _exploration_seen(name: str, config: ComponentConfig) -> Any:
    action_space = BOX if name == "gaussian" else spaces.Discrete(2)

    def still(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        return np.zeros((2, *action_space.shape), action_space.dtype), state  # type: ignore[misc]  # both have a shape

    inner = as_actor(still, observation_space=BOX, action_space=action_space, n_envs=2, deterministic=True)
    actor = registry().build("wrapper", name, config, _around(inner, action_space))
    for index in range(2):
        actor.begin_episode(index, index)
    obs, start = np.zeros((2, 2), np.float32), np.ones(2, bool)
    return [actor(obs, None, start if step == 0 else ~start)[0].tolist() for step in range(60)]


_WRAPPERS: Mapping[str, Callable[[str, ComponentConfig], Any]] = {
    "gymnasium": _gymnasium_seen,
    "video": _video_seen,
    "render": _render_seen,
    "switching": _exploration_seen,
    "epsilon-greedy": _exploration_seen,
    "gaussian": _exploration_seen,
}


def _around(wrapped: Any, action_space: spaces.Space[Any] | None = None) -> WrapperContext:
    return WrapperContext(
        wrapped=wrapped,
        env_index=0,
        seed=0,
        observation_space=BOX,
        action_space=action_space or spaces.Discrete(2),
        n_envs=getattr(wrapped, "num_envs", 2),
    )


def reward_seen(name: str, config: ComponentConfig) -> Any:
    context = RewardContext(observation_space=BOX, action_space=spaces.Discrete(2), base_dir=Path.cwd())
    reward = registry().build("reward", name, config, context)
    return reward(np.zeros((3, 2)), np.zeros(3, int), np.zeros((3, 2)), np.zeros(3, bool)).tolist()


def algorithm_seen(name: str, config: ComponentConfig) -> Any:
    policy = policy_for(spaces.Discrete(2), BOX)
    nll = registry().build("loss", "nll", {}, LossContext(action_space=spaces.Discrete(2), device=CPU))
    trainer = registry().build(
        "algorithm",
        name,
        config,
        AlgorithmContext(
            policy=policy,
            losses=(WeightedTerm("nll", 1.0, nll),),
            demonstrations=as_demonstrations(demonstrations()),
            seed=0,
            device=CPU,
            logger=silent(),
        ),
    )
    reports = [(each.step, each.epoch, each.samples, dict(each.values), each.epoch_ended) for each in trainer.train()]
    return dict(trainer.facts), reports, weights_of(policy)


_SEEN: Mapping[str, Callable[[str, ComponentConfig], Any]] = {
    "policy": policy_seen,
    "loss": loss_seen,
    "data-source": source_seen,
    "wrapper": wrapper_seen,
    "reward": reward_seen,
    "algorithm": algorithm_seen,
}


def component_seen(component: str, settings: Mapping[str, Any]) -> Any:
    """Return what is seen of a component with these settings; what it refuses is seen too."""
    kind, _, name = component.partition(":")
    try:
        return _SEEN[kind](name, registry().make_config(kind, name, settings))  # type: ignore[arg-type]  # a kind
    except MimeticError as error:
        return type(error).__name__, str(error)


# --- what is seen of a run --------------------------------------------------------------------------------------

RUN: Mapping[str, Any] = {
    "name": "flips",
    "env": {"id": "flip_worlds:mimetic-tests/Meter-v0"},
    "demonstrations": [{"name": "arrays", "path": "flip_worlds:demonstrations"}],
    "policy": {"name": "mlp", "net_arch": [4]},
    "algorithm": {"name": "bc", "n_epochs": 1, "batch_size": 8},
    "losses": [{"name": "nll"}, {"name": "l2", "weight": 0.1}],
    "loggers": ["jsonl"],
}


def run_seen(config: Mapping[str, Any], folder: Path) -> Any:
    """Carry a run out in a folder and return what it left, without clocks; what is refused is seen too."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(folder)
        warnings.simplefilter("ignore")
        try:
            result = execute(config)
        except MimeticError as error:
            return type(error).__name__, str(error)
        manifest = json.loads((result.dir / "manifest.json").read_text())
        facts = {key: manifest[key] for key in ("threads", "device", "engine")}
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        evaluation = result.dir / "evaluation.json"
        return (
            facts,
            files,
            weights_of(result.policy),  # its file records settings too, which would prove nothing
            (result.dir / "metrics.jsonl").read_text(),
            evaluation.read_text() if evaluation.exists() else None,
        )


def with_value(config: Any, key: str, value: Any) -> Any:
    """Return a copy with one value set; a section on the way is made when it is absent."""
    if not key:
        return value
    first, _, rest = key.partition(".")
    if isinstance(config, list):
        return [with_value(item, rest, value) if first == str(index) else item for index, item in enumerate(config)]
    return {**config, first: with_value(config.get(first) or {}, rest, value)}


def merged(config: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with more in it, section by section."""
    sections = {key: merged(config.get(key, {}), value) for key, value in more.items() if isinstance(value, Mapping)}
    return {**config, **more, **sections}


@cache
def _unflipped(config: str, folder: Path) -> Any:
    """Return what a run leaves, after seeing that it leaves the same twice."""
    once, twice = (run_seen(json.loads(config), folder / f"{abs(hash(config))}-{number}") for number in range(2))
    assert once == twice, "the run is not reproducible, so no flip can be told from chance"
    return once


# --- the facts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("component", "name"), COMPONENTS)
def test_every_setting_of_a_component_counts(component: str, name: str) -> None:
    flip = FLIPS.get(component, {}).get(name)
    assert flip, f"say in FLIPS how {name!r} of {component} is flipped, and what it needs beside it to show"
    settings = merged(NEEDED.get(component, {}), flip.beside)

    unflipped = component_seen(component, settings)

    assert component_seen(component, settings) == unflipped, (
        "it is not reproducible, so no flip can be told from chance"
    )
    assert component_seen(component, with_value(settings, name, flip.value)) != unflipped


@pytest.mark.parametrize("name", SECTIONS)
def test_every_key_of_a_run_file_counts(name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    flip = SECTION_FLIPS.get(name)
    assert flip, f"say in SECTION_FLIPS how {name!r} is flipped, and what it needs beside it to show"
    config = merged(merged(RUN, _EVALUATED if name.startswith("evaluation.") else {}), flip.beside)
    key = name.replace("losses.", "losses.1.")  # the second term: the objective goes on without it

    unflipped = _unflipped(json.dumps(config, sort_keys=True), tmp_path_factory.getbasetemp())

    assert run_seen(with_value(config, key, flip.value), tmp_path / "flipped") != unflipped


def test_no_flip_is_left_of_a_field_that_went() -> None:
    assert {(component, name) for component, flips in FLIPS.items() for name in flips} == set(COMPONENTS)
    assert set(SECTION_FLIPS) == set(SECTIONS)
