"""How does one environment come to be? From its settings, with nothing but ``render_mode`` added to the user's own."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from mimetic.envs.nesting import FlatKeys, is_nested
from mimetic.envs.own_reward import OwnReward
from mimetic.errors import ConfigError, EnvError, MimeticError, MissingDependencyError
from mimetic.hookspecs import WrapperContext
from mimetic.seeding import derive_seed
from mimetic.spaces import refuse_unsupported

if TYPE_CHECKING:
    from mimetic.config import EnvConfig

OuterWrapper = Callable[[gym.Env[Any, Any], int], gym.Env[Any, Any]]
"""Wraps the environment of the given index; must pickle, for environments in processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvFactory:
    """Builds one environment of several when called, here or in a process of its own."""

    env: "EnvConfig"
    index: int = 0
    n_envs: int = 1
    seed: int = 0
    render_mode: str | None = None
    record: bool = False
    outer: tuple[OuterWrapper, ...] = ()

    def __call__(self) -> gym.Env[Any, Any]:
        """Build it."""
        return make_env(
            self.env,
            index=self.index,
            n_envs=self.n_envs,
            seed=self.seed,
            render_mode=self.render_mode,
            record=self.record,
            outer=self.outer,
        )


def make_env(
    env: "EnvConfig",
    *,
    index: int = 0,
    n_envs: int = 1,
    seed: int = 0,
    render_mode: str | None = None,
    record: bool = False,
    outer: Sequence[OuterWrapper] = (),
) -> gym.Env[Any, Any]:
    """Build environment ``index`` of ``n_envs``, wrapped as its settings say.

    From the inside out: gymnasium's own wrappers, :class:`OwnReward` (which keeps the raw episode with ``record``),
    the components in ``env.wrappers``, dotted keys for nested Dict observations, then ``outer``. ``seed`` is what
    wrapper components derive their streams from; the environment itself is seeded by who resets it.

    Raises:
        EnvError: It cannot be built, or cannot be rendered as asked.
        SpaceError: Its observations or actions are of a kind that is not supported.
    """
    built: gym.Env[Any, Any] = OwnReward(_bare_env(env, render_mode), record=record)
    try:
        for number, choice in enumerate(env.wrappers):
            context = WrapperContext(
                wrapped=built,
                env_index=index,
                seed=derive_seed(seed, f"wrapper {choice.name}", number, index),
                observation_space=built.observation_space,
                action_space=built.action_space,
                n_envs=n_envs,
            )
            built = choice.build(context)
        refuse_unsupported(built.observation_space, "observation")
        refuse_unsupported(built.action_space, "action")
        if is_nested(built.observation_space):
            built = FlatKeys(built)
        for wrap in outer:
            built = wrap(built, index)
    except BaseException:
        built.close()
        raise
    return built


def spaces_of(env: "EnvConfig") -> tuple[gym.Space[Any], gym.Space[Any]]:
    """Return observation and action space of the wrapped environment, which is built once and closed again.

    A nested Dict stays as it nests, as demonstrations hold it and policies are made for it; :func:`make_env` gives
    the same observations under dotted keys.
    """
    built = make_env(env)
    try:
        inner = built.env if isinstance(built, FlatKeys) else built
        return inner.observation_space, built.action_space
    finally:
        built.close()


def require_render_mode(env_id: str, render_mode: str) -> None:
    """Refuse an environment whose class says that it cannot be rendered so, before it is built.

    Raises:
        EnvError: The class states its render modes, and this is none of them.
    """
    _import_module(env_id)
    spec = gym.registry.get(env_id.rpartition(":")[2])
    if spec is None:
        return  # gymnasium knows better what an incomplete id may mean, or says why it means nothing
    creator = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    metadata = getattr(creator, "metadata", None)
    if isinstance(metadata, dict):
        _require_in(env_id, render_mode, metadata.get("render_modes"))


def _bare_env(env: "EnvConfig", render_mode: str | None) -> gym.Env[Any, Any]:
    kwargs = dict(env.kwargs)
    try:
        _import_module(env.id)
        if render_mode is not None:
            _require_free(kwargs, render_mode)
            require_render_mode(env.id, render_mode)
            kwargs["render_mode"] = render_mode
        built = gym.make(env.id, max_episode_steps=env.max_episode_steps, **kwargs)
    except MimeticError:
        raise
    except Exception as error:
        raise _unbuildable(env.id, kwargs, error) from error
    if render_mode is not None and built.render_mode != render_mode:
        built.close()
        raise EnvError(
            f"environment {env.id!r} was built with render_mode={render_mode!r} and has {built.render_mode!r}"
        )
    return built


def _import_module(env_id: str) -> None:
    """Import the module of ``module:Env-v0``, which registers the environment."""
    module = env_id.rpartition(":")[0]
    if module:
        importlib.import_module(module)


def _require_free(kwargs: Mapping[str, Any], render_mode: str) -> None:
    own = kwargs.get("render_mode", render_mode)
    if own != render_mode:
        raise ConfigError(
            f"env.kwargs.render_mode is {own!r}, but videos and rendering need {render_mode!r}; "
            "leave it out, it is set for you"
        )


def _require_in(env_id: str, render_mode: str, modes: Sequence[str] | None) -> None:
    if render_mode not in (modes or ()):
        raise EnvError(
            f"environment {env_id!r} cannot be rendered as {render_mode!r}, which videos and rendering need; "
            f"its render_modes: {list(modes or ())}"
        )


def _unbuildable(env_id: str, kwargs: Mapping[str, Any], error: Exception) -> MimeticError:
    text = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, ModuleNotFoundError) and error.name == "gym":
        return _needs_gymnasium(env_id, "its module imports `gym`, which is not installed")
    if isinstance(error, TypeError) and ("Gym is incompatible" in text or "must inherit from the gymnasium" in text):
        return _needs_gymnasium(env_id, "its class is no gymnasium.Env")
    if isinstance(error, gym.error.DependencyNotInstalled):
        return MissingDependencyError(f"environment {env_id!r}: {text}")
    if isinstance(error, ModuleNotFoundError):
        return MissingDependencyError(f"environment {env_id!r}: {text}; pip install what provides it")
    if isinstance(error, gym.error.Error) and _in_old_registry(env_id):
        return _needs_gymnasium(env_id, "it is registered there alone")
    if isinstance(error, gym.error.Error):
        return EnvError(f"environment {env_id!r}: {text}")
    return EnvError(f"environment {env_id!r} cannot be built with {dict(kwargs)}: {type(error).__name__}: {text}")


def _needs_gymnasium(env_id: str, seen: str) -> EnvError:
    return EnvError(
        f"environment {env_id!r} was written for the old `gym` ({seen}), and only gymnasium environments are supported"
    )


def _in_old_registry(env_id: str) -> bool:
    """Whether the old `gym` is loaded and knows the id."""
    old = sys.modules.get("gym.envs.registration")
    registry = getattr(old, "registry", {})
    return env_id.rpartition(":")[2] in getattr(registry, "env_specs", registry)
