"""``mimetic data inspect SOURCE [--json]``: look at demonstrations before they are learned from."""

import argparse
import json
import sys
import warnings
from typing import TypedDict

from mimetic.errors import MimeticError
from mimetic.storage import open_demonstrations
from mimetic.types import Summary, inspect_demonstrations, summarise


class Inspection(TypedDict):
    """What was found in a source, and what is wrong with it."""

    source: str
    summary: Summary | None  # None: it could not be read
    faults: list[str]  # what stops a training
    notes: list[str]  # what does not
    exit_status: int


def run(argv: list[str]) -> int:
    """Carry out the command and return its exit status: 2 when the data have a fault."""
    options = _parser().parse_args(argv)
    inspection = inspect(options.source)
    if options.json:
        document = {**(inspection["summary"] or {}), **{key: inspection[key] for key in ("source", "faults", "notes")}}
        sys.stdout.write(json.dumps(document, indent=2, sort_keys=True, allow_nan=False) + "\n")
        return inspection["exit_status"]
    if inspection["summary"] is not None:
        sys.stdout.write(_report(inspection["source"], inspection["summary"]))
    for kind in ("notes", "faults"):
        sys.stderr.writelines(f"{kind[:-1]}: {line}\n" for line in inspection[kind])
    return inspection["exit_status"]


def inspect(source: str) -> Inspection:
    """Open a source and look at all of it; what is wrong is returned, not raised."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            demonstrations = open_demonstrations(source)
            summary = summarise(demonstrations)
            found = inspect_demonstrations(demonstrations)
        except MimeticError as error:
            faults, notes, status = str(error).splitlines(), _texts(said), error.exit_status
            return {"source": source, "summary": None, "faults": faults, "notes": notes, "exit_status": status}
    return {
        "source": source,
        "summary": summary,
        "faults": list(found.faults),
        "notes": [*_texts(said), *found.notes],
        "exit_status": 2 if found.faults else 0,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mimetic data", description="Look at demonstrations.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    inspect_parser = commands.add_parser(
        "inspect", help="count, describe and check them", description="Count, describe and check demonstrations."
    )
    inspect_parser.add_argument(
        "source", metavar="SOURCE", help="a data file or folder, or a data source: name:key=value,..."
    )
    inspect_parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    return parser


def _texts(said: list[warnings.WarningMessage]) -> list[str]:
    return [str(warning.message) for warning in said]


def _report(source: str, summary: Summary) -> str:
    lines = [source, _counts(summary), "", f"{'column':<20} {'dtype':<10} shape"]
    lines += [f"{name:<20} {c['dtype']:<10} {tuple(c['shape'])}" for name, c in summary["columns"].items()]
    if summary["len_mean"] is not None:
        lines += ["", f"{'':<8} {'min':>12} {'mean':>12} {'std':>12} {'max':>12}"]
        lines.append(_row("length", [summary["len_min"], summary["len_mean"], summary["len_std"], summary["len_max"]]))
    if summary["return_mean"] is not None:
        values = [summary["return_min"], summary["return_mean"], summary["return_std"], summary["return_max"]]
        lines.append(_row("return", values))
    lines += ["", f"observation space  {summary['observation_space'] or 'not stated'}"]
    lines += [f"action space       {summary['action_space'] or 'not stated'}"]
    if summary["infos_left_out"]:
        lines.append(f"infos left out     {', '.join(summary['infos_left_out'])}")
    return "\n".join([*lines, f"fingerprint        {summary['fingerprint'] or 'unknown'}"]) + "\n"


def _counts(summary: Summary) -> str:
    if summary["n_trajectories"] is None:
        n = summary["n_transitions"]
        return "batches, which are not counted" if n is None else f"{n} single transitions"
    ended = f"{summary['n_terminated']} terminated, {summary['n_truncated']} truncated"
    return f"{summary['n_trajectories']} trajectories ({ended}), {summary['n_transitions']} transitions"


def _row(name: str, values: list[float | None]) -> str:
    return f"{name:<8} " + " ".join(f"{'' if value is None else format(value, '.6g'):>12}" for value in values)
