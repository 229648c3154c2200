"""Runs the benchmarks: ``python tests/benchmarks/run.py [NAME ...] [--quick] [--peer PYTHON] [--json FILE] [--write]``.

A benchmark is a module in this folder with ``run(settings) -> list[Table]``, named in ``BENCHMARKS``; one that is not
there is passed over.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import PEER_PYTHON, ROOT, Machine, Settings, Table, describe_machine, say, write_json

BENCHMARKS = ("training", "gpu", "growth", "data", "startup", "plugins", "rollouts", "video")
PAGE = ROOT / "docs" / "performance.md"


def main(argv: list[str]) -> int:
    """Run those that were asked for, print their tables, and write them where the caller wants them."""
    options = _parse(argv)
    settings = Settings(quick=options.quick, peer=options.peer if options.peer.exists() else None)
    if settings.peer is None:
        say(f"{options.peer}: not there, so the reference library is left out (make bench-peer makes it)")
    machine = describe_machine(settings.peer)
    print(machine.sentence())
    tables: list[Table] = []
    for name in options.names or [name for name in BENCHMARKS if importlib.util.find_spec(name)]:
        for table in importlib.import_module(name).run(settings):
            print(f"\n## {table.title}\n\n{table.markdown()}", flush=True)
            tables.append(table)
    write_json(options.json, machine, settings, tables)
    say(f"all numbers: {options.json}")
    if options.write:
        PAGE.write_text(with_results(PAGE.read_text(encoding="utf-8"), machine, settings, tables), encoding="utf-8")
        say(f"tables: {PAGE}")
    return 0


def with_results(page: str, machine: Machine, settings: Settings, tables: list[Table]) -> str:
    """Put each table between the marks of its name, with what it was measured on."""
    for table in tables:
        begin, end = f"<!-- results: {table.name} -->", "<!-- end of results -->"
        about = f"*{machine.sentence()} Medians of {settings.rounds} rounds, quartiles in brackets.*"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(page):
            raise SystemExit(f"{PAGE}: has no mark {begin!r}")
        section = f"{begin}\n\n{table.markdown()}\n\n{about}\n\n{end}"
        page = pattern.sub(section.replace("\\", r"\\"), page)
    return page


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.py", description="Measure how fast mimetic is.")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="which benchmarks; default: all")
    parser.add_argument("--quick", action="store_true", help="few, short rounds, to see that everything runs")
    parser.add_argument("--peer", type=Path, default=PEER_PYTHON, help="the Python that has the reference library")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "benchmarks.json", help="where the numbers go")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
