"""The plugin as the platform sees it: found by its entry point, light to import, settings documented."""

import subprocess
import sys

import pytest
from pydantic import BaseModel

import mimetic_bc
from mimetic.plugins import registry

TERMS = ("nll", "entropy", "l2", "mse", "huber", "cross-entropy")
HEAVY = ("torch", "numpy", "gymnasium", "stable_baselines3")


def test_the_entry_point_offers_the_algorithm_and_its_terms() -> None:
    found = {(c.kind, c.name) for c in registry().components() if c.plugin == "bc"}

    assert found == {("algorithm", "bc"), *(("loss", name) for name in TERMS)}


@pytest.mark.parametrize("module", ["mimetic_bc", "mimetic_bc.plugin", "mimetic_bc.config"])
def test_importing_it_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY} if m in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert set(mimetic_bc.__all__) == {
        *("BC", "BCLogger", "BCTrainingMetrics", "BatchIteratorWithEpochEndCallback", "BehaviorCloningLossCalculator"),
        *("RolloutStatsComputer", "enumerate_batches", "reconstruct_policy", "save_policy"),
    }
    assert all(getattr(mimetic_bc, name) is not None for name in mimetic_bc.__all__)


@pytest.mark.parametrize(("kind", "name"), [("algorithm", "bc"), *(("loss", name) for name in TERMS)])
def test_every_setting_is_documented(kind: str, name: str) -> None:
    model = registry().config_model(registry().find(kind, name))  # type: ignore[arg-type]  # both are kinds

    _assert_documented(model)


def _assert_documented(model: type[BaseModel]) -> None:
    assert model.__doc__
    for key, setting in model.model_fields.items():
        assert setting.description, key
        if isinstance(setting.annotation, type) and issubclass(setting.annotation, BaseModel):
            _assert_documented(setting.annotation)
