"""How are GIF films joined? By copying their blocks: a head, a palette, pictures, a trailer.

Source: CompuServe, Graphics Interchange Format, version 89a, 1990, https://www.w3.org/Graphics/GIF/spec-gif89a.txt
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from mimetic_video.encoder import EncoderError

TRAILER = b"\x3b"
EXTENSION = b"\x21"
LOOPING = EXTENSION + b"\xff"  # an application's extension: how often to play
HAS_PALETTE = 0x80
PALETTE_SIZE = 0x07  # the number n in 2 ** (n + 1) colours


def join_gif(parts: Sequence[Path], target: Path) -> None:
    """Write the pictures of all parts; each keeps the palette that its own file gave it.

    Raises:
        EncoderError: A part is no complete GIF.
    """
    with target.open("wb") as film:
        for number, path in enumerate(parts):
            with path.open("rb") as source:
                head = source.read(13)
                if head[:6] != b"GIF89a" or len(head) < 13:
                    raise EncoderError(f"{path}: is no complete GIF, and cannot be joined with others")
                palette = source.read(_palette_bytes(head[10]))
                if number == 0:
                    film.write(head + palette)
                for block in _blocks(source, palette):
                    if number == 0 or not block.startswith(LOOPING):
                        film.write(block)
        film.write(TRAILER)


def _blocks(source: IO[bytes], palette: bytes) -> Iterator[bytes]:
    """Yield the blocks before the trailer, every picture with a palette of its own."""
    while (kind := source.read(1)) not in (TRAILER, b""):
        if kind == EXTENSION:
            yield kind + source.read(1) + _data(source)
            continue
        place = source.read(9)
        flags = place[8]
        own = source.read(_palette_bytes(flags))
        if not own:
            n_colours = len(palette) // 3
            flags = (flags & ~PALETTE_SIZE) | HAS_PALETTE | (n_colours.bit_length() - 2)
        yield kind + place[:8] + bytes([flags]) + (own or palette) + source.read(1) + _data(source)


def _palette_bytes(flags: int) -> int:
    return 3 * 2 ** ((flags & PALETTE_SIZE) + 1) if flags & HAS_PALETTE else 0


def _data(source: IO[bytes]) -> bytes:
    """Read sub-blocks of up to 255 bytes, up to the empty one that ends them."""
    data = bytearray()
    while length := source.read(1):
        data += length
        if length == b"\x00":
            break
        data += source.read(length[0])
    return bytes(data)
