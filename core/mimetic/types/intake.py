"""Do demonstrations fit the spaces that they are used in? Checked once, before the first gradient step.

Every fault is named with trajectory, step, what was seen and what was expected. Rows are reshaped where only
dimensions of size one differ (actions also when they come flat), and never edited: actions outside of their bounds
are counted and reported, no more.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mimetic.errors import DataError
from mimetic.types.dataset import TrajectoryDataset
from mimetic.types.demonstrations import Batches, Demonstrations, as_demonstrations
from mimetic.types.fit import Findings, Where, count_rows, fit_actions, fit_observations, non_finite, plural
from mimetic.types.observations import as_array, as_observations, n_rows
from mimetic.types.transitions import Transitions, TransitionsMinimal

if TYPE_CHECKING:
    import gymnasium as gym


@dataclass(frozen=True, slots=True)
class IntakeReport:
    """What was found: faults, which stop a training, and notes, which do not."""

    faults: tuple[str, ...]
    notes: tuple[str, ...]


def check_demonstrations(
    demonstrations: Any, observation_space: "gym.Space[Any]", action_space: "gym.Space[Any]"
) -> Demonstrations:
    """Check demonstrations in any form against the spaces, and return them in the shapes of the spaces.

    What is only noteworthy comes as one warning each. Batches that cannot be looked at beforehand are checked one by
    one as they are used.

    Raises:
        DataError: with every fault that was found.
    """
    demonstrations = as_demonstrations(demonstrations)
    fitted, report = _examine(demonstrations, observation_space, action_space)
    for note in report.notes:
        warnings.warn(note, stacklevel=2)
    if report.faults:
        raise DataError("\n".join(report.faults))
    return Demonstrations(fitted, observation_space, action_space, demonstrations.description)


def inspect_demonstrations(
    demonstrations: Any,
    observation_space: "gym.Space[Any] | None" = None,
    action_space: "gym.Space[Any] | None" = None,
) -> IntakeReport:
    """Return every fault and note, with the spaces that are given or that the demonstrations know; raise none."""
    demonstrations = as_demonstrations(demonstrations)
    observation_space = demonstrations.observation_space if observation_space is None else observation_space
    action_space = demonstrations.action_space if action_space is None else action_space
    report = _examine(demonstrations, observation_space, action_space)[1]
    return IntakeReport((*report.faults, *_reward_faults(demonstrations)), report.notes)


def _reward_faults(demonstrations: Demonstrations) -> list[str]:
    """Say where rewards are no numbers: cloning does without them, statistics do not."""
    data = demonstrations.data
    if not isinstance(data, TrajectoryDataset) or data.rews is None:
        return []
    count, first = count_rows(data.rews, non_finite)
    where = _places(data.episode_ends)(first)
    found = f"{demonstrations.description}: {plural(count, 'non-finite reward')}, first at {where}"
    return [found] if count else []


def _examine(
    demonstrations: Demonstrations, obs_space: "gym.Space[Any] | None", act_space: "gym.Space[Any] | None"
) -> tuple[Any, IntakeReport]:
    """Return the data in the shapes of the spaces, and what was found."""
    findings = Findings(demonstrations.description)
    data = demonstrations.data
    if isinstance(data, (TrajectoryDataset, TransitionsMinimal)) and not demonstrations.n_transitions:
        findings.fault("nothing is in them; expected at least one transition")
    elif isinstance(data, TrajectoryDataset):
        data = _fit_dataset(findings, data, obs_space, act_space)
    elif isinstance(data, TransitionsMinimal):
        data = _fit_transitions(findings, data, obs_space, act_space)
    elif isinstance(data, list | tuple):
        data = [_fit_batch(findings, batch, number, obs_space, act_space) for number, batch in enumerate(data)]
    else:
        data = CheckedBatches(data, obs_space, act_space)
    return data, IntakeReport(tuple(findings.faults), tuple(findings.notes))


def _fit_dataset(findings: Findings, data: TrajectoryDataset, obs_space: Any, act_space: Any) -> TrajectoryDataset:
    ends = data.episode_ends
    obs = fit_observations(findings, data.obs, obs_space, _places(ends + np.arange(1, len(data) + 1)))
    acts = fit_actions(findings, data.acts, act_space, _places(ends))
    return data.with_columns(obs, acts).with_spaces(obs_space, act_space)


def _fit_transitions(
    findings: Findings, data: TransitionsMinimal, obs_space: Any, act_space: Any
) -> TransitionsMinimal:
    places = _places(_flagged_ends(data))
    fitted = {
        "obs": fit_observations(findings, data.obs, obs_space, places),
        "acts": fit_actions(findings, data.acts, act_space, places),
    }
    if isinstance(data, Transitions):
        fitted["next_obs"] = fit_observations(findings, data.next_obs, obs_space, places, prefix="next ")
    return data if findings.faults else type(data)(**{**data.columns(), **fitted})


def _fit_batch(
    findings: Findings, batch: Mapping[str, Any], number: int, obs_space: Any, act_space: Any
) -> Mapping[str, Any]:
    def place(row: int) -> str:
        return f"batch {number} row {row}"

    obs, acts = as_observations(_on_cpu(batch["obs"])), as_array(_on_cpu(batch["acts"]), "acts")
    if acts.ndim == 0 or n_rows(obs) != len(acts):
        findings.fault(f"batch {number} has {n_rows(obs)} observations and actions of shape {acts.shape}")
        return batch
    fitted = {
        "obs": fit_observations(findings, obs, obs_space, place),
        "acts": fit_actions(findings, acts, act_space, place),
    }
    return {**batch, **fitted}


class CheckedBatches:
    """Batches that are checked as they are used: what is live cannot be looked at beforehand."""

    def __init__(
        self, batches: Batches, obs_space: "gym.Space[Any] | None", act_space: "gym.Space[Any] | None"
    ) -> None:
        """Wrap an iterable of batches; each walk through it starts anew."""
        self._batches = batches
        self._spaces = obs_space, act_space
        self._has_noted = False

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Walk through the batches.

        Raises:
            DataError: a batch does not fit; the message has its number.
        """
        for number, batch in enumerate(self._batches):
            findings = Findings()
            fitted = _fit_batch(findings, batch, number, *self._spaces)
            if findings.faults:
                raise DataError("\n".join(findings.faults))
            if findings.notes and not self._has_noted:
                self._has_noted = True
                warnings.warn(f"batch {number} of {findings.notes[0]}", stacklevel=2)
            yield fitted


def _places(ends: np.ndarray) -> Where:
    """Say in words where a row is, given where trajectories end."""

    def place(row: int) -> str:
        trajectory = int(np.searchsorted(ends, row, side="right"))
        return f"trajectory {trajectory} step {row - (int(ends[trajectory - 1]) if trajectory else 0)}"

    return place


def _flagged_ends(data: TransitionsMinimal) -> np.ndarray:
    if isinstance(data, Transitions):
        return np.flatnonzero(data.dones | data.truncated) + 1
    return np.zeros(0, np.int64)


def _on_cpu(value: Any) -> Any:
    """Bring tensors of other libraries to where numpy can see them."""
    if isinstance(value, Mapping):
        return {key: _on_cpu(child) for key, child in value.items()}
    detach = getattr(value, "detach", None)
    return value if detach is None else detach().cpu()
