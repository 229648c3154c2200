"""What must a wrapper around a policy do?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from mimetic.hookspecs import WrapperContext
from mimetic.policies import Actor
from mimetic.testing.contracts.component import fresh_folder, skip
from mimetic.testing.contracts.facts import leaving_randomness_alone, require
from mimetic.testing.contracts.worlds import DIRECTION, VECTOR, Narrator, Space, samples
from mimetic.testing.contracts.wrappers import N_STEPS, WrapperContract, same


class PolicyWrapperContract(WrapperContract):
    """The facts of a wrapper of level "policy"; inherit from it and set ``name``."""

    level: ClassVar[str] = "policy"

    action_spaces: ClassVar[tuple[Space, ...]] = (gym.spaces.Discrete(2), DIRECTION)
    """The kinds of action that it is for."""

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_gives_an_actor(self, tmp_path: Path) -> None:
        """It is called as the policy is."""
        for space in self.action_spaces:
            actor = self.around(Narrator(space), space, 1, tmp_path)
            told = f"{self._title()} gave a {type(actor).__name__}"
            require(isinstance(actor, Actor), f"{told}; expected a mimetic.Actor")

    def test_its_actions_are_members_of_the_action_space(self, tmp_path: Path) -> None:
        """One for each environment, and what is told about them too."""
        for space in self.action_spaces:
            for n in (1, 3):
                actor = self.around(Narrator(space), space, n, tmp_path)
                for acts in self._play(actor, n):
                    told = f"{self._title()} gave {acts!r} for {n} environments"
                    require(len(acts) == n, f"{told}; expected {n} actions")
                    require(all(space.contains(act) for act in acts), f"{told}; expected members of {space}")
                    infos = {key: np.shape(value) for key, value in actor.last_infos.items()}
                    wrong = {key: shape for key, shape in infos.items() if shape[:1] != (n,)}
                    require(not wrong, f"{self._title()}: last_infos has shapes {wrong}; expected {n} rows")

    def test_the_policy_inside_hears_of_its_episodes(self, tmp_path: Path) -> None:
        """Its draws come from their seeds."""
        for space in self.action_spaces:
            narrator = Narrator(space)
            self.around(narrator, space, 2, tmp_path).begin_episode(1, 99)
            heard = f"{self._title()}: begin_episode(1, 99) reaches the policy as {narrator.begun}"
            require((1, 99) in narrator.begun, heard)

    def test_the_policy_inside_keeps_its_memory(self, tmp_path: Path) -> None:
        """What a recurrent policy returns as its state comes back to it, and it sees every observation."""
        for space in self.action_spaces:
            narrator = Narrator(space)
            actor = self.around(narrator, space, 2, tmp_path)
            steps = len(list(self._play(actor, 2)))
            expected = [None, *range(1, steps)]
            require(
                narrator.states == expected,
                f"{self._title()} gives the policy inside the states {narrator.states}; expected {expected}",
            )
            require(bool(actor.recurrent), f"{self._title()} goes around a recurrent policy and says that it is none")

    def test_it_promises_no_more_than_the_policy_inside(self, tmp_path: Path) -> None:
        """Around a policy that draws as it likes, nothing can be repeated."""
        for space in self.action_spaces:
            actor = self.around(Narrator(space, seeded=False), space, 1, tmp_path)
            told = f"{self._title()} says that it is seeded, around a policy that is not"
            require(not actor.seeded, f"{told}; pass `actor.seeded` on")

    def test_the_seed_of_an_episode_decides_what_is_drawn_in_it(self, tmp_path: Path) -> None:
        """However many environments there are beside it."""
        for space in self.action_spaces:
            if not self.around(Narrator(space), space, 1, tmp_path).seeded:
                raise skip("its actor says that it is not seeded")
            plays = [self._first_environment(space, n, tmp_path) for n in (1, 1, 3)]
            title = f"{self._title()} for {space}"
            require(same(plays[0], plays[1]), f"{title}: two plays from equal seeds differ")
            require(same(plays[0], plays[2]), f"{title}: an episode differs when others are played beside it")

    def test_it_draws_nothing_from_generators_that_others_share(self, tmp_path: Path) -> None:
        """What is explored must not decide what is learned."""
        for space in self.action_spaces:
            with leaving_randomness_alone(self._title()):
                list(self._play(self.around(Narrator(space), space, 2, tmp_path), 2))

    # --- what they build on ---------------------------------------------------------------------------------------

    def around(self, actor: Actor, action_space: Space, n_envs: int, tmp_path: Path) -> Actor:
        """Build the wrapper around an actor, as a run does."""
        context = WrapperContext(
            wrapped=actor,
            env_index=0,
            seed=5,
            observation_space=VECTOR,
            action_space=action_space,
            n_envs=n_envs,
            run_dir=fresh_folder(tmp_path),
        )
        wrapped: Actor = self.build(context, tmp_path)
        return wrapped

    def attempt(self, tmp_path: Path) -> None:
        """Build it once."""
        self.around(Narrator(self.action_spaces[0]), self.action_spaces[0], 1, tmp_path)

    def _play(self, actor: Actor, n_envs: int) -> Iterator[np.ndarray]:
        """Let it act in two episodes a lane; yield the actions of each step."""
        state = None
        for step in range(2 * N_STEPS):
            begins = step % N_STEPS == 0
            if begins:
                for env_index in range(n_envs):
                    actor.begin_episode(env_index, 1000 * (step + 1) + env_index)
            acts, state = actor(samples(VECTOR, n_envs, step), state, np.full(n_envs, begins))
            yield np.asarray(acts)

    def _first_environment(self, space: Space, n_envs: int, tmp_path: Path) -> list[Any]:
        return [acts[0] for acts in self._play(self.around(Narrator(space), space, n_envs, tmp_path), n_envs)]
