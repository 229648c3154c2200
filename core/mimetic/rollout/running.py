"""What is known of the episodes that are being played side by side, and what is taken out of them when they end?"""

from collections.abc import Sequence
from typing import Any

from mimetic.rollout.history import History
from mimetic.rollout.lengths import Lengths
from mimetic.rollout.stepping import Step, VectorSteps, VenvSteps
from mimetic.types import Trajectory


class RunningEpisodes:
    """The episodes of environments that do not know them themselves: their lengths and, if recorded, their steps."""

    def __init__(self, steps: VectorSteps | VenvSteps, obs: Any, max_steps: int, *, record: bool) -> None:
        """Begin with what the reset gave; an episode of ``max_steps`` steps is over, too."""
        self._steps = steps
        self._history = History(obs, steps.n_envs) if record else None
        self._lengths = Lengths(steps.n_envs, max_steps)
        self._left: list[int] = []  # nobody asks for these environments any more

    def add(self, acts: Any, step: Step, *, infos: bool = False) -> Sequence[int]:
        """Add a step; return the environments whose episodes are over: done, or at the step ceiling."""
        if self._history is not None:
            self._history.add(acts, step.seen, step.rews, step.infos if infos else None)  # type: ignore[arg-type]  # asked of sequences only
        at_ceiling = self._lengths.tick()
        if step.idle is not None:
            self._lengths.begin(step.idle.numbers)
        over: Sequence[int] = () if step.dones is None else step.dones.numbers
        if at_ceiling:
            over = sorted({*over, *self._lengths.at_ceiling()})
        return [index for index in over if index not in self._left] if self._left else over

    def length(self, index: int) -> int:
        """Return the length of an environment's episode."""
        return self._lengths.of(index)

    def finish(self, index: int, step: Step) -> Trajectory:
        """Take out the steps of an episode that is over; one that is not done was cut."""
        assert self._history is not None
        if step.dones is None or not step.dones.mask[index]:
            return self._history.finish(index, terminated=False)
        assert step.terminated is not None
        return self._history.finish(
            index, terminated=bool(step.terminated[index]), last_obs=self._steps.last_obs(step, index)
        )

    def leave(self, index: int) -> None:
        """Keep nothing of an environment any more."""
        self._left.append(index)

    def go_on(self, over: Sequence[int], step: Step) -> None:
        """Begin what begins after a step whose ended episodes have been taken out."""
        if self._history is not None and step.obs is not step.seen:
            self._history.replace(step.obs)
        begun = [*(() if step.begun is None else step.begun.numbers), *self._left]
        self._lengths.begin(over)
        self._lengths.begin(begun)
        if self._history is not None:
            self._history.begin(begun)
            self._history.forget()
