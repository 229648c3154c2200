"""How do raw episodes, and everything that a venv lived through, stay within reach?"""

from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from mimetic.errors import EnvError
from mimetic.rollout.history import History
from mimetic.rollout.transitions import ROLLOUT, flatten_trajectories_with_rew
from mimetic.types import Trajectory, TransitionsWithRew, map_obs, stack_obs


class RolloutInfoWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """Puts the raw episode into the last info: ``info["rollout"]`` has ``obs`` (T + 1 rows) and ``rews`` (T).

    Apply it before any wrapper that changes observations or rewards.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        """Wrap ``env``."""
        super().__init__(env)
        self._obs: list[Any] = []
        self._rews: list[float] = []

    @property
    def raw_observation_space(self) -> gym.Space[Any]:
        """The space of the observations that are kept."""
        return self.env.observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset, and begin to record anew."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._obs, self._rews = [map_obs(np.array, obs)], []
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step and record.

        Raises:
            EnvError: The environment uses the key ``rollout`` itself.
        """
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._obs.append(map_obs(np.array, obs))
        self._rews.append(float(reward))
        if terminated or truncated:
            if ROLLOUT in info:
                raise EnvError(f"the environment's own info holds the key {ROLLOUT!r}, which RolloutInfoWrapper needs")
            info = {**info, ROLLOUT: {"obs": stack_obs(self._obs), "rews": np.asarray(self._rews, np.float64)}}
        return obs, reward, terminated, truncated, info


class BufferingWrapper(VecEnvWrapper):
    """Keeps what its vectorised environment lives through, until it is popped."""

    def __init__(self, venv: VecEnv, error_on_premature_reset: bool = True) -> None:
        """Wrap ``venv``; ``error_on_premature_reset`` refuses a reset that would lose what was not popped."""
        super().__init__(venv)
        self.error_on_premature_reset = error_on_premature_reset
        self.n_transitions: int | None = None  # steps that were not popped; None before the first reset
        self._history: History | None = None
        self._acts: np.ndarray | None = None
        self._begin()

    def reset(self) -> VecEnvObs:
        """Reset every environment; what was not popped is lost.

        Raises:
            RuntimeError: It would be, and ``error_on_premature_reset`` is set.
        """
        if self.error_on_premature_reset and self.n_transitions:
            raise RuntimeError(f"reset would lose {self.n_transitions} transitions: pop them first")
        obs = self.venv.reset()
        self._begin()
        self._history = History(obs, self.num_envs)
        self._ages = np.zeros(self.num_envs, np.int64)
        self.n_transitions = 0
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        """Send every environment its action."""
        self._acts = actions
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Collect the step, and keep it."""
        obs, rews, dones, infos = self.venv.step_wait()
        history = self._running()
        assert self._acts is not None
        assert self.n_transitions is not None
        history.add(self._acts, obs, rews, infos)
        self._ages += 1
        self.n_transitions += self.num_envs
        for index in np.flatnonzero(dones).tolist():
            info = infos[index]
            cut = bool(info.get("TimeLimit.truncated", False))
            self._finished.append(history.finish(index, terminated=not cut, last_obs=info["terminal_observation"]))
            self._finished_lengths.append(int(self._ages[index]))
            self._ages[index] = 0
        if dones.any():
            history.forget()
        return obs, rews, dones, infos

    def pop_finished_trajectories(self) -> tuple[list[Trajectory], list[int]]:
        """Return the trajectories that are finished, and how long their whole episodes were; running ones stay.

        The first trajectory of an environment since a :meth:`pop_trajectories` may be the rest of an episode.
        """
        history = self._running()
        finished, lengths = self._finished, self._finished_lengths
        self._begin()
        self.n_transitions = int(history.lengths.sum())
        return finished, lengths

    def pop_trajectories(self) -> tuple[list[Trajectory], list[int]]:
        """Return everything, running episodes as truncated fragments, and the lengths of the episodes that ended."""
        history = self._running()
        for index in np.flatnonzero(history.lengths).tolist():
            self._finished.append(history.finish(index, terminated=False))
        history.forget()
        return self.pop_finished_trajectories()

    def pop_transitions(self) -> TransitionsWithRew:
        """Return every step since the last pop.

        Raises:
            RuntimeError: There is none.
        """
        self._running()
        if not self.n_transitions:
            raise RuntimeError("there are no transitions to pop: step the environment first")
        trajectories, _ = self.pop_trajectories()
        return flatten_trajectories_with_rew(trajectories)

    def _begin(self) -> None:
        self._finished: list[Trajectory] = []
        self._finished_lengths: list[int] = []

    def _running(self) -> History:
        if self._history is None:
            raise RuntimeError("reset the environment before it is stepped or popped")
        return self._history
