"""How are values collected between two dumps, and how do means of inner loops reach the outer log?"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from mimetic.logs.records import RESERVED_KEYS, Logger, Record, Value, plain_value
from mimetic.logs.sinks import Sink

DEBUG, INFO, WARN, ERROR, DISABLED = 10, 20, 30, 40, 50
"""Levels of :meth:`HierarchicalLogger.log`, as in stable-baselines3. DISABLED silences records too."""


class _Pending:
    """The values that were recorded since the last dump, and what they are written to."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self.sinks = tuple(sinks)
        self._values: dict[str, Value] = {}
        self._counts: dict[str, int] = {}
        self._exclude: dict[str, frozenset[str]] = {}

    def set(self, key: str, value: Value, exclude: frozenset[str]) -> None:
        self._values[key] = value
        self._counts.pop(key, None)
        self._exclude[key] = exclude

    def add_to_mean(self, key: str, value: Value, exclude: frozenset[str]) -> None:
        if value is None:
            return
        if isinstance(value, str):
            raise TypeError(f"record_mean({key!r}, ...): text has no mean, got {value!r}")
        count = self._counts.get(key, 0)
        mean = self._values.get(key) if count else 0.0
        assert isinstance(mean, (int, float))
        self._values[key] = mean + (value - mean) / (count + 1)
        self._counts[key] = count + 1
        self._exclude[key] = exclude

    def flush(self, step: int, epoch: int | None, *, write: bool) -> None:
        values, exclude = self._values, self._exclude
        self._values, self._counts, self._exclude = {}, {}, {}
        for sink in self.sinks if write else ():
            wanted = {key: value for key, value in values.items() if sink.name not in exclude[key]}
            if wanted:
                sink.write(Record(step=step, epoch=epoch, values=wanted))


