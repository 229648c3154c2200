"""Observers watch a run and cannot end it."""

from collections.abc import Iterator
from typing import Any

import pytest

from mimetic.hookspecs import PolicyEntry, hookimpl
from mimetic.testing import manager_with


class Watching:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    @hookimpl
    def mimetic_run_started(self, run: Any) -> None:
        self.heard.append(f"started {run}")

    @hookimpl
    def mimetic_evaluated(self, epoch: int) -> None:  # an observer names only the arguments that it wants
        self.heard.append(f"evaluated {epoch}")


class Failing:
    """Raises at every epoch."""

    def __init__(self, error: BaseException) -> None:
        self.error, self.calls, self.ends = error, 0, 0

    @hookimpl
    def mimetic_epoch_ended(self, run: Any) -> None:
        self.calls += 1
        raise self.error

    @hookimpl
    def mimetic_run_finished(self, run: Any) -> None:
        self.ends += 1


def test_every_observer_hears_every_event() -> None:
    one, two = Watching(), Watching()
    known = manager_with(one=one, two=two)

    known.notify("mimetic_run_started", run="r")
    known.notify("mimetic_evaluated", run="r", epoch=3, result=None)

    assert one.heard == two.heard == ["started r", "evaluated 3"]


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3)], ids=["an exception", "SystemExit"])
def test_an_observer_that_raises_does_not_stop_the_others(error: BaseException) -> None:
    """One plugin's fault is reported as its own."""
    watching = Watching()
    known = manager_with(a=Failing(error), b=watching)

    known.notify("mimetic_epoch_ended", run="r", report=None)
    known.notify("mimetic_evaluated", run="r", epoch=1, result=None)

    assert watching.heard == ["evaluated 1"]


def test_an_observer_is_reported_once_and_switched_off_after_three_failures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing = Failing(ValueError("boom"))
    known = manager_with(acme=failing)

    for _ in range(5):
        known.notify("mimetic_epoch_ended", run="r", report=None)

    told = capsys.readouterr().err
    assert failing.calls == 3
    assert told.count("Traceback") == 1
    assert "observer 'mimetic_epoch_ended' of 'acme' (acme 0" in told
    assert "ValueError: boom" in told
    assert "failed 3 times and is switched off for this run" in told


def test_a_hook_that_is_switched_off_leaves_the_plugins_other_hooks_on() -> None:
    """Whoever opened something at the start must hear of the end."""
    failing = Failing(ValueError("boom"))
    known = manager_with(acme=failing)

    for _ in range(4):
        known.notify("mimetic_epoch_ended", run="r", report=None)
    known.notify("mimetic_run_finished", run="r", result=None)

    assert failing.ends == 1


def test_a_new_run_switches_observers_on_again() -> None:
    failing = Failing(ValueError("boom"))
    known = manager_with(acme=failing)

    for _ in range(2):
        known.notify("mimetic_run_started", run="r")
        for _ in range(4):
            known.notify("mimetic_epoch_ended", run="r", report=None)

    assert failing.calls == 6


def test_ctrl_c_in_an_observer_passes() -> None:
    known = manager_with(acme=Failing(KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        known.notify("mimetic_epoch_ended", run="r", report=None)


def test_a_plugin_that_did_not_load_hears_nothing() -> None:
    class Broken(Watching):
        @hookimpl
        def mimetic_policies(self) -> Iterator[PolicyEntry]:
            raise ValueError

    broken = Broken()
    manager_with(acme=broken).notify("mimetic_run_started", run="r")

    assert broken.heard == []


def test_an_event_must_have_the_arguments_of_its_hook() -> None:
    with pytest.raises(AssertionError, match="mimetic_evaluated"):
        manager_with().notify("mimetic_evaluated", run="r")
