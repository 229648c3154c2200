"""``mimetic config``: check a run file, print it resolved, describe run files to an editor, start one."""

import argparse
import json
import sys
from pathlib import Path

from mimetic.cli.differences import differences, manifest_beside, told
from mimetic.config import json_schema, load_run_file, show_run_file, starter_run_file
from mimetic.errors import ConfigError, Fault, TargetExistsError

_YAML = (".yaml", ".yml")


def run(argv: list[str]) -> int:
    """Run ``mimetic config`` and return its exit status."""
    arguments = _parser().parse_args(argv)
    text: str = arguments.action(arguments)
    sys.stdout.write(text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("mimetic config", description="Check, resolve, describe or start a run file.")
    actions = parser.add_subparsers(required=True, metavar="{check,show,schema,init}")
    for name, action, summary in (
        ("check", _check, "say what is wrong with a run file, every fault at once"),
        ("show", _show, "print a run file with every default and absolute path, and where each value came from"),
    ):
        reading = actions.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        reading.add_argument("file", metavar="FILE", help="a run file, YAML or TOML")
        reading.add_argument(
            "overrides", nargs="*", metavar="KEY=VALUE", help="change a value, e.g. policy.net_arch=[64,64]"
        )
        reading.set_defaults(action=action)
    schema = actions.add_parser("schema", help="print a JSON schema of run files, made from the installed plugins")
    schema.set_defaults(action=_schema)
    init = actions.add_parser("init", help="write a first run file with every key and what it means")
    init.add_argument("file", metavar="FILE", nargs="?", default="run.yaml", help="default: run.yaml")
    init.set_defaults(action=_init)
    return parser


def _check(arguments: argparse.Namespace) -> str:
    manifest = manifest_beside(Path(arguments.file))
    try:
        config = load_run_file(arguments.file, arguments.overrides).config
    except ConfigError:
        if manifest is not None:  # it may explain the faults
            sys.stderr.write(told(arguments.file, differences(manifest, None)))
        raise
    no_fault = f"{arguments.file}: no fault found\n"
    return no_fault if manifest is None else no_fault + told(arguments.file, differences(manifest, config))


def _show(arguments: argparse.Namespace) -> str:
    return show_run_file(load_run_file(arguments.file, arguments.overrides))


def _schema(arguments: argparse.Namespace) -> str:
    return json.dumps(json_schema(), indent=2) + "\n"


def _init(arguments: argparse.Namespace) -> str:
    target = Path(arguments.file)
    if target.suffix.lower() not in _YAML:
        raise ConfigError(
            Fault("a run file to start is YAML: expected a name that ends in .yaml", source=arguments.file)
        )
    text = starter_run_file(target.stem)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise TargetExistsError(Fault("it exists already, and was left as it is", source=arguments.file)) from None
    except OSError as error:
        raise ConfigError(Fault(f"it cannot be written: {error}", source=arguments.file)) from None
    return f"wrote {target}; check it with: mimetic config check {target}\n"
