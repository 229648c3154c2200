"""``mimetic demo``: the whole way, on the demonstrations that come along."""

import argparse
import os
import sys
from pathlib import Path

RUN_FILE = Path(__file__).with_name("demo.yaml")


def run(argv: list[str]) -> int:
    """Train and evaluate (and film, where a plugin can) a policy for CartPole."""
    options = _parser().parse_args(argv)
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # frames are drawn for films alone: look for no display

    from mimetic.cli.telling import plain_warnings
    from mimetic.cli.train import tell
    from mimetic.config import load_run_file

    run_file = load_run_file(RUN_FILE, _films())

    from mimetic.run import execute

    with plain_warnings():
        result = execute(run_file, out=options.out)
    tell(result)
    sys.stdout.write(f"next: mimetic eval {result.dir} --episodes 5\n")
    return 0


def _films() -> list[str]:
    """Return the override that asks for films, when the component that makes them is installed."""
    from mimetic.errors import MimeticError
    from mimetic.plugins import registry

    try:
        registry().find("wrapper", "video")
    except MimeticError:
        return []
    return ["evaluation.videos=one"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mimetic demo",
        description="Train a policy for CartPole-v1 on the demonstrations that mimetic ships, and evaluate it.",
    )
    parser.add_argument("--out", metavar="DIR", help="the run's folder, new or empty (default: runs/demo)")
    return parser
