"""The logger that collects values: what a record holds, what means are, and what a failing logger costs."""

import math
from pathlib import Path

import numpy as np
import pytest

from mimetic.logs import DISABLED, ERROR, MAX_FAILURES, HierarchicalLogger, Record, Sink


class Kept:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.messages: list[str] = []
        self.n_closed = 0

    def write(self, record: Record) -> None:
        self.records.append(record)

    def write_message(self, message: str) -> None:
        self.messages.append(message)

    def close(self) -> None:
        self.n_closed += 1


class Broken:
    """Raises at whatever it is asked."""

    def __init__(self) -> None:
        self.n_calls = 0

    def write(self, record: Record) -> None:
        self.n_calls += 1
        raise OSError("no space left")

    def close(self) -> None:
        raise OSError("no space left")


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def logger(kept: Kept) -> HierarchicalLogger:
    return HierarchicalLogger([kept])


def test_a_dump_writes_one_record_with_its_step_and_epoch(logger: HierarchicalLogger, kept: Kept) -> None:
    logger.epoch = 3
    logger.record("loss", 0.5)
    logger.record("batch", 7)
    logger.dump(step=40)

    assert kept.records == [Record(step=40, epoch=3, values={"loss": 0.5, "batch": 7})]


def test_every_logger_gets_the_same_record() -> None:
    first, second = Kept(), Kept()
    logger = HierarchicalLogger([first, second])

    logger.record("loss", 1.0)
    logger.dump(1)

    assert first.records == second.records == [Record(1, None, {"loss": 1.0})]


def test_values_start_afresh_after_a_dump(logger: HierarchicalLogger, kept: Kept) -> None:
    logger.record("loss", 1.0)
    logger.dump(0)
    logger.record("accuracy", 0.5)
    logger.dump(1)

    assert [dict(each.values) for each in kept.records] == [{"loss": 1.0}, {"accuracy": 0.5}]


def test_a_dump_of_nothing_writes_nothing(logger: HierarchicalLogger, kept: Kept) -> None:
    logger.dump(5)

    assert kept.records == []


def test_the_last_value_of_a_key_counts(logger: HierarchicalLogger, kept: Kept) -> None:
    logger.record("loss", 1.0)
    logger.record("loss", 2.0)
    logger.dump()

    assert kept.records[0].values == {"loss": 2.0}


def test_a_recorded_mean_is_the_mean(logger: HierarchicalLogger, kept: Kept) -> None:
    for value in (1.0, 2.0, 6.0):
        logger.record_mean("loss", value)
    logger.record_mean("loss", None)
    logger.dump()

    assert kept.records[0].values == {"loss": pytest.approx(3.0)}


def test_a_mean_of_text_is_refused(logger: HierarchicalLogger) -> None:
    with pytest.raises(TypeError, match="text has no mean, got 'high'"):
        logger.record_mean("loss", "high")


@pytest.mark.parametrize("value", [np.float32(0.5), np.array(0.5), np.array([0.5]), np.float64(0.5)])
def test_numpy_numbers_become_plain_ones(logger: HierarchicalLogger, kept: Kept, value: object) -> None:
    logger.record("x", value)
    logger.dump()

    assert type(kept.records[0].values["x"]) is float
    assert kept.records[0].values["x"] == 0.5


def test_a_tensor_of_one_number_becomes_a_plain_one(logger: HierarchicalLogger, kept: Kept) -> None:
    import torch

    logger.record("x", torch.tensor(0.5))
    logger.dump()

    assert kept.records[0].values["x"] == 0.5


@pytest.mark.parametrize("value", [np.zeros(2), [1.0], {"a": 1}, object()])
def test_what_is_no_value_is_refused_with_its_key(logger: HierarchicalLogger, value: object) -> None:
    with pytest.raises(TypeError, match=r"record\('x', ...\): a value must be a number, text or None"):
        logger.record("x", value)


@pytest.mark.parametrize("key", ["step", "epoch"])
def test_the_columns_that_every_record_has_are_refused_as_keys(logger: HierarchicalLogger, key: str) -> None:
    with pytest.raises(ValueError, match=f"every record has its {key} anyway"):
        logger.record(key, 1)


def test_a_key_is_kept_from_the_loggers_that_are_excluded() -> None:
    table, console = Kept(), Kept()
    logger = HierarchicalLogger([Sink("table", table), Sink("console", console)])

    logger.record("loss", 1.0)
    logger.record("debug", 2.0, exclude="console")
    logger.dump()

    assert table.records[0].values == {"loss": 1.0, "debug": 2.0}
    assert console.records[0].values == {"loss": 1.0}


def test_nan_and_none_reach_the_loggers(logger: HierarchicalLogger, kept: Kept) -> None:
    logger.record("loss", math.nan)
    logger.record("entropy", None)
    logger.dump()

    assert math.isnan(float(str(kept.records[0].values["loss"])))
    assert kept.records[0].values["entropy"] is None


# --- text ---------------------------------------------------------------------------------------------------------


def test_messages_below_the_level_are_dropped(logger: HierarchicalLogger, kept: Kept) -> None:
    logger.debug("too fine")
    logger.info("told", 1)
    logger.set_level(ERROR)
    logger.warn("not told")
    logger.error("also told")

    assert kept.messages == ["told 1", "also told"]


def test_a_disabled_logger_writes_no_record_and_keeps_no_value(logger: HierarchicalLogger, kept: Kept) -> None:
    logger.set_level(DISABLED)
    logger.record("loss", 1.0)
    logger.dump()
    logger.set_level(ERROR)
    logger.dump()

    assert kept.records == []


def test_a_logger_that_takes_no_text_is_passed_over() -> None:
    broken = Broken()

    HierarchicalLogger([broken]).info("hello")

    assert broken.n_calls == 0


