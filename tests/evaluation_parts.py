"""Environments and components that the tests of environments, rollouts and evaluation are made with."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnvWrapper

from mimetic.config import ComponentConfig
from mimetic.envs import EpisodeObserver, EpisodeRecord
from mimetic.hookspecs import PolicyEntry, RewardContext, RewardEntry, WrapperContext, WrapperEntry
from mimetic.plugins.registry import Registry
from mimetic.policies import Actor
from mimetic.testing import manager_with
from worlds import Len

# --- environments -----------------------------------------------------------------------------------------------


class Nested(gym.Env[dict[str, Any], Any]):
    """Observations that nest: ``{"arm": {"angle": (2,), "a.b": Discrete}, "eye": (1,)}``, all equal to the step."""

    def __init__(self, n: int = 3, *, render_mode: str | None = None) -> None:
        self.n, self.t, self.render_mode = n, 0, render_mode
        arm = spaces.Dict({"angle": spaces.Box(-100, 100, (2,), np.float32), "a.b": spaces.Discrete(100)})
        self.observation_space = spaces.Dict({"arm": arm, "eye": spaces.Box(0, 255, (1,), np.uint8)})
        self.action_space: spaces.Space[Any] = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        super().reset(seed=seed)
        self.t = 0
        return self._obs(), {}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        self.t += 1
        return self._obs(), 1.0, self.t >= self.n, False, {}

    def _obs(self) -> dict[str, Any]:
        arm = {"angle": np.full(2, self.t, np.float32), "a.b": np.int64(self.t)}
        return {"arm": arm, "eye": np.array([self.t], np.uint8)}


class Paid(Len):
    """``Len`` whose reward is drawn from its own stream, so that sums show their last bits; succeeds on odd seeds."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Any]:
        out = super().reset(seed=seed)
        self.n = int(self.np_random.integers(1, 12))
        self.lucky = bool(self.np_random.random() < 0.5)
        return out

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, _, terminated, truncated, _ = super().step(action)
        info = {"is_success": self.lucky} if terminated else {}
        return obs, float(self.np_random.normal()), terminated, truncated, info


class Demanding(Len):
    """``Len`` whose constructor insists on an argument; counts how often it was called."""

    calls: list[dict[str, Any]] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, *, needed: Any, render_mode: str | None = None) -> None:
        Demanding.calls.append({"needed": needed, "render_mode": render_mode})
        super().__init__(3, render_mode=render_mode)


class Blind(Len):
    """``Len`` that can only be rendered as text."""

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - gymnasium's form


class Pair(Len):
    """``Len`` with a Tuple of observations."""

    def __init__(self) -> None:
        super().__init__(3)
        self.observation_space = spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2)))  # type: ignore[assignment]  # that is the point


class OldReset(Len):
    """The old `gym`'s reset, which takes nothing and gives the observation alone."""

    def reset(self) -> Any:  # type: ignore[override]  # that is the point
        return super().reset()[0]


class OldStep(Len):
    """The old `gym`'s step, which gives four values."""

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, terminated or truncated, info


class NoEnv:
    """What an environment of the old `gym` is to gymnasium: no environment."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - gymnasium's form


class Failing(Len):
    """``Len`` that raises in its second step, or dies with its whole process."""

    def __init__(self, how: str = "raise", *, render_mode: str | None = None) -> None:
        super().__init__(5, render_mode=render_mode)
        self.how = how
        if how == "build":
            raise RuntimeError("no such robot")

    def step(self, action: Any) -> Any:
        if self.t == 1 and self.how == "die":
            import os

            os._exit(3)
        if self.t == 1:
            raise ZeroDivisionError("the motor stalled")
        return super().step(action)


_WORLDS = (Nested, Paid, Demanding, Blind, Pair, OldReset, OldStep, NoEnv, Failing)
for _world in _WORLDS:
    if f"mimetic-tests/{_world.__name__}-v0" not in gym.registry:
        gym.register(
            f"mimetic-tests/{_world.__name__}-v0",
            entry_point=f"evaluation_parts:{_world.__name__}",
            disable_env_checker=True,
        )


def env_id(name: str) -> str:
    """Return the id of one of these environments, which imports this module where it is built."""
    return f"evaluation_parts:mimetic-tests/{name}-v0"


# --- components -------------------------------------------------------------------------------------------------


class NoConfig(ComponentConfig):
    """Nothing to set."""


class ScaleConfig(ComponentConfig):
    """How much of the reward is left."""

    factor: float = 0.1
    """What the reward is multiplied by."""


class FpsConfig(ComponentConfig):
    """The window's rate."""

    fps: float = 60.0
    """Steps a second."""


class FilmConfig(ComponentConfig):
    """What a film is."""

    mode: str = "one"
    """One file, or many."""


class Scaled(gym.RewardWrapper[Any, Any]):
    """Multiplies the reward."""

    def __init__(self, env: gym.Env[Any, Any], factor: float) -> None:
        super().__init__(env)
        self.factor = factor

    def reward(self, reward: Any) -> float:
        return float(reward) * self.factor


