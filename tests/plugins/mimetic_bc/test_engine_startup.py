"""What training must not import, because it takes long and nobody needs it."""

import subprocess
import sys
from pathlib import Path

import torch

from mimetic.policies import without_compiler

RUN = """
import sys
from mimetic.run import execute

execute(
    {
        "demonstrations": {"name": "demo"},
        "policy": {"name": "mlp"},
        "algorithm": {"name": "bc", "n_batches": 3, "engine": ENGINE},
    },
    out="run",
)
print([name for name in ("torch._dynamo", "sympy", "torch._inductor", "packaging.requirements") if name in sys.modules])
"""


def loaded_by(engine: str, folder: Path) -> str:
    """Return which heavy modules a run has imported."""
    code = RUN.replace("ENGINE", repr(engine))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_training_by_hand_imports_no_compiler(tmp_path: Path) -> None:
    """The first optimiser of a process would import it: as long as all of torch."""
    assert loaded_by("mlp", tmp_path) == "[]"


def test_training_by_autograd_imports_no_compiler(tmp_path: Path) -> None:
    assert loaded_by("autograd", tmp_path) == "[]"


def test_other_optimisers_are_made_as_ever() -> None:
    make = torch.optim.Optimizer.add_param_group.__wrapped__  # type: ignore[attr-defined]  # torch's decorator leaves it
    before = dict(vars(make))

    with without_compiler():
        optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])

    assert dict(vars(make)) == before
    assert len(optimizer.param_groups) == 1
