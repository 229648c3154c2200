"""How heavy is the import of a plugin? Every command imports every plugin.py, so all of them wait for each."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

HEAVY = frozenset(
    {
        "cv2",
        "datasets",
        "gymnasium",
        "imageio",
        "imageio_ffmpeg",
        "jax",
        "matplotlib",
        "mlflow",
        "numpy",
        "pandas",
        "PIL",
        "pyarrow",
        "pydantic",
        "pygame",
        "safetensors",
        "scipy",
        "sklearn",
        "stable_baselines3",
        "tensorboard",
        "tensorflow",
        "torch",
        "torchvision",
        "transformers",
        "wandb",
    }
)
"""Packages that no plugin.py should import: they belong into the implementation, which entries name as text."""

SLOW_S = 1.0
"""An import that takes longer is told."""


@dataclass(frozen=True, slots=True)
class Weight:
    """What the import of one module cost, in a process that had not imported it yet."""

    seconds: float = 0.0
    heavy: tuple[str, ...] = ()  # of HEAVY, those that came with it

    def remarks(self) -> Iterator[str]:
        """Yield what its author should know."""
        if self.heavy:
            advice = "import them where they are used, which entries name as text"
            yield f"its plugin.py imports {', '.join(self.heavy)}, and every command waits for that; {advice}"
        elif self.seconds > SLOW_S:
            yield f"its plugin.py takes {self.seconds:.1f} s to import, and every command waits for that"


def weighed(load: Callable[[], T]) -> tuple[T, Weight]:
    """Call what imports something, and tell what it cost."""
    before = set(sys.modules)
    started = time.perf_counter()
    loaded = load()
    seconds = time.perf_counter() - started
    return loaded, Weight(seconds, heavy_among(set(sys.modules) - before))


def heavy_among(modules: set[str]) -> tuple[str, ...]:
    """Return the heavy packages that these modules belong to."""
    return tuple(sorted({name.partition(".")[0] for name in modules} & HEAVY, key=str.lower))
