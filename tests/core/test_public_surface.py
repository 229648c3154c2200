"""What others rely on changes by decision only: the public surface is compared with the committed one."""

import difflib
import subprocess
import sys

from public_surface import FILE

COMMAND = "python tests/public_surface.py"


def test_the_public_surface_is_the_committed_one() -> None:
    """A line that is gone, or reads otherwise, breaks somebody: docs/stability.md says when that may be."""
    code = "from public_surface import surface; print(surface(), end='')"
    done = subprocess.run(  # in a process of its own: what other tests have imported must not show
        [sys.executable, "-c", code], cwd=FILE.parents[1], capture_output=True, text=True, check=True
    )
    committed = FILE.read_text(encoding="utf-8")

    difference = difflib.unified_diff(
        committed.splitlines(), done.stdout.splitlines(), "committed", "now", lineterm="", n=0
    )
    told = f"the public surface has changed; if it shall be so (docs/stability.md), run {COMMAND}"
    assert done.stdout == committed, "\n".join([told, *difference])
