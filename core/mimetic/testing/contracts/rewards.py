"""What must a reward do?"""

import copy
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mimetic.hookspecs import Kind, RewardContext
from mimetic.testing.contracts.component import ComponentContract
from mimetic.testing.contracts.facts import leaving_randomness_alone, require
from mimetic.testing.contracts.worlds import CHOICE, VECTOR, Space, samples
from mimetic.types import obs_leaves, take_rows

N_ROWS = 5


class RewardContract(ComponentContract):
    """The facts of a reward; inherit from it and set ``name``."""

    kind: ClassVar[Kind] = "reward"

    observation_space: ClassVar[Space] = VECTOR
    """What it sees."""

    action_space: ClassVar[Space] = CHOICE
    """What was done."""

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_pays_one_number_a_step(self, tmp_path: Path) -> None:
        """However many steps it is asked about at once."""
        for n in (1, 2, N_ROWS):
            rews = np.asarray(self.reward(tmp_path)(*self.transitions(n)))
            told = f"{self._title()} gave an array of {rews.dtype} and shape {rews.shape} for {n} steps"
            require(rews.shape == (n,), f"{told}; expected ({n},)")
            require(rews.dtype.kind in "fiub", f"{told}; expected numbers")
            require(bool(np.isfinite(rews).all()), f"{self._title()} pays what is no finite number: {rews}")

    def test_it_pays_the_same_for_the_same(self, tmp_path: Path) -> None:
        """It keeps nothing from call to call."""
        reward = self.reward(tmp_path)
        first, second = (np.asarray(reward(*self.transitions(N_ROWS))) for _ in range(2))
        require(np.array_equal(first, second), f"{self._title()} paid {first} and then {second} for the same steps")

    def test_what_it_pays_for_a_step_does_not_depend_on_the_steps_beside_it(self, tmp_path: Path) -> None:
        """Environments are evaluated one by one and together."""
        reward = self.reward(tmp_path)
        transitions = self.transitions(N_ROWS)
        together = np.asarray(reward(*transitions), np.float64)
        rows = [slice(row, row + 1) for row in range(N_ROWS)]
        alone = np.concatenate([np.asarray(reward(*(take_rows(each, row) for each in transitions))) for row in rows])
        close = np.allclose(together, alone, rtol=1e-5, atol=1e-6)
        require(close, f"{self._title()} pays {together} for steps together and {alone} for each alone")

    def test_it_changes_nothing_that_it_is_shown(self, tmp_path: Path) -> None:
        """The arrays are the environment's."""
        transitions = self.transitions(N_ROWS)
        before = copy.deepcopy(transitions)
        self.reward(tmp_path)(*transitions)
        for name, seen, kept in zip(("obs", "acts", "next_obs", "dones"), transitions, before, strict=True):
            now, then = obs_leaves(seen, name), obs_leaves(kept, name)
            changed = [key for key, column in now.items() if not np.array_equal(column, then[key])]
            require(not changed, f"{self._title()} changed {', '.join(changed)}")

    def test_it_draws_nothing_from_generators_that_others_share(self, tmp_path: Path) -> None:
        """What is paid must not decide what is learned."""
        with leaving_randomness_alone(self._title()):
            self.reward(tmp_path)(*self.transitions(N_ROWS))

    # --- what they build on ---------------------------------------------------------------------------------------

    def reward(self, tmp_path: Path) -> Any:
        """Build the reward, as an evaluation does."""
        context = RewardContext(
            observation_space=self.observation_space, action_space=self.action_space, base_dir=tmp_path
        )
        return self.build(context, tmp_path)

    def attempt(self, tmp_path: Path) -> None:
        """Build it once."""
        self.reward(tmp_path)

    def transitions(self, n: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """Return n random steps: ``(obs, acts, next_obs, dones)``."""
        acts = samples(self.action_space, n, 1)
        assert isinstance(acts, np.ndarray)
        dones = np.arange(n) % 2 == 1
        return samples(self.observation_space, n, 0), acts, samples(self.observation_space, n, 2), dones

    def _title(self) -> str:
        return f"reward {self.name!r}"
