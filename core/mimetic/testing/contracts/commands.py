"""What must a command do?"""

import io
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from mimetic.errors import MimeticError
from mimetic.hookspecs import Kind
from mimetic.plugins import registry
from mimetic.testing.contracts.component import Contract, fresh_folder, skip
from mimetic.testing.contracts.facts import require

STRANGE_WORD = "--no-such-option-7f3a"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended."""

    status: int
    printed: str
    complained: str


class CommandContract(Contract):
    """The facts of a command; inherit from it, set ``name``, and ``argv`` to words with which it ends well."""

    kind: ClassVar[Kind] = "command"

    argv: ClassVar[Sequence[str] | None] = None
    """Words with which it ends well, and which do no harm; None: only its help and its refusals are tried."""

    # --- facts ----------------------------------------------------------------------------------------------------

    def test_it_ends_well(self, tmp_path: Path) -> None:
        """With status 0; it is called in an empty folder."""
        if self.argv is None:
            raise skip("argv does not say how to call it")
        ending = self.call(self.argv, tmp_path)
        require(ending.status == 0, f"{self._told(self.argv, ending)}; expected 0")

    def test_it_has_help(self, tmp_path: Path) -> None:
        """``mimetic NAME --help`` is where people look first."""
        ending = self.call(["--help"], tmp_path)
        require(ending.status == 0, f"{self._told(['--help'], ending)}; expected 0")
        require(bool(ending.printed.strip()), f"command {self.name!r} --help prints nothing on standard output")

    def test_it_refuses_words_that_it_does_not_know(self, tmp_path: Path) -> None:
        """With status 2 and a sentence on standard error."""
        words = [*(self.argv or ()), STRANGE_WORD]
        ending = self.call(words, tmp_path)
        told = self._told(words, ending)
        require(ending.status == 2, f"{told}; expected 2 for a word that means nothing (argparse does so)")
        require(bool(ending.complained.strip()), f"{told}, and said nothing on standard error")

    # --- what they build on ---------------------------------------------------------------------------------------

    def call(self, argv: Sequence[str], tmp_path: Path) -> Ending:
        """Call the command as ``mimetic NAME ...`` does, in a new folder."""
        self.component()
        printed, complained = io.StringIO(), io.StringIO()
        with chdir(fresh_folder(tmp_path)), redirect_stdout(printed), redirect_stderr(complained):
            try:
                status = registry().run_command(self.name, argv)
            except SystemExit as end:  # how argparse leaves
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
                complained.write(end.code if isinstance(end.code, str) else "")
            except MimeticError as error:
                status = error.exit_status
                complained.write(str(error))
        return Ending(status, printed.getvalue(), complained.getvalue())

    def _told(self, argv: Sequence[str], ending: Ending) -> str:
        said = f" ({ending.complained.strip()})" if ending.complained.strip() else ""
        return f"mimetic {' '.join([self.name, *argv])} ended with status {ending.status}{said}"
