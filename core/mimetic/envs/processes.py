"""How does an environment live in a process of its own, and how do its faults come back?"""

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import SubprocVecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from mimetic.errors import EnvError, MimeticError

_UNGUARDED = (
    "processes for environments can only be started by a script whose own work stands under "
    "`if __name__ == '__main__':`, because each process imports the script again; put the guard there, or leave "
    "processes out"
)
_PRELOADED = ["__main__", "mimetic.envs.vectors", "mimetic.envs.episodes"]
"""What the process that all others are forked from imports, once for all of them."""

_LOST = (EOFError, ConnectionResetError, BrokenPipeError)
_FAULT = "mimetic.fault"


class ProcessVecEnv(SubprocVecEnv):
    """Environments in a process each. What an environment raises is raised here; a lost process is an EnvError."""

    def __init__(self, env_fns: Sequence[Callable[[], gym.Env[Any, Any]]]) -> None:
        """Start the processes and build the environments in them.

        Raises:
            EnvError: A process died at once, or an environment could not be built.
        """
        if getattr(multiprocessing.current_process(), "_inheriting", False):  # this script is being imported by one
            raise EnvError(_UNGUARDED)
        if "forkserver" in multiprocessing.get_all_start_methods():
            multiprocessing.set_forkserver_preload(_PRELOADED)
        try:
            super().__init__([partial(_in_its_process, fn, index) for index, fn in enumerate(env_fns)])
            _raise_first(self.env_method("fault"))
        except _LOST as error:
            self._abandon()
            raise EnvError(
                f"a process died before its environment was built; see above. Perhaps {_UNGUARDED}"
            ) from error
        except BaseException:
            self._abandon()
            raise

    def step_async(self, actions: np.ndarray) -> None:
        """Send every environment its action."""
        with self._watched("a step"):
            super().step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Collect what every environment answers; rewards are float64."""
        with self._watched("a step"):
            obs, rews, dones, infos = super().step_wait()
        _raise_first([info.get(_FAULT) for info in infos])
        return obs, rews.astype(np.float64), dones, list(infos)

    def reset(self) -> VecEnvObs:
        """Reset every environment."""
        with self._watched("a reset"):
            obs = super().reset()
        _raise_first([info.get(_FAULT) for info in self.reset_infos])
        return obs

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the environments, where they are."""
        with self._watched(method_name):
            answers = super().env_method("guarded", method_name, *method_args, indices=indices, **method_kwargs)
        _raise_first([fault for _, fault in answers])
        return [answer for answer, _ in answers]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Render every environment."""
        with self._watched("rendering"):
            return super().get_images()

    def close(self) -> None:
        """Close every environment and end its process; lost ones are passed over."""
        if self.closed:
            return
        if not self.waiting and all(process.is_alive() for process in self.processes):
            with self._watched("closing"):
                super().close()
        self._abandon()

    @contextmanager
    def _watched(self, doing: str) -> Iterator[None]:
        try:
            yield
        except _LOST as error:
            lost = [index for index, process in enumerate(self.processes) if not _alive(process)]
            which = ", ".join(f"environment {index} ({_ending(self.processes[index].exitcode)})" for index in lost)
            self._abandon()
            raise EnvError(f"a process was lost during {doing}: {which or 'nobody knows which'}; see above") from error

    def _abandon(self) -> None:
        """End what is left of the processes without asking them."""
        self.closed = True
        for remote in getattr(self, "remotes", ()):
            remote.close()
        for process in getattr(self, "processes", ()):
            if process.is_alive():
                process.terminate()
            process.join()


class _Guard(gym.Wrapper[Any, Any, Any, Any]):
    """Outermost in its process: what goes wrong inside is sent as an answer, so that the process lives on."""

    def __init__(self, env: gym.Env[Any, Any], index: int, fault: MimeticError | None = None) -> None:
        super().__init__(env)
        self._index = index
        self._fault = fault

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        try:
            return self.env.reset(seed=seed, options=options)
        except Exception as error:
            return self.observation_space.sample(), {_FAULT: _portable(error, self._index)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        try:
            return self.env.step(action)
        except Exception as error:
            return self.observation_space.sample(), 0.0, False, False, {_FAULT: _portable(error, self._index)}

    def fault(self) -> MimeticError | None:
        """Why the environment could not be built, None when it was."""
        return self._fault

    def guarded(self, method: str, *args: Any, **kwargs: Any) -> tuple[Any, MimeticError | None]:
        """Call a method of the environment; give its answer, and what it raised."""
        try:
            return self.get_wrapper_attr(method)(*args, **kwargs), None
        except Exception as error:
            return None, _portable(error, self._index)


class _Nothing(gym.Env[Any, Any]):
    """Stands where an environment could not be built."""

    observation_space = spaces.Discrete(1)
    action_space = spaces.Discrete(1)


def _in_its_process(fn: Callable[[], gym.Env[Any, Any]], index: int) -> gym.Env[Any, Any]:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is left to the main process, which ends this one in order
    try:
        return _Guard(fn(), index)
    except Exception as error:
        return _Guard(_Nothing(), index, _portable(error, index))


def _portable(error: Exception, index: int) -> MimeticError:
    """Return an error that says the same and pickles whatever it came from."""
    if isinstance(error, MimeticError):
        return error
    told = "".join(traceback.format_exception(error))
    return EnvError(f"environment {index} raised {type(error).__name__} in its process: {error}\n{told}")


def _raise_first(faults: Sequence[MimeticError | None]) -> None:
    for fault in faults:
        if fault is not None:
            raise fault


def _alive(process: Any) -> bool:
    process.join(timeout=1)  # one that has just died needs a moment to be seen dead
    return bool(process.is_alive())


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"
