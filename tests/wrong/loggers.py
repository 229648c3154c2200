"""Loggers: right ones, and each with one thing wrong."""

from pathlib import Path

from mimetic.errors import ConfigError
from mimetic.hookspecs import (
    LoggerContext,
)
from mimetic.logs import Record
from wrong.catalogue import Plain, Wrong


class Lines:
    """Writes a line a record, whatever is in it."""

    mode = "x"

    def __init__(self, context: LoggerContext) -> None:
        if context.run_dir is None:
            raise ConfigError("wrong.component writes a file, and no folder was given")
        self.file = self.place(context.run_dir).open(self.mode, encoding="utf-8")

    def place(self, folder: Path) -> Path:
        return folder / "lines.txt"

    def write(self, record: Record) -> None:
        self.file.write(f"{record.step} {dict(record.values)!r}\n")
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class Short(Lines):
    def write(self, record: Record) -> None:
        if record.step == 50:
            raise RuntimeError("full")


class Counting(Lines):
    def write(self, record: Record) -> None:
        self.file.write(str([int(value) for value in record.values.values() if isinstance(value, float)]))
        self.file.flush()


class Narrow(Lines):
    columns: tuple[str, ...] = ()

    def write(self, record: Record) -> None:
        self.columns = self.columns or tuple(record.values)
        self.file.write(str([record.values[key] for key in self.columns]))
        self.file.flush()


class Greedy(Lines):
    def write(self, record: Record) -> None:
        record.values.clear()  # type: ignore[attr-defined]  # what is wrong with it


class Straying(Lines):
    def place(self, folder: Path) -> Path:
        return Path("lines.txt")


class Careless(Lines):
    def __init__(self, context: LoggerContext) -> None:
        self.file = (context.run_dir / "lines.txt").open("x", encoding="utf-8")  # type: ignore[operator]  # wrong


class Anywhere(Lines):
    mode = "w"

    def __init__(self, context: LoggerContext) -> None:
        super().__init__(context if context.run_dir else LoggerContext(run_dir=Path.cwd()))


class Overwriting(Lines):
    mode = "w"


class Late(Lines):
    def write(self, record: Record) -> None:
        self.file.write("x")


class Unspeaking(Lines):
    def write_message(self, message: str) -> None:
        self.file.write(message.encode("ascii").decode())


class LeftOpen(Lines):
    def close(self) -> None:
        self.file.flush()


def lines(config: Plain, context: LoggerContext) -> Lines:
    return Lines(context)


def lines_that_end(config: Plain, context: LoggerContext) -> Lines:
    return Short(context)


def lines_of_whole_numbers(config: Plain, context: LoggerContext) -> Lines:
    return Counting(context)


def lines_of_fixed_columns(config: Plain, context: LoggerContext) -> Lines:
    return Narrow(context)


def lines_that_empty_records(config: Plain, context: LoggerContext) -> Lines:
    return Greedy(context)


def lines_in_the_working_folder(config: Plain, context: LoggerContext) -> Lines:
    return Straying(context)


def lines_without_a_thought_of_no_folder(config: Plain, context: LoggerContext) -> Lines:
    return Careless(context)


def lines_anywhere(config: Plain, context: LoggerContext) -> Lines:
    return Anywhere(context)


def lines_over_others(config: Plain, context: LoggerContext) -> Lines:
    return Overwriting(context)


def lines_at_the_end(config: Plain, context: LoggerContext) -> Lines:
    return Late(context)


def lines_of_ascii(config: Plain, context: LoggerContext) -> Lines:
    return Unspeaking(context)


def lines_left_open(config: Plain, context: LoggerContext) -> Lines:
    return LeftOpen(context)


WRONG = [
    Wrong("it_takes_records", lines_that_end, "RuntimeError: full"),
    Wrong("it_survives_values_of_every_kind", lines_of_whole_numbers, "raised ValueError: .* when it was given 'nan'"),
    Wrong("it_survives_keys_that_come_late_and_keys_that_stay_away", lines_of_fixed_columns, "raised KeyError: 'loss'"),
    Wrong("it_leaves_records_as_they_are", lines_that_empty_records, "changed a record's values"),
    Wrong("it_writes_nowhere_but_into_the_runs_folder", lines_in_the_working_folder, "lines.txt into the working"),
    Wrong("without_a_folder_it_prints_or_refuses", lines_without_a_thought_of_no_folder, "raise a ConfigError"),
    Wrong("without_a_folder_it_prints_or_refuses", lines_anywhere, "was given no folder and wrote lines.txt"),
    Wrong("it_writes_over_no_log_that_is_there", lines_over_others, "wrote over lines.txt"),
    Wrong("what_it_is_told_is_on_the_disk_at_once", lines_at_the_end, "flush after each record"),
    Wrong("it_takes_text_when_it_says_so", lines_of_ascii, "UnicodeEncodeError"),
    Wrong("it_closes_what_it_opens", lines_left_open, "left something open: unclosed file"),
]
