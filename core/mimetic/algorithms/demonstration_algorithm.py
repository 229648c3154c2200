"""What do all algorithms that learn from demonstrations share as Python objects?"""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.errors import DataError
from mimetic.logs import HierarchicalLogger, configure

_VARIABLE_HORIZON_WARNING = (
    "Episodes of different lengths are allowed for an algorithm that such lengths can mislead: where the length of an "
    "episode tells how well it went, a policy may seem to imitate by ending early or by going on. Prefer environments "
    "with a fixed horizon when you compare algorithms."
)


class DemonstrationAlgorithm(ABC):
    """An algorithm as a Python object: holds a logger, takes demonstrations, has a policy."""

    allow_variable_horizon: bool
    """Whether demonstrations of different lengths are accepted."""

    def __init__(
        self,
        *,
        demonstrations: Any,
        custom_logger: HierarchicalLogger | None = None,
        allow_variable_horizon: bool = False,
    ) -> None:
        """Set the logger, then hand ``demonstrations`` to :meth:`set_demonstrations` unless they are None.

        Args:
            demonstrations: whatever :meth:`set_demonstrations` takes, or None.
            custom_logger: where to log to; None makes one in a temporary folder when it is first used.
            allow_variable_horizon: accept episodes of different lengths, and warn about it once.
        """
        self.allow_variable_horizon = allow_variable_horizon
        self._logger = custom_logger
        self._horizon: int | None = None
        if allow_variable_horizon and self._is_misled_by_lengths():
            self.logger.warn(_VARIABLE_HORIZON_WARNING)
        if demonstrations is not None:
            self.set_demonstrations(demonstrations)

    @property
    def logger(self) -> HierarchicalLogger:
        """Where everything is logged. Another one takes over as a whole from the next record on."""
        if self._logger is None:
            self._logger = configure()
            weakref.finalize(self, self._logger.close)
        return self._logger

    @logger.setter
    def logger(self, logger: HierarchicalLogger) -> None:
        self._logger = logger

    @property
    @abstractmethod
    def policy(self) -> ActorCriticPolicy:
        """The policy that imitates the demonstrations."""

    @abstractmethod
    def set_demonstrations(self, demonstrations: Any) -> None:
        """Replace the demonstrations."""

    def check_fixed_horizon(self, lengths: Iterable[int]) -> None:
        """Refuse episodes of different lengths, those of earlier calls included, unless they are allowed.

        Algorithms that such lengths can mislead call it with what they collect or are given; BC never does.

        Raises:
            DataError: names the shortest and the longest episode.
        """
        seen = set(lengths) | ({self._horizon} if self._horizon is not None else set())
        if self.allow_variable_horizon or not seen:
            return
        if len(seen) > 1:
            raise DataError(
                f"episodes have {len(seen)} different lengths, from {min(seen)} to {max(seen)} steps; "
                "expected one length, or allow_variable_horizon=True"
            )
        self._horizon = seen.pop()

    def _is_misled_by_lengths(self) -> bool:
        """Whether the length of an episode can mislead this algorithm."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        """Leave the logger behind: it holds open files."""
        return {**self.__dict__, "_logger": None}