# --- means of inner loops -----------------------------------------------------------------------------------------


def nested_pair() -> tuple[HierarchicalLogger, Kept, dict[Path, Kept]]:
    root, nested = Kept(), {}

    def open_nested(folder: Path) -> list[Kept]:
        nested[folder] = Kept()
        return [nested[folder]]

    return HierarchicalLogger([root], "log", open_nested=open_nested), root, nested


def test_raw_values_go_to_a_folder_of_their_own_and_means_to_the_outer_log() -> None:
    logger, root, nested = nested_pair()

    with logger.accumulate_means("bc"):
        for step, loss in enumerate((1.0, 3.0)):
            logger.record("loss", loss)
            logger.dump(step)
    logger.record("round", 1)
    logger.dump(10)

    raw = nested[Path("log/raw/bc")].records
    assert raw == [Record(0, None, {"raw/bc/loss": 1.0}), Record(1, None, {"raw/bc/loss": 3.0})]
    assert root.records == [Record(10, None, {"mean/bc/loss": 2.0, "round": 1})]


def test_prefixes_stand_before_the_name_and_before_the_key() -> None:
    logger, root, nested = nested_pair()

    with logger.add_accumulate_prefix("round0"), logger.accumulate_means("bc"), logger.add_key_prefix("train"):
        logger.record("loss", 1.0)
        logger.dump(0)
    logger.dump(0)

    assert nested[Path("log/raw/round0/bc")].records[0].values == {"raw/round0/bc/train/loss": 1.0}
    assert root.records[0].values == {"mean/round0/bc/train/loss": 1.0}


def test_a_nested_log_is_opened_once() -> None:
    logger, _, nested = nested_pair()

    for step in range(2):
        with logger.accumulate_means("bc"):
            logger.record("loss", 1.0)
            logger.dump(step)

    assert len(nested[Path("log/raw/bc")].records) == 2


def test_without_a_folder_raw_values_go_to_the_loggers_themselves(logger: HierarchicalLogger, kept: Kept) -> None:
    with logger.accumulate_means("bc"):
        logger.record("loss", 1.0)
        logger.dump(4)

    assert kept.records == [Record(4, None, {"raw/bc/loss": 1.0})]


def test_recording_a_mean_inside_a_context_reaches_the_outer_log() -> None:
    logger, root, _ = nested_pair()

    with logger.accumulate_means("bc"):
        logger.record_mean("x", 4.0)
    logger.dump()

    assert root.records[0].values == {"x": 4.0}


def test_contexts_of_means_do_not_nest(logger: HierarchicalLogger) -> None:
    with (
        logger.accumulate_means("outer"),
        pytest.raises(RuntimeError, match="'outer' is open, and these contexts do not"),
        logger.accumulate_means("inner"),
    ):
        pass


def test_an_accumulate_prefix_is_added_outside_only(logger: HierarchicalLogger) -> None:
    with (
        logger.accumulate_means("bc"),
        pytest.raises(RuntimeError, match="only outside accumulate_means"),
        logger.add_accumulate_prefix("round0"),
    ):
        pass


def test_a_key_prefix_is_added_inside_only(logger: HierarchicalLogger) -> None:
    with pytest.raises(RuntimeError, match="only inside accumulate_means"), logger.add_key_prefix("train"):
        pass


def test_a_context_ends_when_its_body_raises(logger: HierarchicalLogger, kept: Kept) -> None:
    with pytest.raises(KeyError), logger.accumulate_means("bc"):
        raise KeyError("body")
    logger.record("loss", 1.0)
    logger.dump()

    assert kept.records[0].values == {"loss": 1.0}


# --- failures and the end -----------------------------------------------------------------------------------------


def test_a_failing_logger_is_reported_once_then_switched_off_and_the_others_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken, kept = Broken(), Kept()
    logger = HierarchicalLogger([Sink("acme.server", broken), kept])

    for step in range(5):
        logger.record("loss", step)
        logger.dump(step)

    told = capsys.readouterr().err
    assert told.count("OSError: no space left") == 1
    assert told.count("logger 'acme.server' failed in write()") == 1
    assert told.count("logger 'acme.server' failed 3 times and is switched off") == 1
    assert broken.n_calls == MAX_FAILURES
    assert len(kept.records) == 5


def test_a_logger_that_fails_to_close_does_not_keep_the_others_open(capsys: pytest.CaptureFixture[str]) -> None:
    kept = Kept()

    HierarchicalLogger([Sink("acme.server", Broken()), kept]).close()

    assert kept.n_closed == 1
    assert "logger 'acme.server' failed in close()" in capsys.readouterr().err


def test_ctrl_c_in_a_logger_is_no_failure_of_it() -> None:
    class Interrupted(Kept):
        def write(self, record: Record) -> None:
            raise KeyboardInterrupt

    logger = HierarchicalLogger([Interrupted()])
    logger.record("loss", 1.0)

    with pytest.raises(KeyboardInterrupt):
        logger.dump()


def test_closing_twice_closes_each_logger_once(kept: Kept) -> None:
    with HierarchicalLogger([kept]) as logger:
        logger.close()

    assert kept.n_closed == 1


def test_closing_reaches_the_nested_logs() -> None:
    logger, _, nested = nested_pair()
    with logger.accumulate_means("bc"):
        logger.record("loss", 1.0)

    logger.close()

    assert nested[Path("log/raw/bc")].n_closed == 1


def test_a_closed_logger_refuses_a_dump(logger: HierarchicalLogger) -> None:
    logger.close()
    logger.record("loss", 1.0)

    with pytest.raises(RuntimeError, match="was closed"):
        logger.dump()