class HierarchicalLogger:
    """Collects values by key and writes them as one record at each :meth:`dump`.

    Inside :meth:`accumulate_means` each value goes to a log of its own under ``raw/``, and its mean to the outer
    log under ``mean/``, so that an inner training loop shows up as one number per outer step.
    """

    def __init__(
        self,
        loggers: Sequence[Logger | Sink],
        folder: str | os.PathLike[str] | None = None,
        *,
        open_nested: Callable[[Path], Sequence[Logger | Sink]] | None = None,
    ) -> None:
        """Write to ``loggers``.

        ``open_nested`` makes the loggers of a folder below ``folder`` for the raw values of
        :meth:`accumulate_means`; without it, or without a folder, raw values go to ``loggers`` themselves.
        """
        self._folder = None if folder is None else Path(folder)
        self._open_nested = open_nested
        self._root = _Pending(_as_sinks(loggers))
        self._nested: dict[str, _Pending] = {}
        self._inside: str | None = None  # "<accumulate prefixes>/<name>" of the context that is open
        self._accumulate_prefixes: list[str] = []
        self._key_prefixes: list[str] = []
        self._level = INFO
        self._closed = False
        self.epoch: int | None = None
        """The epoch that following records belong to; None while there is none."""

    # --- values -----------------------------------------------------------------------------------------------

    def record(self, key: str, value: object, exclude: str | Sequence[str] | None = None) -> None:
        """Set ``key`` in the next record; a second value replaces the first.

        Inside :meth:`accumulate_means` the value goes to the raw log and counts into the mean.
        ``exclude`` names loggers that are not given this key.
        """
        plain, without = _checked(key, value), _names(exclude)
        if self._inside is None:
            self._root.set(key, plain, without)
            return
        place = "/".join((self._inside, *self._key_prefixes, key))
        self._nested[self._inside].set(f"raw/{place}", plain, without)
        self._root.add_to_mean(f"mean/{place}", None if isinstance(plain, str) else plain, without)

    def record_mean(self, key: str, value: object, exclude: str | Sequence[str] | None = None) -> None:
        """Count ``value`` into the mean of ``key`` in the next record of the outer log; None is passed over."""
        self._root.add_to_mean(key, _checked(key, value), _names(exclude))

    def dump(self, step: int = 0) -> None:
        """Write what was recorded as one record of ``step``, and start afresh.

        Nothing recorded, nothing written. Inside :meth:`accumulate_means` the raw values are written, and the means
        stay for the outer dump.

        Raises:
            RuntimeError: the logger was closed.
        """
        if self._closed:
            raise RuntimeError("dump(): this logger was closed; make another one with mimetic.logs.configure()")
        pending = self._root if self._inside is None else self._nested[self._inside]
        pending.flush(int(step), self.epoch, write=self._level < DISABLED)

    # --- text -------------------------------------------------------------------------------------------------

    def log(self, *args: object, level: int = INFO) -> None:
        """Write a message to every logger that takes text, when ``level`` is at or above the level that is set."""
        if self._level <= level:
            message = " ".join(map(str, args))
            for sink in self._root.sinks:
                sink.write_message(message)

    def debug(self, *args: object) -> None:
        """Log a message of level DEBUG."""
        self.log(*args, level=DEBUG)

    def info(self, *args: object) -> None:
        """Log a message of level INFO."""
        self.log(*args, level=INFO)

    def warn(self, *args: object) -> None:
        """Log a message of level WARN."""
        self.log(*args, level=WARN)

    def error(self, *args: object) -> None:
        """Log a message of level ERROR."""
        self.log(*args, level=ERROR)

    def set_level(self, level: int) -> None:
        """Let through messages of ``level`` and above; DISABLED silences records too."""
        self._level = level

    # --- means of inner loops ---------------------------------------------------------------------------------

    @contextmanager
    def accumulate_means(self, name: str) -> Iterator[None]:
        """Send values to the log ``raw/<prefixes>/<name>`` and their means to ``mean/...`` of the outer log.

        Raises:
            RuntimeError: such a context is open already.
        """
        if self._inside is not None:
            raise RuntimeError(f"accumulate_means({name!r}): {self._inside!r} is open, and these contexts do not nest")
        inside = "/".join((*self._accumulate_prefixes, name))
        if inside not in self._nested:
            self._nested[inside] = _Pending(self._nested_sinks(inside))
        self._inside = inside
        try:
            yield
        finally:
            self._inside = None

    @contextmanager
    def add_accumulate_prefix(self, prefix: str) -> Iterator[None]:
        """Put ``prefix`` before the names of the :meth:`accumulate_means` contexts that are opened inside.

        Raises:
            RuntimeError: an :meth:`accumulate_means` context is open.
        """
        if self._inside is not None:
            raise RuntimeError(
                f"add_accumulate_prefix({prefix!r}): only outside accumulate_means(), and {self._inside!r} is open"
            )
        self._accumulate_prefixes.append(prefix)
        try:
            yield
        finally:
            self._accumulate_prefixes.pop()

    @contextmanager
    def add_key_prefix(self, prefix: str) -> Iterator[None]:
        """Put ``prefix`` before the keys that are recorded inside, between the context's name and the key.

        Raises:
            RuntimeError: no :meth:`accumulate_means` context is open.
        """
        if self._inside is None:
            raise RuntimeError(f"add_key_prefix({prefix!r}): only inside accumulate_means(), none is open")
        self._key_prefixes.append(prefix)
        try:
            yield
        finally:
            self._key_prefixes.pop()

    def _nested_sinks(self, inside: str) -> tuple[Sink, ...]:
        if self._open_nested is None or self._folder is None:
            return self._root.sinks
        return _as_sinks(self._open_nested(self._folder / "raw" / inside))

    # --- life -------------------------------------------------------------------------------------------------

    def get_dir(self) -> Path | None:
        """Return the folder that the loggers write to, or None."""
        return self._folder

    def close(self) -> None:
        """Close every logger. Values that were not dumped are lost; closing twice is harmless."""
        self._closed = True
        for pending in (self._root, *self._nested.values()):
            for sink in pending.sinks:
                sink.close()

    def __enter__(self) -> Self:
        """Give the logger, to be closed at the end of a ``with`` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every logger."""
        self.close()


def _as_sinks(loggers: Sequence[Logger | Sink]) -> tuple[Sink, ...]:
    return tuple(each if isinstance(each, Sink) else Sink(type(each).__name__, each) for each in loggers)


def _checked(key: str, value: object) -> Value:
    if key in RESERVED_KEYS:
        raise ValueError(f"record({key!r}, ...): every record has its {key} anyway; give it by dump(step) or .epoch")
    return plain_value(key, value)


def _names(exclude: str | Sequence[str] | None) -> frozenset[str]:
    if exclude is None:
        return frozenset()
    return frozenset((exclude,) if isinstance(exclude, str) else exclude)