class Repeated(gym.Wrapper[Any, Any, Any, Any]):
    """Makes two inner steps of each, after one step within the reset."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.env.reset(seed=seed, options=options)
        obs, _, _, _, info = self.env.step(self.env.action_space.sample())
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, first, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            return obs, first, terminated, truncated, info
        obs, second, terminated, truncated, info = self.env.step(action)
        return obs, float(first) + float(second), terminated, truncated, info


class Tape(EpisodeObserver):
    """Notes what a recorder is told."""

    tapes: list["Tape"] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, env: gym.Env[Any, Any], context: WrapperContext, mode: str = "one") -> None:
        super().__init__(env)
        self.context, self.mode = context, mode
        self.events: list[Any] = []
        Tape.tapes.append(self)

    def begin_episode(self, index: int, seed: int) -> None:
        self.events.append(("begin", index, seed))

    def step(self, action: Any) -> Any:
        self.events.append("step")
        return super().step(action)

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[Mapping[str, object]]:
        self.events.append(("finish", [record.index for record in counted]))
        return [{"video": f"videos/{record.index}.mp4", "frames": [0, record.length + 1]} for record in counted]

    def close(self) -> None:
        self.events.append("close")
        super().close()


class Shown(VecEnvWrapper):
    """Counts what a window is shown."""

    windows: list["Shown"] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, venv: Any, fps: float) -> None:
        super().__init__(venv)
        self.fps, self.n_renders, self.closed = fps, 0, False
        Shown.windows.append(self)

    def reset(self) -> Any:
        obs = self.venv.reset()
        self._show()
        return obs

    def step_wait(self) -> Any:
        result = self.venv.step_wait()
        self._show()
        return result

    def close(self) -> None:
        self.closed = True
        super().close()

    def _show(self) -> None:
        self.n_renders += all(image is not None for image in self.venv.get_images())


class Flipping(Actor):
    """Takes action 0 in every second step of an episode, and says so."""

    def __init__(self, actor: Actor, n_envs: int) -> None:
        self._actor, self._steps = actor, np.zeros(n_envs, int)

    def begin_episode(self, env_index: int, seed: int) -> None:
        self._actor.begin_episode(env_index, seed)
        self._steps[env_index] = 0

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        acts, state = self._actor(obs, state, episode_start)
        explored = self._steps % 2 == 1
        self._steps += 1
        self.last_infos = {"explored": explored}
        return np.where(explored, 0, acts), state


def build_scaled(config: ScaleConfig, context: WrapperContext) -> Scaled:
    return Scaled(context.wrapped, config.factor)


def build_repeated(config: NoConfig, context: WrapperContext) -> Repeated:
    return Repeated(context.wrapped)


def build_tape(config: FilmConfig, context: WrapperContext) -> Tape:
    return Tape(context.wrapped, context, config.mode)


def build_shown(config: FpsConfig, context: WrapperContext) -> Shown:
    return Shown(context.wrapped, config.fps)


def build_flipping(config: NoConfig, context: WrapperContext) -> Flipping:
    return Flipping(context.wrapped, context.n_envs)


def build_no_actor(config: NoConfig, context: WrapperContext) -> Any:
    return lambda obs, state, episode_start: (np.zeros(len(episode_start), int), state)


def build_step_reward(config: NoConfig, context: RewardContext) -> Any:
    """Pays the number of the step, and 100 more for an end of the task."""
    return lambda obs, acts, next_obs, dones: next_obs[:, 0] + 100.0 * dones


def build_wide_reward(config: NoConfig, context: RewardContext) -> Any:
    return lambda obs, acts, next_obs, dones: np.zeros((len(acts), 2))


def build_ones(config: NoConfig, context: Any) -> Any:
    return lambda obs, state, episode_start: (np.ones(len(episode_start), int), state)


def _entry(kind: Any, name: str, config: str, factory: str, **more: Any) -> Any:
    return kind(
        name=name, config=f"evaluation_parts:{config}", factory=f"evaluation_parts:{factory}", summary=name, **more
    )


def parts() -> Registry:
    """Return a registry of these components alone."""
    return manager_with(
        _entry(WrapperEntry, "scale", "ScaleConfig", "build_scaled", level="env"),
        _entry(WrapperEntry, "repeat", "NoConfig", "build_repeated", level="env"),
        _entry(WrapperEntry, "video", "FilmConfig", "build_tape", level="env"),
        _entry(WrapperEntry, "render", "FpsConfig", "build_shown", level="venv"),
        _entry(WrapperEntry, "switching", "NoConfig", "build_flipping", level="policy"),
        _entry(WrapperEntry, "no-actor", "NoConfig", "build_no_actor", level="policy"),
        _entry(RewardEntry, "step", "NoConfig", "build_step_reward"),
        _entry(RewardEntry, "wide", "NoConfig", "build_wide_reward"),
        _entry(PolicyEntry, "ones", "NoConfig", "build_ones", trainable=False),
    )
