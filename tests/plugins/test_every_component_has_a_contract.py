"""Each component in the box is held to the contract of its kind, in the test_contract.py of its package."""

import importlib.util
from pathlib import Path

from mimetic.plugins import discover
from mimetic.testing.contracts.component import Contract

HERE = Path(__file__).resolve().parent

ELSEWHERE = {("policy", "human")}
"""It acts by a window and a keyboard: tests/plugins/mimetic_render/test_human.py."""


def suites(path: Path) -> list[type[Contract]]:
    spec = importlib.util.spec_from_file_location(f"contract_of_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    classes = [each for name, each in vars(module).items() if name.startswith("Test") and isinstance(each, type)]
    return [each for each in classes if issubclass(each, Contract)]


def test_every_component_in_the_box_is_held_to_its_contract() -> None:
    held = {(suite.kind, suite.name) for path in HERE.glob("*/test_contract.py") for suite in suites(path)}
    offered = {(each.kind, each.name) for each in discover().components() if each.distribution == "mimetic"}

    assert offered - held == ELSEWHERE
