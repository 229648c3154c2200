"""What must a wrapper do, whatever it goes around?"""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mimetic.hookspecs import Kind, WrapperContext, WrapperEntry
from mimetic.testing.contracts.component import ComponentContract, fresh_folder
from mimetic.testing.contracts.facts import require

N_STEPS = 12
SEED = 11
OWN_GENERATOR = "draw from a generator of your own, seeded by the context's `seed`"


class WrapperContract(ComponentContract):
    """What wrappers of every level have in common; inherit from the suite of a level instead."""

    kind: ClassVar[Kind] = "wrapper"
    level: ClassVar[str]

    def test_its_entry_says_what_it_goes_around(self) -> None:
        """A run file puts it where its level says."""
        entry = self.component().entry
        level = entry.level if isinstance(entry, WrapperEntry) else None
        require(level == self.level, f"{self.component()} is of level {level!r}, and is tested as {self.level!r}")

    def wrap(self, wrapped: Any, tmp_path: Path, *, n_envs: int = 1, seed: int = 5) -> Any:
        """Build the wrapper, as a run does."""
        context = WrapperContext(
            wrapped=wrapped,
            env_index=0,
            seed=seed,
            observation_space=wrapped.observation_space,
            action_space=wrapped.action_space,
            n_envs=n_envs,
            run_dir=fresh_folder(tmp_path),
        )
        return self.build(context, tmp_path)

    def _title(self) -> str:
        return f"wrapper {self.name!r}"


def same(first: Any, second: Any) -> bool:
    """Compare arrays inside of lists, tuples and mappings."""
    if isinstance(first, dict):
        return set(first) == set(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(np.array_equal(np.asarray(first), np.asarray(second)))
