"""How does an array grow by a row at a time, without one array for each row?"""

from typing import Any

import numpy as np

FIRST_ROOM = 16
"""So many rows there is room for at first; it doubles when it is used up."""


class Rows:
    """Rows of one shape and dtype, added at the end and forgotten at the beginning."""

    def __init__(self, like: Any, dtype: Any = None) -> None:
        """Begin without rows; ``like`` shows what one will look like."""
        like = np.asarray(like, dtype)
        self.shape = like.shape  # of one row
        self._array = np.empty((FIRST_ROOM, *like.shape), like.dtype)
        self._n = 0

    def __len__(self) -> int:
        """Count the rows."""
        return self._n

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the rows."""
        return np.dtype(self._array.dtype)

    def append(self, row: Any) -> None:
        """Copy a row, which must have the shape, to the end; its dtype becomes that of the others."""
        if self._n == len(self._array):
            self._array = np.concatenate([self._array, np.empty_like(self._array)])
        self._array[self._n] = row
        self._n += 1

    def replace_last(self, row: Any) -> None:
        """Copy a row over the last one."""
        self._array[self._n - 1] = row

    def view(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return rows as they lie here: they may be moved or written over later."""
        return self._array[start : self._n if stop is None else stop]

    def widen(self, dtype: np.dtype[Any]) -> None:
        """Make room for another dtype, too."""
        self._array = self._array.astype(np.result_type(self._array, dtype))

    def forget(self, n: int) -> None:
        """Drop the first n rows."""
        self._array[: self._n - n] = self._array[n : self._n].copy()
        self._n -= n
