"""Which parts of the vector have gradients at a step? What has none is not stepped on, as torch's optimisers do it."""

from collections.abc import Sequence
from dataclasses import dataclass

from mimetic_bc.engines.mlp.formula import Coefficients


@dataclass(frozen=True, slots=True)
class Parts:
    """Consecutive slices of the vector, each stepped on as a whole or not at all."""

    slices: tuple[slice, ...]
    kinds: tuple[int, ...]  # of each: 0 the network, 1 the standard deviation, 2 the rest
    is_gaussian: bool

    def active(self, c: Coefficients) -> tuple[int, ...]:
        """Number the slices that have gradients."""
        flags = _flags(c, self.is_gaussian)
        return tuple(number for number, kind in enumerate(self.kinds) if flags[kind])


def cut(ends: tuple[int, int, int], is_gaussian: bool, constant: Coefficients | None) -> Parts:
    """Cut the vector where network, standard deviation and rest end.

    With ``constant`` coefficients, neighbours that have gradients at every step become one slice, and what never has
    any is left out.
    """
    starts = (0, *ends[:-1])
    slices = [
        (slice(start, end), kind) for kind, (start, end) in enumerate(zip(starts, ends, strict=True)) if end > start
    ]
    if constant is not None:
        flags = _flags(constant, is_gaussian)
        slices = _joined([(piece, kind) for piece, kind in slices if flags[kind]])
    return Parts(tuple(piece for piece, _ in slices), tuple(kind for _, kind in slices), is_gaussian)


def _flags(c: Coefficients, is_gaussian: bool) -> tuple[bool, bool, bool]:
    """Whether the network, the standard deviation and the rest have gradients."""
    decays = bool(c.l2)
    return (c.trains_mean if is_gaussian else c.trains_logits) or decays, c.trains_spread or decays, decays


def _joined(pieces: Sequence[tuple[slice, int]]) -> list[tuple[slice, int]]:
    joined: list[tuple[slice, int]] = []
    for piece, kind in pieces:
        if joined and joined[-1][0].stop == piece.start:
            joined[-1] = (slice(joined[-1][0].start, piece.stop), joined[-1][1])
        else:
            joined.append((piece, kind))
    return joined
