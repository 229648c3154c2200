"""What must a wrapper around an environment do?"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from mimetic.envs import EpisodeObserver, wrappers_of
from mimetic.testing.contracts.component import skip
from mimetic.testing.contracts.facts import closing_what_it_opens, leaving_randomness_alone, require
from mimetic.testing.contracts.worlds import Space, Walk, Witness, samples
from mimetic.testing.contracts.wrappers import N_STEPS, OWN_GENERATOR, SEED, WrapperContract, same
from mimetic.types import take_rows


class EnvWrapperContract(WrapperContract):
    """The facts of a wrapper of level "env"; inherit from it and set ``name``."""

    level: ClassVar[str] = "env"

    def make_env(self) -> gym.Env[Any, Any]:
        """Return an environment that it goes around, in render mode ``rgb_array``."""
        return Walk()

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_goes_around_the_environment(self, tmp_path: Path) -> None:
        """An evaluation looks for what is inside, through every wrapper."""
        witness = Witness(self.make_env())
        with self._wrapped(witness, tmp_path) as env:
            told = f"{self._title()} gave a {type(env).__name__}"
            require(isinstance(env, gym.Env), f"{told}; expected a gymnasium.Env")
            inside = any(each is witness for each in wrappers_of(env))
            require(inside, f"{told} that does not lead to what it was given; derive it from gymnasium.Wrapper")

    def test_what_it_shows_is_in_its_observation_space(self, tmp_path: Path) -> None:
        """A policy is built for the space; it must see what the space says, at resets too."""
        with self._wrapped(Witness(self.make_env()), tmp_path) as env:
            for obs, _ in _episodes(env):
                told = f"{self._title()} shows {obs!r} and says that its observations are in {env.observation_space}"
                require(env.observation_space.contains(obs), told)

    def test_actions_of_its_space_reach_the_environment_as_actions(self, tmp_path: Path) -> None:
        """Whatever it makes of an action must be one that the environment takes."""
        witness = Witness(self.make_env())
        with self._wrapped(witness, tmp_path) as env:
            list(_episodes(env))
        told = f"{self._title()} passes {witness.strange_actions[:1]} on, which is not in {witness.action_space}"
        require(not witness.strange_actions, told)
        require(witness.n_steps > 0, f"{self._title()} passes no step on to the environment")

    def test_it_passes_seeds_on(self, tmp_path: Path) -> None:
        """Else no episode could be played again."""
        witness = Witness(self.make_env())
        with self._wrapped(witness, tmp_path) as env:
            _begin(env, 0, SEED)
            told = f"{self._title()}: reset(seed={SEED}) reaches the environment with the seeds {witness.seeds}"
            require(SEED in witness.seeds, told)
            witness.seeds.clear()
            _begin(env, 1, None)
            seeded = [seed for seed in witness.seeds if seed is not None]
            require(not seeded, f"{self._title()}: reset() seeds the environment with {seeded}, so its episodes repeat")

    def test_equal_seeds_give_equal_episodes(self, tmp_path: Path) -> None:
        """What it draws comes from the context's seed and the episode's."""
        first, second = (self._history(tmp_path) for _ in range(2))
        require(same(first, second), f"{self._title()}: two episodes from one seed differ; {OWN_GENERATOR}")

    def test_it_draws_nothing_from_generators_that_others_share(self, tmp_path: Path) -> None:
        """What is seen, filmed or counted must not decide what is learned."""
        with leaving_randomness_alone(self._title()):
            self._history(tmp_path)

    def test_the_end_of_an_episode_comes_out(self, tmp_path: Path) -> None:
        """In the step in which the environment says so, and in five values of the right types."""
        witness = Witness(self.make_env())
        with self._wrapped(witness, tmp_path) as env:
            for _, step in _episodes(env):
                if step is None:
                    continue
                require(
                    isinstance(step, tuple) and len(step) == 5,
                    f"{self._title()}: step() gave {step!r}; expected (obs, reward, terminated, truncated, info)",
                )
                _, reward, terminated, truncated, info = step
                require(np.ndim(reward) == 0, f"{self._title()}: the reward {reward!r} is no number")
                require(isinstance(info, dict), f"{self._title()}: the info {info!r} is no dict")
                require(
                    bool(terminated or truncated) or not witness.ended,
                    f"{self._title()} hides that the episode has ended",
                )

    def test_it_can_be_drawn_when_the_environment_can(self, tmp_path: Path) -> None:
        """Films and windows are taken from outside."""
        with self._wrapped(Witness(self.make_env()), tmp_path) as env:
            _begin(env, 0, SEED)
            if env.unwrapped.render_mode != "rgb_array":
                raise skip("the environment of this test cannot be drawn")
            require(env.render_mode == "rgb_array", f"{self._title()} hides the render mode: {env.render_mode!r}")
            frame = env.render()
            drawn = isinstance(frame, np.ndarray) and frame.ndim == 3
            require(drawn, f"{self._title()}: render() gave a {type(frame).__name__}; expected a frame (H, W, 3)")

    def test_closing_it_closes_the_environment_and_what_it_opened(self, tmp_path: Path) -> None:
        """Nothing is left open, or running."""
        witness = Witness(self.make_env())
        with closing_what_it_opens(self._title()), self._wrapped(witness, tmp_path) as env:
            list(_episodes(env))
            del env
        require(witness.closed, f"{self._title()}: close() does not reach the environment")

    # --- what they build on ---------------------------------------------------------------------------------------

    def attempt(self, tmp_path: Path) -> None:
        """Build it once, and close it."""
        with self._wrapped(Witness(self.make_env()), tmp_path):
            pass

    @contextmanager
    def _wrapped(self, env: gym.Env[Any, Any], tmp_path: Path) -> Iterator[gym.Env[Any, Any]]:
        wrapped: gym.Env[Any, Any] = self.wrap(env, tmp_path)
        try:
            yield wrapped
        finally:
            for each in wrappers_of(wrapped):
                if isinstance(each, EpisodeObserver):
                    each.finish([])
            wrapped.close()

    def _history(self, tmp_path: Path) -> list[Any]:
        with self._wrapped(Witness(self.make_env()), tmp_path) as env:
            return [(obs, None if step is None else step[1:4]) for obs, step in _episodes(env)]


def _begin(env: gym.Env[Any, Any], index: int, seed: int | None) -> Any:
    """Begin an episode as an evaluation does: whoever wants to know is told which one it is."""
    for each in wrappers_of(env):
        if isinstance(each, EpisodeObserver):
            each.begin_episode(index, index if seed is None else seed)
    obs, _ = env.reset(seed=seed)
    return obs


def _episodes(env: gym.Env[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Play two episodes, the second cut short; yield observations, with the step that gave each."""
    for index, n_steps in enumerate((N_STEPS, 2)):
        yield _begin(env, index, SEED + index), None
        acts = samples(env.action_space, n_steps, seed=index)
        for row in range(n_steps):
            step = env.step(_act(env.action_space, take_rows(acts, row)))
            yield step[0], step
            if step[2] or step[3]:
                break


def _act(space: Space, act: Any) -> Any:
    return int(act) if isinstance(space, gym.spaces.Discrete) else act
