"""How are episodes played until enough of them count?"""

import signal
import threading
from types import FrameType, TracebackType
from typing import ClassVar, Self

import numpy as np

from mimetic.envs import EpisodePlan, EpisodeRecord
from mimetic.errors import EnvError
from mimetic.evaluate.lanes import Ending, Lanes
from mimetic.evaluate.ledger import FinishedEpisode, Ledger
from mimetic.evaluate.rollouts import Marks
from mimetic.policies import Actor


def play(
    lanes: Lanes,
    actor: Actor,
    plan: EpisodePlan,
    ledger: Ledger,
    *,
    keeps_marks: bool = False,
    interruption: "Interruption | None" = None,
) -> bool:
    """Play until the ledger is complete; return whether Ctrl-C, or a closed window, came before.

    With ``keeps_marks``, what the actor notes about its actions goes into the infos of the kept trajectories.
    ``interruption.asked`` tells afterwards whether it was Ctrl-C.

    Raises:
        EnvError: An episode that is needed can never be played.
        KeyboardInterrupt: Ctrl-C came twice.
    """
    marks = Marks(lanes.n_envs) if keeps_marks else None
    with interruption or Interruption() as interruption:
        try:
            _play(lanes, actor, plan, ledger, marks, interruption)
        except KeyboardInterrupt:
            if interruption.insisted:
                raise
    if ledger.complete:
        return False
    ledger.settle()
    return True


def _play(
    lanes: Lanes, actor: Actor, plan: EpisodePlan, ledger: Ledger, marks: Marks | None, interruption: "Interruption"
) -> None:
    repeatable = lanes.exact and actor.seeded
    totals = np.zeros(lanes.n_envs, np.float64)
    lengths = np.zeros(lanes.n_envs, np.int64)
    playing: list[int | None] = list(range(lanes.n_envs))  # the episode that each environment plays
    obs, state, begun = lanes.reset(), None, np.ones(lanes.n_envs, bool)
    while not ledger.complete and not interruption.asked:
        if begun.any():
            for i in np.flatnonzero(begun).tolist():
                index = playing[i]
                if index is not None:
                    actor.begin_episode(i, plan.seed_of(index))
        acts, state = actor(obs, state, begun)
        moment = lanes.step(acts)
        if marks is not None:
            marks.add(actor.last_infos, playing, moment.idle)
        obs, begun = moment.obs, moment.begun
        totals += moment.rews
        lengths += 1 if moment.idle is None else ~moment.idle
        for ending in moment.endings:
            i = ending.env_index
            if marks is not None:
                ending = marks.move_into(ending)
            seed = plan.seed_of(ending.index) if repeatable else None
            ledger.add(_finished(ending, seed, float(totals[i]), int(lengths[i])))
            totals[i], lengths[i], playing[i] = 0.0, 0, ending.next_index
        if moment.endings and not ledger.complete and playing[ledger.next_index % lanes.n_envs] is None:
            raise EnvError(
                f"environment {ledger.next_index % lanes.n_envs} made {plan.max_steps:,} steps without an end, and one "
                f"of several cannot be reset alone, so episode {ledger.next_index} can never begin; wrap the "
                "environments in gymnasium.wrappers.TimeLimit, or let mimetic build them"
            )


def _finished(ending: Ending, seed: int | None, episode_return: float, length: int) -> FinishedEpisode:
    record = EpisodeRecord(
        index=ending.index,
        seed=seed,
        env_index=ending.env_index,
        episode_return=episode_return,
        env_return=ending.env_return,
        length=length,
        terminated=ending.terminated,
        truncated=ending.truncated,
        is_success=ending.is_success,
    )
    return FinishedEpisode(record, ending.cut, ending.monitor_return, ending.trajectories)


class Interruption:
    """Makes the first Ctrl-C a wish, ``asked``, that the loop grants between two steps; the second ends it at once."""

    _current: "ClassVar[Interruption | None]" = None

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self.asked = False
        self.insisted = False
        self._handles = False

    def __enter__(self) -> Self:
        """Take Ctrl-C over, where nobody else has."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._handles = True
            Interruption._current = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give Ctrl-C back."""
        if self._handles:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            Interruption._current = None

    @classmethod
    def grant(cls) -> None:
        """Grant the wish now: for whatever waits long within a step, such as for a person.

        Raises:
            KeyboardInterrupt: Ctrl-C came while episodes are played.
        """
        if cls._current is not None and cls._current.asked:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            self.insisted = True
            raise KeyboardInterrupt
        self.asked = True
