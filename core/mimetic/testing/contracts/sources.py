"""What must a source of demonstrations do?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mimetic.hookspecs import DataSourceContext, Kind
from mimetic.storage import load_demonstrations, save_demonstrations
from mimetic.testing.contracts.component import ComponentContract, fresh_folder, skip
from mimetic.testing.contracts.facts import (
    closing_what_it_opens,
    leaving_randomness_alone,
    refusals_told,
    require,
)
from mimetic.testing.contracts.worlds import Space
from mimetic.types import (
    Demonstrations,
    Observations,
    TrajectoryDataset,
    TransitionsMinimal,
    as_demonstrations,
    check_demonstrations,
    obs_leaves,
)
from mimetic.types.observations import escape_key


class DataSourceContract(ComponentContract):
    """The facts of a source of demonstrations; inherit from it and set ``name``.

    Most sources read a file: override ``settings`` to write a small one and name it. Say in ``expected`` what is in it,
    and the suite compares every row, with its dtype.
    """

    kind: ClassVar[Kind] = "data-source"

    observation_space: ClassVar[Space | None] = None
    """What the run knows beforehand; None: nothing, the source tells or leaves it open."""

    action_space: ClassVar[Space | None] = None
    """What the run knows beforehand; None: nothing, the source tells or leaves it open."""

    def expected(self) -> tuple[Observations, np.ndarray] | None:
        """Return the observations and actions that the settings of this test lead to, row by row; None: not said."""
        return None

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_gives_demonstrations(self, tmp_path: Path) -> None:
        """At least one step of them, in a form that runs take."""
        n = self.demonstrations(tmp_path).n_transitions
        require(n is None or n > 0, f"{self._title()} gave no transition")

    def test_they_are_what_lies_in_the_file(self, tmp_path: Path) -> None:
        """Every number and every dtype: a source that widens uint8 to float64 needs eight times the memory."""
        expected = self.expected()
        if expected is None:
            raise skip("expected() does not say what the data are")
        pairs = self._pairs(tmp_path)
        for what, seen, wanted in (("obs", pairs.obs, expected[0]), ("acts", pairs.acts, expected[1])):
            _require_equal(self._title(), obs_leaves(seen, what), obs_leaves(wanted, what))

    def test_they_fit_the_spaces_that_are_stated(self, tmp_path: Path) -> None:
        """The source's own, or the run's: shapes, dtypes, lengths, nothing that is no number."""
        demonstrations = self.demonstrations(tmp_path)
        observation_space = demonstrations.observation_space or self.observation_space
        action_space = demonstrations.action_space or self.action_space
        if observation_space is None or action_space is None:
            raise skip("neither the source nor this test states the spaces")
        with refusals_told(f"{self._title()} does not fit {observation_space} and {action_space}"):
            check_demonstrations(demonstrations, observation_space, action_space)
        if isinstance(demonstrations.data, TrajectoryDataset | TransitionsMinimal):
            self._require_dtypes(demonstrations.pairs(), observation_space, action_space)

    def test_they_are_the_same_every_time(self, tmp_path: Path) -> None:
        """A run is repeated from its run file: the data it names must be those of the first time."""
        first, second = (self.demonstrations(tmp_path).fingerprint() for _ in range(2))
        require(first == second, f"{self._title()} gave other data the second time (fingerprints {first}, {second})")

    def test_reading_them_draws_nothing_from_generators_that_others_share(self, tmp_path: Path) -> None:
        """Which demonstrations there are must not decide how a policy is drawn."""
        with leaving_randomness_alone(f"{self._title()}: reading"):
            self.demonstrations(tmp_path)

    def test_it_closes_what_it_opens(self, tmp_path: Path) -> None:
        """Files stay open on nobody's account."""
        with closing_what_it_opens(f"{self._title()}: reading"):
            self.demonstrations(tmp_path)

    def test_they_can_be_kept_as_a_native_dataset(self, tmp_path: Path) -> None:
        """And come back bit for bit."""
        demonstrations = self.demonstrations(tmp_path)
        if not isinstance(demonstrations.data, TrajectoryDataset):
            raise skip("single steps and batches have no episodes to keep")
        path = fresh_folder(tmp_path) / "kept.safetensors"
        with refusals_told(f"{self._title()} cannot be kept"):
            save_demonstrations(demonstrations.data, path)
            kept = as_demonstrations(load_demonstrations(path))
        title = f"{self._title()}, kept and read again,"
        _require_equal(title, obs_leaves(kept.pairs().obs), obs_leaves(demonstrations.pairs().obs))
        _require_equal(title, {"acts": kept.pairs().acts}, {"acts": demonstrations.pairs().acts})

    # --- what they build on ---------------------------------------------------------------------------------------

    def demonstrations(self, tmp_path: Path) -> Demonstrations:
        """Build the source, as a run does, and take what it gives."""
        made = self.source(tmp_path)
        with refusals_told(f"{self._title()} gave no demonstrations"):
            return as_demonstrations(made)

    def source(self, tmp_path: Path) -> Any:
        """Build the source, as a run does."""
        context = DataSourceContext(
            observation_space=self.observation_space, action_space=self.action_space, base_dir=tmp_path
        )
        return self.build(context, tmp_path)

    def attempt(self, tmp_path: Path) -> None:
        """Build it once."""
        self.source(tmp_path)

    def _pairs(self, tmp_path: Path) -> TransitionsMinimal:
        demonstrations = self.demonstrations(tmp_path)
        if not isinstance(demonstrations.data, TrajectoryDataset | TransitionsMinimal):
            raise skip("batches cannot be indexed")
        return demonstrations.pairs()

    def _require_dtypes(self, pairs: TransitionsMinimal, observation_space: Space, action_space: Space) -> None:
        wanted = {**_dtypes_of(observation_space, "obs"), "acts": action_space.dtype}
        for name, column in {**obs_leaves(pairs.obs), "acts": pairs.acts}.items():
            dtype = wanted.get(name)
            require(
                dtype is None or _is_as_narrow(column.dtype, np.dtype(dtype)),
                f"{self._title()}: {name} is {column.dtype}, and the space says {dtype}; keep what the data are",
            )

    def _title(self) -> str:
        return f"data source {self.name!r}"


def _dtypes_of(space: Any, name: str) -> dict[str, Any]:
    spaces = getattr(space, "spaces", None)
    if not isinstance(spaces, Mapping):
        return {name: space.dtype}
    children = [_dtypes_of(child, f"{name}.{escape_key(key)}") for key, child in spaces.items()]
    return {key: dtype for child in children for key, dtype in child.items()}


def _is_as_narrow(seen: np.dtype[Any], stated: np.dtype[Any]) -> bool:
    """Whether a column is of the kind that its space says, and no wider; integers of any width are categories."""
    if stated.kind in "iu" and stated.itemsize == 8:
        return seen.kind in "iu"
    return seen.kind == stated.kind and seen.itemsize <= stated.itemsize


def _require_equal(title: str, seen: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> None:
    require(set(seen) == set(wanted), f"{title} has the columns {sorted(seen)}; expected {sorted(wanted)}")
    for name, column in wanted.items():
        told = f"{title} has {name} of {seen[name].dtype} and shape {seen[name].shape}"
        require(seen[name].dtype == column.dtype, f"{told}; expected {column.dtype}")
        require(seen[name].shape == column.shape, f"{told}; expected {column.shape}")
        same = np.ascontiguousarray(seen[name]).tobytes() == np.ascontiguousarray(column).tobytes()
        require(same, f"{title} has other numbers in {name} than expected")
