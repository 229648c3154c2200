"""Decoding films, frame by frame and none left out, to see what is on them."""

import subprocess
from pathlib import Path

import imageio_ffmpeg  # type: ignore[import-untyped]  # it ships no types
import numpy as np


def decoded(path: Path) -> np.ndarray:
    """Return all frames of a film (N, H, W, 3).

    Raises:
        OSError: The film cannot be decoded without a complaint.
    """
    pictures = ["-fps_mode", "passthrough", "-f", "image2pipe", "-c:v", "ppm", "-"]
    done = subprocess.run(
        [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "warning", "-i", str(path), *pictures], capture_output=True
    )
    if done.returncode != 0 or done.stderr:
        raise OSError(f"{path}: {done.stderr.decode()}")
    return np.stack(list(_ppm_pictures(done.stdout)))


def grey_levels(path: Path) -> list[int]:
    """Return the level of the first pixel of each frame."""
    return [int(level) for level in decoded(path)[:, 0, 0, 0]]


def _ppm_pictures(data: bytes) -> list[np.ndarray]:
    pictures, at = [], 0
    while at < len(data):
        magic, size, depth, _ = data[at : at + 40].split(b"\n", 3)
        width, height = (int(side) for side in size.split())
        at += len(magic) + len(size) + len(depth) + 3
        pictures.append(np.frombuffer(data, np.uint8, width * height * 3, at).reshape(height, width, 3))
        at += width * height * 3
    return pictures
