"""How are episodes played until enough of them count?"""

import signal
import threading
from types import FrameType, TracebackType
from typing import ClassVar, Self

import numpy as np

from mimetic.envs import EpisodePlan
from mimetic.errors import EnvError
from mimetic.evaluate.lanes import Lanes
from mimetic.evaluate.ledger import Ledger
from mimetic.policies import Actor
from mimetic.rollout.stepping import Where


def play(
    lanes: Lanes, actor: Actor, plan: EpisodePlan, ledger: Ledger, *, interruption: "Interruption | None" = None
) -> bool:
    """Play until the ledger is complete; return whether Ctrl-C, or a closed window, came before.

    ``interruption.asked`` tells afterwards whether it was Ctrl-C.

    Raises:
        EnvError: An episode that is needed can never be played.
        KeyboardInterrupt: Ctrl-C came twice.
    """
    with interruption or Interruption() as interruption:
        try:
            _play(lanes, actor, plan, ledger, interruption)
        except KeyboardInterrupt:
            if interruption.insisted:
                raise
        finally:
            ledger.add(lanes.rest())
    if ledger.complete:
        return False
    ledger.settle()
    return True


def _play(lanes: Lanes, actor: Actor, plan: EpisodePlan, ledger: Ledger, interruption: "Interruption") -> None:
    live, misleading = actor.live, lanes.exact and not actor.seeded  # a seed would not bring the episode back
    obs, state = lanes.reset(), None
    begun: Where | None = Where(np.ones(lanes.n_envs, bool), list(range(lanes.n_envs)))
    while not interruption.asked:
        if begun is None:
            starts = np.zeros(lanes.n_envs, bool)
        else:
            starts = begun.mask
            for env_index, seed in lanes.begin(begun.numbers):
                actor.begin_episode(env_index, seed)
        acts, state = actor(obs, state, starts)
        obs, begun, ended = lanes.step(acts, actor.last_infos)
        if live:
            ended = [*ended, *lanes.rest()]
        if not ended:
            continue
        ledger.add([episode._replace(seed=None) for episode in ended] if misleading else ended)
        if ledger.complete:
            return
        if not lanes.plays(ledger.next_index):
            raise EnvError(
                f"environment {ledger.next_index % lanes.n_envs} made {plan.max_steps:,} steps without an end, and one "
                f"of several cannot be reset alone, so episode {ledger.next_index} can never begin; wrap the "
                "environments in gymnasium.wrappers.TimeLimit, or let mimetic build them"
            )


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
