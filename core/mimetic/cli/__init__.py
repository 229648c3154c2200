"""The command ``mimetic``: the first word chooses who answers.

``--help`` and ``--version`` import nothing but the standard library, so no plugin can break or slow them. A built-in
command lives in the module of its name (``run(argv) -> exit status``) and is imported when it is called; any other
first word is looked for among the commands of installed plugins.
"""

import importlib
import importlib.util
import os
import select
import sys
import traceback
from collections.abc import Sequence

SUMMARIES = {
    "demo": "train and evaluate on the shipped demonstrations",
    "train": "carry out a run file",
    "eval": "evaluate a policy",
    "collect": "roll out a policy and keep what it did as demonstrations",
    "data": "look at demonstrations before they are learned from",
    "plugins": "list and check what is installed, say why something is not used, begin a plugin",
    "config": "check, resolve, describe or start a run file",
}
"""The built-in commands, in the order in which people need them."""

USAGE = """\
usage: mimetic COMMAND [ARGUMENT ...]
       mimetic COMMAND --help
       mimetic [--help | --version]

A platform for imitation learning in which everything is a plugin.

commands:
{commands}

Installed plugins may add more commands: 'mimetic plugins' lists them.
"""

LOOK_FROM_OUTSIDE = (["plugins", "check"],)
"""Commands that import no plugin, since it may be one that takes the interpreter down."""

FAILED, WRONG, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0: done. 2: what the user gave is wrong. 130: interrupted by Ctrl-C. 1: anything else.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("mimetic: interrupted\n")
        return INTERRUPTED
    except Exception as error:
        return FAILED if _nobody_reads(error) else _tell(error)
    return status


def main_console() -> int:
    """Run ``mimetic eval`` with the words of the command line."""
    return main(["eval", *sys.argv[1:]])


def built_in_commands() -> dict[str, str]:
    """Return the built-in commands with their summaries; nothing is imported."""
    return {name: text for name, text in SUMMARIES.items() if importlib.util.find_spec(f"mimetic.cli.{name}")}


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        (sys.stdout if words else sys.stderr).write(_usage())
        return 0 if words else WRONG
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"mimetic {_version()}\n")
        return 0
    try:
        return _run(words[0], words[1:])
    except SystemExit as end:  # how argparse leaves
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else FAILED if end.code else 0


def _run(name: str, rest: list[str]) -> int:
    if name not in built_in_commands():
        return _run_plugin_command(name, rest)
    if {"-h", "--help"} & set(rest) or [name, *rest[:1]] in LOOK_FROM_OUTSIDE:
        return _call(name, rest)
    from mimetic.plugins import naming_the_provider, registry

    registry()  # says what did not load before the command says anything
    with naming_the_provider():
        return _call(name, rest)


def _call(name: str, rest: list[str]) -> int:
    status: int = importlib.import_module(f"mimetic.cli.{name}").run(rest)
    return status


def _run_plugin_command(name: str, rest: list[str]) -> int:
    from mimetic.errors import UnknownComponentError
    from mimetic.plugins import registry

    known = registry()
    try:
        known.find("command", name)
    except UnknownComponentError:
        raise UnknownComponentError(_unknown(name, [c.name for c in known.components("command")])) from None
    return known.run_command(name, rest)


def _unknown(name: str, offered: list[str]) -> str:
    from mimetic.errors import nearest

    built_in = list(built_in_commands())
    is_option = name.startswith("-")
    near = nearest(name, ["--help", "--version"] if is_option else [*built_in, *offered])
    meant = f" Did you mean {near!r}?" if near else ""
    if is_option:
        return f"mimetic: no option is called {name!r}.{meant}"
    plugins = ", ".join(offered) or "none"
    return f"mimetic: no command is called {name!r}.{meant} Built in: {', '.join(built_in)}. From plugins: {plugins}."


def _tell(error: Exception) -> int:
    """Say what went wrong on standard error, and return the exit status."""
    from mimetic.errors import ComponentFailedError, MimeticError

    if not isinstance(error, MimeticError):
        traceback.print_exception(error)
        sys.stderr.write(f"mimetic: unexpected {type(error).__name__}; the traceback above says where\n")
        return FAILED
    if isinstance(error, ComponentFailedError) and error.__cause__ is not None:
        traceback.print_exception(error.__cause__)  # for whoever wrote the component
    sys.stderr.write(f"{error}\n")
    return error.exit_status


def _nobody_reads(error: Exception) -> bool:
    """Tell whether the reader of standard output went away, as ``head`` does; then nothing is written any more."""
    if not any(isinstance(one, BrokenPipeError) for one in (error, error.__cause__)) or not hasattr(select, "poll"):
        return False
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):  # not a real file
        return False
    poll = select.poll()
    poll.register(output, select.POLLOUT)
    if not any(flags & select.POLLERR for _, flags in poll.poll(0)):
        return False  # some other pipe broke
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)  # for what the interpreter flushes at its end
    return True


def _usage() -> str:
    commands = built_in_commands()
    width = max(map(len, commands))
    return USAGE.format(commands="\n".join(f"  {name:<{width}}  {text}" for name, text in commands.items()))


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("mimetic")
    except PackageNotFoundError:
        return "(not installed)"
