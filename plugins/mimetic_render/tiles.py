"""How do the frames of several environments become one picture? As tiles, row by row."""

import math
from collections.abc import Sequence

import numpy as np

from mimetic.errors import EnvError

GAP = 2  # pixels between two tiles
LINE = (64, 64, 64)


def tile(frames: Sequence[object]) -> np.ndarray:
    """Lay frames (H_i, W_i, 3) of uint8 out in a grid, with a thin line between them.

    The grid has as many columns as rows, or one more. Smaller frames keep their size, in the upper left corner of
    their tile; what no frame covers is black.

    Raises:
        EnvError: One is no frame; names its environment.
    """
    pictures = [_checked(frame, index) for index, frame in enumerate(frames)]
    n_columns = math.ceil(math.sqrt(len(pictures)))
    n_rows = math.ceil(len(pictures) / n_columns)
    height = max(picture.shape[0] for picture in pictures) + GAP
    width = max(picture.shape[1] for picture in pictures) + GAP
    whole = np.zeros((n_rows * height - GAP, n_columns * width - GAP, 3), np.uint8)
    whole[height - GAP :: height] = whole[:, width - GAP :: width] = LINE
    for index, picture in enumerate(pictures):
        top, left = index // n_columns * height, index % n_columns * width
        whole[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return whole


def _checked(frame: object, index: int) -> np.ndarray:
    if isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.ndim == 3 and frame.shape[2] == 3:
        return frame
    seen = f"an array {frame.shape} of {frame.dtype}" if isinstance(frame, np.ndarray) else type(frame).__name__
    raise EnvError(f"environment {index}: render() gave {seen}; the window shows arrays (height, width, 3) of uint8")
