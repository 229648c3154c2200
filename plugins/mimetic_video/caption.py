"""How does a caption get onto a frame? On a dark band at the top, in as many lines as it needs."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def draw_caption(frame: np.ndarray, parts: Sequence[str]) -> np.ndarray:
    """Return a copy of ``frame`` (H, W, 3) with the parts of a caption on it."""
    height = max(9, min(16, frame.shape[0] // 20))
    font = ImageFont.load_default(height)
    picture = Image.fromarray(frame)
    draw = ImageDraw.Draw(picture)
    lines = _lines(parts, font, frame.shape[1] - 8)
    draw.rectangle((0, 0, frame.shape[1], len(lines) * (height + 3) + 3), fill=(0, 0, 0))
    for row, line in enumerate(lines):
        draw.text((4, 2 + row * (height + 3)), line, fill=(255, 255, 255), font=font)
    return np.asarray(picture)


def _lines(parts: Sequence[str], font: Font, width: int) -> list[str]:
    """Put as many parts on a line as fit; a part is never divided."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}   {part}" if lines else part
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines
