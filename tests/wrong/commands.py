"""Commands: right ones, and each with one thing wrong."""

import sys

from wrong.catalogue import Wrong


def command(argv: list[str]) -> int:
    if argv == ["--help"]:
        print("usage: mimetic wrong.component")
        return 0
    if argv:
        sys.stderr.write(f"no word is called {argv[0]}\n")
        return 2
    return 0


def command_that_fails(argv: list[str]) -> int:
    return 1


def command_that_raises(argv: list[str]) -> int:
    raise RuntimeError("boom")


def command_without_help(argv: list[str]) -> int:
    return 0


def command_that_takes_everything(argv: list[str]) -> int:
    print("done")
    return 0


WRONG = [
    Wrong("it_ends_well", command_that_fails, "ended with status 1; expected 0"),
    Wrong("it_ends_well", command_that_raises, "raised RuntimeError: boom"),
    Wrong("it_has_help", command_without_help, "--help prints nothing"),
    Wrong("it_refuses_words_that_it_does_not_know", command_that_takes_everything, "with status 0; expected 2"),
]
