"""``mimetic plugins``: what is installed, what can be set on it, whether it is in order, and how to start one.

``listing`` and ``showing`` look at what discovery found, ``checking`` looks at each plugin in a process of its own,
``starting`` writes a new one.
"""

import argparse
import json
import sys

from mimetic.hookspecs import KINDS


def run(argv: list[str]) -> int:
    """Run ``mimetic plugins`` and return its exit status."""
    arguments = _parser().parse_args(argv)
    if arguments.action == "check":
        from mimetic.cli.plugins.checking import check_plugins

        return check_plugins(arguments)
    if arguments.action == "new":
        from mimetic.cli.plugins.starting import start_plugin

        return start_plugin(arguments)
    from mimetic.plugins import registry

    known = registry()
    if arguments.action == "show":
        from mimetic.cli.plugins.showing import chosen, component_document, component_text

        document = component_document(known, chosen(known, arguments.component))
        text = component_text(document)
    else:
        from mimetic.cli.plugins.listing import list_document, list_text

        document = list_document(known)
        text = list_text(known)
    lines = [json.dumps(document, indent=2)] if arguments.json else text
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "mimetic plugins", description="List installed plugins, show one component, check plugins, or start a new one."
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    actions = parser.add_subparsers(dest="action", metavar="{list,show,check,new}")
    listing = actions.add_parser("list", help="every plugin with its state and components (the default)")
    show = actions.add_parser("show", help="one component with its keys, types and defaults")
    show.add_argument("component", metavar="[KIND:]NAME", help=f"kinds: {', '.join(KINDS)}")
    check = actions.add_parser(
        "check",
        help="look at each plugin in a process of its own, and say what is wrong with it",
        description="Look at each installed plugin in a process of its own, which may crash or hang: its import, its "
        "entries, settings and implementations, names that it shares with another, and the contracts of its "
        "components. Ends with status 2 when anything is wrong.",
    )
    check.add_argument("distribution", metavar="DISTRIBUTION", nargs="?", help="default: every installed one")
    check.add_argument("--no-contracts", action="store_true", help="build no component; look at what can be imported")
    check.add_argument("--timeout", type=_seconds, metavar="S", help="how long a plugin may take (default: 120 s)")
    new = actions.add_parser(
        "new",
        help="write a plugin that works and is tested, to go on from",
        description="Write an installable distribution with one component of the given kind: plugin.py, its settings, "
        "an implementation that works, tests that hold it to the contract of its kind, and a README.",
    )
    new.add_argument("kind", metavar="KIND", help=f"one of {', '.join(KINDS)}")
    new.add_argument("name", metavar="NAME", help="what run files will call it: vendor.name, such as acme.focal")
    new.add_argument("--level", choices=("env", "venv", "policy"), help="what a wrapper goes around (default: env)")
    new.add_argument("--out", metavar="DIR", help="where to write it (default: a folder with the distribution's name)")
    for action in (listing, show, check, new):  # `--json` may stand before or after the action
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON document")
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, seen {text!r}")
    return seconds
