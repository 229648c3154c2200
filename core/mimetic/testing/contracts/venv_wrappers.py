"""What must a wrapper around several environments do?"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from mimetic.envs import LocalVecEnv
from mimetic.testing.contracts.facts import closing_what_it_opens, leaving_randomness_alone, require
from mimetic.testing.contracts.worlds import Walk, Witness, samples
from mimetic.testing.contracts.wrappers import N_STEPS, OWN_GENERATOR, SEED, WrapperContract, same
from mimetic.types import take_rows


class VenvWrapperContract(WrapperContract):
    """The facts of a wrapper of level "venv"; inherit from it and set ``name``."""

    level: ClassVar[str] = "venv"
    n_envs: ClassVar[int] = 2

    def make_env(self) -> gym.Env[Any, Any]:
        """Return one of the environments that it goes around, in render mode ``rgb_array``."""
        return Walk()

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_goes_around_all_environments(self, tmp_path: Path) -> None:
        """And leaves their number as it is."""
        with self._wrapped(tmp_path) as (venv, _):
            told = f"{self._title()} gave a {type(venv).__name__}"
            require(isinstance(venv, VecEnv), f"{told}; expected a stable-baselines3 VecEnv")
            require(venv.num_envs == self.n_envs, f"{self._title()} makes {venv.num_envs} of {self.n_envs} of them")
            reached = len(venv.get_attr("n_steps"))
            require(reached == self.n_envs, f"{self._title()}: get_attr reaches {reached} environments")

    def test_what_it_shows_is_in_its_observation_space(self, tmp_path: Path) -> None:
        """At the reset, and at every step."""
        with self._wrapped(tmp_path) as (venv, _):
            for obs, _ in self._steps(venv):
                inside = all(venv.observation_space.contains(take_rows(obs, row)) for row in range(self.n_envs))
                told = f"{self._title()} shows {obs!r} and says that its observations are in {venv.observation_space}"
                require(inside, told)

    def test_it_passes_seeds_on(self, tmp_path: Path) -> None:
        """One for each environment."""
        with self._wrapped(tmp_path) as (venv, witnesses):
            venv.seed(SEED)
            venv.reset()
            seeds = [witness.seeds[-1] for witness in witnesses]
            expected = [SEED + index for index in range(self.n_envs)]
            require(seeds == expected, f"{self._title()}: seed({SEED}) reaches the environments as {seeds}")

    def test_equal_seeds_give_equal_episodes(self, tmp_path: Path) -> None:
        """What it draws comes from the context's seed and the environments'."""
        first, second = (self._history(tmp_path) for _ in range(2))
        require(same(first, second), f"{self._title()}: two plays from one seed differ; {OWN_GENERATOR}")

    def test_it_draws_nothing_from_generators_that_others_share(self, tmp_path: Path) -> None:
        """What is seen, filmed or counted must not decide what is learned."""
        with leaving_randomness_alone(self._title()):
            self._history(tmp_path)

    def test_infos_and_ends_of_episodes_come_out(self, tmp_path: Path) -> None:
        """An evaluation finds in them which episode ended, and how."""
        with self._wrapped(tmp_path) as (venv, witnesses):
            for _, step in self._steps(venv):
                if step is None:
                    continue
                rews, dones, infos = step
                require(np.shape(rews) == (self.n_envs,), f"{self._title()}: rewards of shape {np.shape(rews)}")
                counts = [info.get("witnessed") for info in infos]
                expected = [witness.n_steps for witness in witnesses]
                require(counts == expected, f"{self._title()} loses what the environments say in their infos")
                for index in np.flatnonzero(dones):
                    told = f"{self._title()} loses the last observation of an episode (terminal_observation)"
                    require("terminal_observation" in infos[index], told)
                ends = [witness.n_steps % 5 == 0 for witness in witnesses] if self._walks() else None
                require(ends is None or list(dones) == ends, f"{self._title()} changes which episodes end: {dones}")

    def test_closing_it_closes_the_environments_and_what_it_opened(self, tmp_path: Path) -> None:
        """Nothing is left open, or running."""
        with closing_what_it_opens(self._title()), self._wrapped(tmp_path) as (venv, witnesses):
            list(self._steps(venv))
            del venv
        require(all(each.closed for each in witnesses), f"{self._title()}: close() does not reach the environments")

    # --- what they build on ---------------------------------------------------------------------------------------

    def attempt(self, tmp_path: Path) -> None:
        """Build it once, and close it."""
        with self._wrapped(tmp_path):
            pass

    @contextmanager
    def _wrapped(self, tmp_path: Path) -> Iterator[tuple[VecEnv, list[Witness]]]:
        witnesses = [Witness(self.make_env()) for _ in range(self.n_envs)]
        venv: Any = LocalVecEnv([partial(_given, witness) for witness in witnesses])
        try:
            venv = self.wrap(venv, tmp_path, n_envs=self.n_envs)
            yield venv, witnesses
        finally:
            venv.close()

    def _steps(self, venv: VecEnv) -> Iterator[tuple[Any, Any]]:
        venv.seed(SEED)
        yield venv.reset(), None
        acts = samples(venv.action_space, N_STEPS * self.n_envs)
        for step in range(N_STEPS):
            obs, *rest = venv.step(take_rows(acts, slice(step * self.n_envs, (step + 1) * self.n_envs)))
            yield obs, rest

    def _history(self, tmp_path: Path) -> list[Any]:
        with self._wrapped(tmp_path) as (venv, _):
            return [(obs, None if step is None else step[:2]) for obs, step in self._steps(venv)]

    def _walks(self) -> bool:
        """Whether episodes have the length that this suite knows."""
        return type(self).make_env is VenvWrapperContract.make_env


def _given(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    return env
