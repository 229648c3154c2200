"""``mimetic eval``: how well a policy does, exactly.

``options`` reads the command line, ``report`` says how it went.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from mimetic.rundir import RunDir

INTERRUPTED = 130


def run(argv: list[str]) -> int:
    """Evaluate a policy, and say how it did."""
    from mimetic.cli.eval.options import parser, read

    options = parser().parse_args(argv)
    env, settings = read(options)

    from mimetic.cli.eval.report import plain_warnings, tell
    from mimetic.evaluate import evaluate
    from mimetic.run.surroundings import torch_threads

    folder = _folder(options)
    try:
        with torch_threads(1), plain_warnings():
            result = evaluate(
                options.policy,
                env,
                settings,
                out=folder.path if folder else None,
                device=options.device,
                progress=True,
            )
        if folder is not None:
            folder.write_json("evaluation.json", result.as_dict())
    finally:
        if folder is not None:
            folder.discard_if_empty()
    tell(result, env, settings, options, folder)
    return INTERRUPTED if result.interrupted else 0


def _folder(options: "argparse.Namespace") -> "RunDir | None":
    """Make the folder of the evaluation, when something is to be written."""
    if not (options.out or options.videos or options.save_rollouts):
        return None
    from itertools import count
    from pathlib import Path

    from mimetic.rundir import RunDir

    if options.out:
        return RunDir.create(options.out, "evaluation")
    root = Path("evaluations")
    name = _policy_name(options.policy)
    for number in count(1):
        path = root / f"{name}-{number}"
        if not path.exists():
            return RunDir.create(path, name)
    raise AssertionError("numbers do not end")


def _policy_name(policy: str) -> str:
    """Name an evaluation after its policy: the run, the file or the component."""
    from pathlib import Path

    path = Path(policy)
    if not path.exists():
        return policy.partition(":")[0].replace("/", "-") or "policy"
    path = path.absolute()
    if path.is_file() and path.stem == "policy":
        return path.parent.name  # a run's folder
    return path.stem if path.is_file() else path.name
