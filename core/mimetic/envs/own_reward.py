"""What does the environment itself pay and show, whatever is wrapped around it later?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mimetic.errors import EnvError
from mimetic.types import Trajectory, obs_from_leaves
from mimetic.types.observations import escape_key
from mimetic.types.rows import Rows


@dataclass(frozen=True, slots=True, eq=False)
class RawEpisode:
    """An episode as the innermost environment lived it: its own observations and rewards, the actions it received."""

    trajectories: tuple[Trajectory, ...]  # one, unless a wrapper reset the environment within the episode
    steps_before: np.ndarray | None  # (T + 1,), inner steps made before the first outer step, before the second, ...,
    # in all; None: each outer step made one


class OwnReward(gym.Wrapper[Any, Any, Any, Any]):
    """The innermost wrapper: sums the environment's own reward in float64, and records its episodes when asked.

    A reset begins anew. Between :meth:`first_step_follows` and :meth:`begin_episode` (which the wrapper that knows
    the episodes calls) it does not: a wrapper in between may then reset the environment within one episode.
    """

    def __init__(self, env: gym.Env[Any, Any], *, record: bool = False) -> None:
        """Wrap ``env``; with ``record``, keep the running episode until :meth:`take`."""
        super().__init__(env)
        self.total = 0.0
        self._within = False
        self._record = _Recording(env.observation_space) if record else None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new sum, unless an episode is going on."""
        try:
            result = self.env.reset(seed=seed, options=options)
        except TypeError as error:
            if "unexpected keyword argument 'seed'" in str(error):
                raise _old_interface(self.env, "its reset takes no seed") from error
            raise
        if not (isinstance(result, tuple) and len(result) == 2):
            raise _old_interface(self.env, "its reset gives no pair (obs, info)")
        obs, info = result
        if not self._within:
            self.total = 0.0
        if self._record is not None:
            self._record.reset(obs, keep=self._within)
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Make a step and add what it pays."""
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
        except ValueError as error:
            if "expected 5, got 4" in str(error):
                raise _old_interface(self.env, "its step gives four values") from error
            raise
        self.total += float(reward)
        if self._record is not None:
            self._record.step(action, obs, float(reward), bool(terminated))
        return obs, reward, terminated, truncated, info

    def begin_episode(self) -> None:
        """Begin a new sum, whether or not the environment is reset now."""
        self.total = 0.0
        self._within = False
        if self._record is not None:
            self._record.begin()

    def first_step_follows(self) -> None:
        """Note that the reset is over: what comes until the next :meth:`begin_episode` is one episode."""
        self._within = True
        self.step_is_over()

    def step_is_over(self) -> None:
        """Note that a step of the outermost environment is over, however many it took here; unless it is always one."""
        if self._record is not None:
            self._record.mark()

    def leave_recording(self) -> None:
        """Record no more."""
        self._record = None

    def take(self) -> RawEpisode | None:
        """Hand over the recorded episode; None when nothing is recorded."""
        return None if self._record is None else self._record.take()


class _Recording:
    """The episode so far, in columns."""

    def __init__(self, observation_space: gym.Space[Any]) -> None:
        self._space = observation_space
        self._is_dict = isinstance(observation_space, spaces.Dict)
        self._obs: dict[str, Rows] = {}  # one row more than steps
        self._acts: Rows | None = None
        self._rews: list[float] = []
        self.begin()

    def begin(self) -> None:
        self._done: list[Trajectory] = []
        self._marks: list[int] = []
        self._n_steps = 0
        self._start()

    def reset(self, obs: Any, *, keep: bool) -> None:
        if keep:
            self._close()
        else:
            self._n_steps -= len(self._rews)
        self._start()
        for rows in self._obs.values():
            rows.forget(len(rows))
        self._see(obs)

    def step(self, action: Any, obs: Any, reward: float, terminated: bool) -> None:
        action = np.asarray(action)
        if self._acts is None:
            self._acts = Rows(action)
        elif self._acts.dtype != action.dtype:  # a wrapper's `max(0, action)` is now a float, now an int
            self._acts.widen(action.dtype)
        self._acts.append(action)
        self._see(obs)
        self._rews.append(reward)
        self._terminated = terminated
        self._n_steps += 1

    def mark(self) -> None:
        self._marks.append(self._n_steps)

    def take(self) -> RawEpisode:
        self._close()
        marks = np.asarray(self._marks, np.int64) if len(self._marks) > 1 else None
        return RawEpisode(tuple(self._done), marks)

    def _see(self, obs: Any) -> None:
        """Copy an observation in the dtypes that its space declares, as vectorised environments do."""
        if not self._is_dict:
            self._add("obs", np.asarray(obs), self._space)
            return
        for name, leaf, space in _declared("obs", obs, self._space):  # type: ignore[arg-type]  # it is a Dict
            self._add(name, np.asarray(leaf), space)

    def _add(self, name: str, leaf: np.ndarray, space: gym.Space[Any]) -> None:
        rows = self._obs.get(name)
        if rows is None:
            rows = self._obs[name] = Rows(leaf, space.dtype)
        if leaf.shape != rows.shape:
            raise EnvError(f"the environment's {name} had the shape {rows.shape} before, and has {leaf.shape} now")
        rows.append(leaf)

    def _start(self) -> None:
        """Begin where the environment stands: not every wrapper passes a reset on."""
        for rows in self._obs.values():
            rows.forget(max(0, len(rows) - 1))
        self._acts = None
        self._rews = []
        self._terminated = False

    def _close(self) -> None:
        if self._acts is not None:
            self._done.append(
                Trajectory(
                    obs=obs_from_leaves({name: rows.view().copy() for name, rows in self._obs.items()}),
                    acts=self._acts.view().copy(),
                    infos=None,
                    terminal=self._terminated,
                    rews=np.asarray(self._rews, np.float64),
                    truncated=not self._terminated,  # the clock, a wrapper or the collector cut it
                )
            )
        self._start()


def _declared(name: str, obs: Any, space: spaces.Dict) -> Iterator[tuple[str, Any, gym.Space[Any]]]:
    """Yield every array that the space declares under its dotted key, with its own space."""
    for key, sub in space.spaces.items():
        inner = f"{name}.{escape_key(key)}"
        if isinstance(sub, spaces.Dict):
            yield from _declared(inner, obs[key], sub)
        else:
            yield inner, obs[key], sub


def _old_interface(env: gym.Env[Any, Any], seen: str) -> EnvError:
    """Say in one sentence that an environment was written for the old `gym`."""
    return EnvError(
        f"environment {type(env.unwrapped).__name__} has the interface of the old `gym` ({seen}), and needs that of "
        "gymnasium: reset(seed=, options=) -> (obs, info), step(action) -> (obs, reward, terminated, truncated, info)"
    )
