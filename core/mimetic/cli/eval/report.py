"""How does ``mimetic eval`` say how it went, to people and to programs?"""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from mimetic.config import EnvConfig, EvaluationConfig
    from mimetic.evaluate import EvaluationResult
    from mimetic.rundir import RunDir


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as sentences, without the line of code that they come from."""

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        sys.stderr.write(f"mimetic: warning: {message}\n")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def tell(
    result: "EvaluationResult",
    env: "EnvConfig",
    settings: "EvaluationConfig",
    options: "argparse.Namespace",
    folder: "RunDir | None",
) -> None:
    """Print the result: a table, or with ``--json`` one document; where files lie."""
    places = [f"folder: {folder.path}"] if folder else []
    if settings.save_rollouts is not None and result.trajectories is not None:
        places.append(f"rollouts: {settings.save_rollouts}")
    if options.json:
        text = json.dumps(result.as_dict(), indent=2, allow_nan=False, ensure_ascii=False)
        sys.stdout.write(f"{text}\n")
        sys.stderr.write("".join(f"{place}\n" for place in places))
        return
    how = "deterministic" if settings.deterministic else "stochastic"
    if settings.explore is not None:
        how += f" with {settings.explore.name}"
    counts = _count(len(result.episodes), "episode"), _count(sum(each.length for each in result.episodes), "step")
    head = f"{env.id}: {', '.join(counts)}, {how}, seed {options.seed}"
    early = ["interrupted: these are the episodes that were complete"] if result.interrupted else []
    sys.stdout.write("\n".join([head, *early, *_table(result.statistics), *places]) + "\n")


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _table(said: Mapping[str, float | int | None]) -> Sequence[str]:
    """Lay mean, spread and extremes out, a row each for return, the environment's own return, and length."""
    if not said["n_traj"]:
        return []
    names = {"return": "return", "env_return": "env return", "len": "length"}
    if all(said.get(f"env_return_{key}") == said[f"return_{key}"] for key in ("mean", "std", "min", "max")):
        del names["env_return"]
    rows = [f"{'':<10} {'mean':>12} {'std':>12} {'min':>12} {'max':>12}"]
    for key, name in names.items():
        if f"{key}_mean" in said:
            numbers = " ".join(f"{said[f'{key}_{what}']:>12.2f}" for what in ("mean", "std", "min", "max"))
            rows.append(f"{name:<10} {numbers}")
    rows.append(f"95% interval of the mean return: {said['return_ci_low']:.2f} to {said['return_ci_high']:.2f}")
    if said.get("is_success") is not None:
        rows.append(f"success: {said['is_success']:.1%}")
    return rows
