"""Each fact of each contract fails for a component that is wrong in that way, and holds for one that is right."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from mimetic.plugins import using
from mimetic.testing import (
    AlgorithmContract,
    CommandContract,
    DataSourceContract,
    EnvWrapperContract,
    LoggerContract,
    LossContract,
    PolicyContract,
    PolicyWrapperContract,
    RewardContract,
    VenvWrapperContract,
    manager_with,
)
from mimetic.testing.contracts.component import Contract
from mimetic.testing.contracts.suite import Outcome, Verdict, facts_of, outcome, outcomes
from wrong import (
    algorithms,
    commands,
    env_wrappers,
    loggers,
    losses,
    policies,
    policy_wrappers,
    rewards,
    sources,
    venv_wrappers,
)
from wrong.catalogue import NAME, OneWay, Wrong, entry_for


class Loss(LossContract):
    name = NAME


class Policy(PolicyContract):
    name = NAME


class Source(DataSourceContract):
    name = NAME

    def expected(self) -> Any:
        return sources.OBS[:-1], sources.ACTS


class EnvWrapper(EnvWrapperContract):
    name = NAME


class VenvWrapper(VenvWrapperContract):
    name = NAME


class PolicyWrapper(PolicyWrapperContract):
    name = NAME


class Logger(LoggerContract):
    name = NAME


class Reward(RewardContract):
    name = NAME


class Algorithm(AlgorithmContract):
    name = NAME


class Command(CommandContract):
    name = NAME
    argv = ()


@dataclass(frozen=True)
class Case:
    suite: type[Contract]
    right: Sequence[Callable[..., Any]]
    wrong: Sequence[Wrong]
    level: str = ""

    def tried(self, factory: Callable[..., Any], config: Any = None) -> Any:
        return using(manager_with(entry_for(self.suite.kind, factory, config, self.level)))


CASES = {
    "loss": Case(Loss, [losses.loss], losses.WRONG),
    "policy": Case(Policy, [policies.policy, policies.acting], policies.WRONG),
    "data source": Case(Source, [sources.source], sources.WRONG),
    "env wrapper": Case(EnvWrapper, [env_wrappers.around], env_wrappers.WRONG, "env"),
    "venv wrapper": Case(VenvWrapper, [venv_wrappers.venv], venv_wrappers.WRONG, "venv"),
    "policy wrapper": Case(PolicyWrapper, [policy_wrappers.hesitating], policy_wrappers.WRONG, "policy"),
    "logger": Case(Logger, [loggers.lines], loggers.WRONG),
    "reward": Case(Reward, [rewards.reward], rewards.WRONG),
    "algorithm": Case(Algorithm, [algorithms.training], algorithms.WRONG),
    "command": Case(Command, [commands.command], commands.WRONG),
}
OF_EVERY_KIND = {"its_entry_point_finds_it", "its_entry_says_what_it_goes_around"}
OF_SETTINGS = {each.fact for each in losses.WRONG if "setting" in each.fact}


def ids(value: object) -> str:
    return value.id if isinstance(value, Wrong) else getattr(value, "__name__", str(value))


def trial(case: Case, each: Wrong) -> Outcome:
    suite = case.suite
    if each.config is OneWay:
        suite = type("Long", (suite,), {"options": {"size": "text"}})
    with case.tried(each.factory, each.config):
        return outcome(suite, each.fact)


@pytest.mark.parametrize(("kind", "each"), [(kind, one) for kind, case in CASES.items() for one in case.wrong], ids=ids)
def test_a_wrong_component_fails_the_fact_that_it_breaks(kind: str, each: Wrong) -> None:
    result = trial(CASES[kind], each)

    assert result.verdict == Verdict.FAILS, result
    assert re.search(each.told, result.told), result.told


@pytest.mark.parametrize(
    ("kind", "factory"), [(kind, one) for kind, case in CASES.items() for one in case.right], ids=ids
)
def test_a_right_component_fails_nothing(kind: str, factory: Callable[..., Any]) -> None:
    with CASES[kind].tried(factory):
        failed = [each for each in outcomes(CASES[kind].suite) if each.verdict == Verdict.FAILS]

    assert failed == []


@pytest.mark.parametrize("kind", CASES)
def test_each_fact_is_tested_with_a_component_that_breaks_it(kind: str) -> None:
    facts = set(facts_of(CASES[kind].suite))

    assert facts - {each.fact for each in CASES[kind].wrong} <= OF_EVERY_KIND | OF_SETTINGS


@pytest.mark.parametrize("kind", CASES)
def test_a_component_that_nobody_finds_fails_the_first_fact(kind: str) -> None:
    with using(manager_with()):
        result = outcome(CASES[kind].suite, "its_entry_point_finds_it")

    assert result.verdict == Verdict.FAILS
    assert "'wrong.component'" in result.told
    assert "pip install -e ." in result.told


def test_a_suite_without_a_name_says_so() -> None:
    result = outcome(LossContract, "its_entry_point_finds_it")

    assert "LossContract.name is not set" in result.told


def test_a_wrapper_of_another_level_fails_its_suite() -> None:
    with CASES["env wrapper"].tried(env_wrappers.around):
        result = outcome(VenvWrapper, "its_entry_says_what_it_goes_around")

    assert "is of level 'env', and is tested as 'venv'" in result.told


def test_a_fact_that_raises_has_failed() -> None:
    class Broken(Contract):
        def test_x(self) -> None:
            raise KeyError("gone")

    assert outcome(Broken, "x").told == "raised KeyError: 'gone'"


def test_facts_come_in_the_order_in_which_they_stand() -> None:
    facts = facts_of(LossContract)

    assert facts[:2] == ["its_entry_point_finds_it", "its_settings_refuse_unknown_keys"]
    assert facts[-1] == "it_changes_nothing"


def test_a_contract_needs_no_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no dependency of mimetic: ``mimetic plugins check`` runs the same suites."""
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "from mimetic.testing import LossContract\n"
        "from mimetic.testing.contracts.suite import outcomes\n"
        "class Nll(LossContract): name = 'nll'\n"
        "assert {each.verdict for each in outcomes(Nll)} == {'holds'}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
