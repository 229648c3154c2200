"""How do the steps of several environments, which arrive side by side, become the trajectories of each?"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from mimetic.errors import DataError
from mimetic.rollout.history import like
from mimetic.rollout.stepping import row_of
from mimetic.types import Trajectory, stack_obs


class TrajectoryAccumulator:
    """Collects steps under a key (mostly an environment's number) until its trajectory is finished.

    The first step of a trajectory holds ``obs`` alone: what the reset gave. Each later one holds the ``acts`` that were
    taken, the ``obs`` and ``rews`` that followed, and ``infos``.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.partial_trajectories: dict[Hashable, list[Mapping[str, Any]]] = {}

    def add_step(self, step: Mapping[str, Any], key: Hashable = None) -> None:
        """Add a step to the running trajectory of ``key``."""
        self.partial_trajectories.setdefault(key, []).append(step)

    def finish_trajectory(
        self, key: Hashable = None, terminal: bool = True, *, truncated: bool | None = None
    ) -> Trajectory:
        """Take the running trajectory of ``key`` out; one that is not terminal was cut, unless ``truncated`` says else.

        Raises:
            DataError: (a ValueError) no step was taken under this key since its reset.
        """
        first, *steps = self.partial_trajectories.pop(key, [{}])
        if not steps:
            raise DataError(f"nothing to finish under the key {key!r}: a trajectory needs at least one action")
        infos = np.empty(len(steps), object)
        infos[:] = [step.get("infos", {}) for step in steps]
        return Trajectory(
            obs=stack_obs([first["obs"], *(step["obs"] for step in steps)]),
            acts=np.stack([step["acts"] for step in steps]),
            infos=infos,
            terminal=terminal,
            rews=np.asarray([step["rews"] for step in steps]),
            truncated=not terminal if truncated is None else truncated,
        )

    def add_steps_and_auto_finish(
        self,
        acts: np.ndarray,
        obs: Any,
        rews: np.ndarray,
        dones: np.ndarray,
        infos: Sequence[Mapping[str, Any]],
    ) -> list[Trajectory]:
        """Add one step of a VecEnv under the keys 0, 1, ...; return the trajectories that it finished.

        Where an environment is done, ``obs`` already begins its next episode, and the observation before that is in
        its info, as stable-baselines3's vectorised environments do it.
        """
        finished: list[Trajectory] = []
        for index, (act, rew, done, info) in enumerate(zip(acts, rews, dones, infos, strict=True)):
            row = row_of(obs, index)
            last = like(row, info["terminal_observation"]) if done else row
            self.add_step({"acts": act, "obs": last, "rews": rew, "infos": info}, index)
            if done:
                cut = bool(info.get("TimeLimit.truncated", False))
                finished.append(self.finish_trajectory(index, terminal=not cut))
                self.add_step({"obs": row}, index)
        return finished
