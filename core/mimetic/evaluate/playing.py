"""How are episodes played until enough of them count?"""

import signal
import threading
from collections.abc import Callable, Iterator
from itertools import chain, count
from types import FrameType, TracebackType
from typing import ClassVar, Self

import numpy as np

from mimetic.envs import EpisodePlan, EpisodeRecord
from mimetic.errors import EnvError
from mimetic.evaluate.lanes import Ending, Lanes
from mimetic.evaluate.ledger import FinishedEpisode, Ledger
from mimetic.evaluate.rollouts import Marks
from mimetic.policies import Actor
from mimetic.seeding import generator


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
    seed_of = plan.seed_of if lanes.exact else _numbers(plan.seed)
    totals = np.zeros(lanes.n_envs, np.float64)
    playing: list[int | None] = list(range(lanes.n_envs))  # the episode that each environment plays
    seeds = [0] * lanes.n_envs  # of those episodes
    obs, state = lanes.reset(), None
    begun: np.ndarray | None = np.ones(lanes.n_envs, bool)
    while not ledger.complete and not interruption.asked:
        if begun is None:
            begun = np.zeros(lanes.n_envs, bool)
        else:
            for i in begun.nonzero()[0].tolist():
                index = playing[i]
                if index is not None:
                    seeds[i] = seed_of(index)
                    actor.begin_episode(i, seeds[i])
        acts, state = actor(obs, state, begun)
        obs, rews, begun, endings, idle = lanes.step(acts)
        if marks is not None:
            marks.add(actor.last_infos, idle)
        totals += rews
        for ending in endings:
            i = ending.env_index
            if marks is not None:
                ending = marks.move_into(ending)
            ledger.add(_finished(ending, seeds[i] if repeatable else None, float(totals[i])))
            totals[i], playing[i] = 0.0, ending.next_index
        if endings and not ledger.complete and playing[ledger.next_index % lanes.n_envs] is None:
            raise EnvError(
                f"environment {ledger.next_index % lanes.n_envs} made {plan.max_steps:,} steps without an end, and one "
                f"of several cannot be reset alone, so episode {ledger.next_index} can never begin; wrap the "
                "environments in gymnasium.wrappers.TimeLimit, or let mimetic build them"
            )


def _numbers(seed: int) -> Callable[[int], int]:
    """Return what gives numbers in the order in which it is asked: seeds of episodes that nobody can play again."""
    stream = generator(seed, "unrepeatable episodes")
    numbers: Iterator[int] = chain.from_iterable(stream.integers(2**31, size=256).tolist() for _ in count())
    return lambda index: next(numbers)


def _finished(ending: Ending, seed: int | None, episode_return: float) -> FinishedEpisode:
    record = EpisodeRecord(
        index=ending.number,
        seed=seed,
        env_index=ending.env_index,
        episode_return=episode_return,
        env_return=episode_return if ending.pays_own else ending.env_return,
        length=ending.length,
        terminated=ending.terminated,
        truncated=ending.truncated,
        is_success=ending.is_success,
    )
    monitored = episode_return if ending.pays_own else ending.monitor_return
    return FinishedEpisode(record, ending.cut, monitored, ending.trajectories)


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
