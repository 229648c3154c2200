"""How does an image become features? By three convolutions, whatever side its channels are on.

Source: V. Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015. As in
stable-baselines3's NatureCNN, whose parameter names it has, but for the layouts and for sides under 36 pixels.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from mimetic.errors import SpaceError
from mimetic.policies import ObservationFeatures

Layout = Literal["hwc", "chw", "hw"]

SMALLEST_SIDE = 36
"""What the three convolutions need; smaller images get a margin of zeros."""

FEW_CHANNELS = 4
SMALL_IMAGE = 5


def layout_of(space: gym.Space[Any], asked: str = "auto", name: str = "the observation space") -> Layout:
    """Say where an image's channels are; ``hw`` when it has no axis for them.

    The channel axis is clear when it is at the first or the last place and has at most half the size of both sides,
    or at most 4 channels beside sides of 5 and more.

    Raises:
        SpaceError: the space holds no images, or its shape is ambiguous and nobody said which layout it is.
    """
    if not isinstance(space, spaces.Box) or len(space.shape) not in (2, 3):
        raise SpaceError(
            f"{name} is {space}, which holds no images: expected a Box of shape (H, W), (H, W, C) or (C, H, W)"
        )
    if len(space.shape) == 2:
        return "hw"
    if asked in ("hwc", "chw"):
        return "hwc" if asked == "hwc" else "chw"
    first, middle, last = space.shape
    channels_last = _is_channels(last, first, middle)
    channels_first = _is_channels(first, middle, last)
    if channels_last == channels_first:
        raise SpaceError(
            f"{name} has the shape {space.shape}, which does not tell where its channels are: set layout to hwc "
            "(channels last) or chw (channels first)"
        )
    return "hwc" if channels_last else "chw"


def _is_channels(n: int, *sides: int) -> bool:
    return 2 * n <= min(sides) or (n <= FEW_CHANNELS and n < min(sides) and min(sides) >= SMALL_IMAGE)


class NatureFeatures(ObservationFeatures):
    """Images in either layout, scaled once, through three convolutions and one linear layer."""

    replayable: ClassVar[bool] = True

    def __init__(
        self,
        observation_space: gym.Space[Any],
        features_dim: int = 512,
        layout: str = "auto",
        normalize_images: bool = True,
        name: str = "the observation space",
    ) -> None:
        self_layout = layout_of(observation_space, layout, name)
        super().__init__(observation_space, features_dim)
        assert isinstance(observation_space, spaces.Box)
        self.layout = self_layout
        self.shape = observation_space.shape
        self.divisor = 255.0 if normalize_images and _is_bytes(observation_space) else 1.0
        n_channels, *sides = self._channels_first(torch.empty(1, *self.shape)).shape[1:]
        self.margins = _margins(*sides)
        height, width = (max(side, SMALLEST_SIDE) for side in sides)
        self.cnn = nn.Sequential(
            nn.Conv2d(n_channels, 32, kernel_size=8, stride=4),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=4, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 64, kernel_size=3, stride=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.linear = nn.Sequential(nn.Linear(64 * _after(height) * _after(width), features_dim), nn.ReLU())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """``(N, *O) -> (N, features_dim)``; ``O`` may have its channels on the other side than the space says."""
        # Channels last in memory, whatever the layout: convolutions on a CPU take half the time.
        images = self._channels_first(observations).to(torch.float32, memory_format=torch.channels_last)
        if self.divisor != 1.0:
            images = images / self.divisor
        if any(self.margins):
            images = nn.functional.pad(images, self.margins)
        features: torch.Tensor = self.linear(self.cnn(images))
        return features

    def _channels_first(self, images: torch.Tensor) -> torch.Tensor:
        """View images as ``(N, C, H, W)``."""
        shape = tuple(images.shape[1:])
        if self.layout == "hw" and shape == self.shape:
            return images[:, None]
        if self.layout != "hw":
            height, width, channels = (*self.shape[1:], self.shape[0]) if self.layout == "chw" else self.shape
            is_last = self.layout == "hwc" if shape == self.shape else shape == (height, width, channels)
            if is_last:
                return images.permute(0, 3, 1, 2)
            if shape == (channels, height, width):
                return images
        raise SpaceError(f"image shape {shape} != space shape {self.shape}, in either layout")


def _is_bytes(space: spaces.Box) -> bool:
    return bool(np.all(space.low == 0) and np.all(space.high == 255))


def _margins(height: int, width: int) -> tuple[int, int, int, int]:
    """How many zeros to put left, right, above and below."""
    across, down = (max(SMALLEST_SIDE - side, 0) for side in (width, height))
    return across // 2, across - across // 2, down // 2, down - down // 2


def _after(side: int) -> int:
    """How long a side is after the convolutions."""
    for kernel, stride in ((8, 4), (4, 2), (3, 1)):
        side = (side - kernel) // stride + 1
    return side
