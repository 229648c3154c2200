"""``mimetic train``: from a run file to an evaluated, saved policy."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetic.run import RunResult


def run(argv: list[str]) -> int:
    """Train as a run file says, and tell where everything lies."""
    options = _parser().parse_intermixed_args(argv)

    from mimetic.cli.telling import plain_warnings
    from mimetic.config import load_run_file

    run_file = load_run_file(options.file, options.overrides)  # before anything heavy is imported

    from mimetic.run import execute

    with plain_warnings():
        result = execute(run_file, out=options.out)
    tell(result)
    return 0


def tell(result: "RunResult") -> None:
    """Print where the run's files lie, films included, and the mean return of its evaluation."""
    lines = [f"run folder: {result.dir}", f"policy: {result.policy_path}"]
    if result.evaluation is not None:
        said = result.evaluation.statistics
        lines.insert(0, f"mean return: {said['return_mean']:.1f} over {said['n_traj']} episodes")
        films = {str(episode.more["video"]) for episode in result.evaluation.episodes if "video" in episode.more}
        if films:
            lines.append(f"videos: {result.dir / films.pop() if len(films) == 1 else result.dir / 'videos'}")
    sys.stdout.write("\n".join(lines) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mimetic train",
        description="Train, evaluate and save the policy that a run file describes.",
        epilog="Example: mimetic train cartpole.yaml seed=1 policy.net_arch=[64,64] --out runs/wide",
    )
    parser.add_argument("file", metavar="FILE", help="the run file, YAML or TOML")
    parser.add_argument(
        "overrides",
        metavar="KEY=VALUE",
        nargs="*",
        help="set a value of the run file, e.g. algorithm.batch_size=64; relative paths start from the working folder",
    )
    parser.add_argument("--out", metavar="DIR", help="the run's folder, new or empty (default: runs/<name>)")
    return parser
