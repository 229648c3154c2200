"""How do lists look in a terminal? In columns, with running text below them."""

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 100  # of running text


def wrapped(text: str, indent: str) -> list[str]:
    """Break running text into lines."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Pad every column but the last to its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()
