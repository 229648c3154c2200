"""What is the window? One of pygame's, that shows a picture and tells which keys were pressed."""

import os
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from mimetic.errors import EnvError, MissingDependencyError

if TYPE_CHECKING:
    from pygame import Surface

UNSEEN_DRIVERS = ("offscreen", "dummy")
"""SDL takes one of these without a word when it finds no display."""

DRIVER_VARIABLES = ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")

ARROWS_OF_OLD = {273: "up", 274: "down", 275: "right", 276: "left"}
"""The codes of pygame 1, which some environments still name."""


class WindowClosed(KeyboardInterrupt):
    """The user closed the window. Whatever treats Ctrl-C as the wish to stop treats this so, too."""


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """A key that went down or up."""

    name: str  # of the key, such as "space", "left" or "="
    text: str  # what it typed, such as "+", in lower case; its name when it types nothing
    down: bool


class Window:
    """A window of the size of its picture, smaller where the screen is; the user may change its size."""

    def __init__(self, title: str) -> None:
        """Make sure that there is a display. The window opens with its first picture.

        Raises:
            MissingDependencyError: pygame is not installed.
            EnvError: There is no display.
        """
        self._pygame = import_pygame()
        self._title = title
        self._size = (0, 0)  # of the picture that the window was opened for: (width, height)
        self._picture = np.zeros((1, 1, 3), np.uint8)
        self._open_display()

    @property
    def title(self) -> str:
        """What stands above the window."""
        return self._title

    @title.setter
    def title(self, text: str) -> None:
        if text != self._title:
            self._title = text
            if self._pygame.display.get_init():
                self._pygame.display.set_caption(text)

    def show(self, picture: np.ndarray) -> None:
        """Show a picture (H, W, 3) of uint8, scaled where the window has another size."""
        self._picture = np.ascontiguousarray(picture)
        self._draw()

    def events(self) -> list[KeyEvent]:
        """Return what happened to keys since the last call.

        Raises:
            WindowClosed: The window was closed.
        """
        pygame = self._pygame
        if not pygame.display.get_init():
            return []
        happened = []
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                raise WindowClosed("the window was closed")
            if event.type in (pygame.VIDEOEXPOSE, pygame.VIDEORESIZE):
                self._draw()
            if event.type in (pygame.KEYDOWN, pygame.KEYUP):
                name, typed = pygame.key.name(event.key), getattr(event, "unicode", "").strip()
                text = typed.lower() if typed and typed.isprintable() else name
                happened.append(KeyEvent(name, text, event.type == pygame.KEYDOWN))
        return happened

    def close(self) -> None:
        """Close the window, not more: environments may draw with pygame, too."""
        if self._pygame.display.get_init():
            self._pygame.display.quit()

    def _draw(self) -> None:
        pygame, picture = self._pygame, self._picture
        size = (picture.shape[1], picture.shape[0])
        screen = pygame.display.get_surface() if pygame.display.get_init() else None
        if screen is None or size != self._size:  # an environment that closes takes every window with it
            screen = self._open(size)
        image = pygame.image.frombuffer(picture, size, "RGB")
        if screen.get_size() == size:
            screen.blit(image, (0, 0))
        else:
            width, height = _fitted(size, screen.get_size())
            scaled = pygame.transform.smoothscale(image.convert(), (width, height))  # converted: several times faster
            screen.fill((0, 0, 0))
            screen.blit(scaled, ((screen.get_width() - width) // 2, (screen.get_height() - height) // 2))
        pygame.display.flip()

    def _open(self, size: tuple[int, int]) -> "Surface":
        pygame = self._pygame
        self._open_display()
        self._size = size
        desktop = pygame.display.get_desktop_sizes()
        room = (desktop[0][0] * 9 // 10, desktop[0][1] * 9 // 10) if desktop else size
        pygame.display.set_caption(self._title)
        fits = size[0] <= room[0] and size[1] <= room[1]
        screen: Surface = pygame.display.set_mode(size if fits else _fitted(size, room), pygame.RESIZABLE)
        return screen

    def _open_display(self) -> None:
        pygame = self._pygame
        try:
            pygame.display.init()
        except pygame.error as error:
            raise no_display(str(error)) from error
        driver = pygame.display.get_driver()
        if driver in UNSEEN_DRIVERS and not any(os.environ.get(name) for name in DRIVER_VARIABLES):
            pygame.display.quit()
            raise no_display(f"SDL would draw with its driver {driver!r}, where nobody can see it")


def import_pygame() -> ModuleType:
    """Import pygame without its greeting, which would stand in the middle of a command's output.

    Raises:
        MissingDependencyError: It is not installed; the message holds the pip command.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError as error:
        raise MissingDependencyError(f"A window needs pygame ({error}): pip install 'mimetic[render]'") from error
    return pygame


def key_called(text: str) -> str | None:
    """Return a key's own name, such as ``space``; None when no key is called so. A window has to be open."""
    pygame = import_pygame()
    try:
        name: str = pygame.key.name(pygame.key.key_code(text))
    except ValueError:
        return None
    return name


def key_of_code(code: int) -> str | None:
    """Return the name of the key with a code of pygame's, also of its first version's arrows; None: there is none."""
    return ARROWS_OF_OLD.get(code) or import_pygame().key.name(code) or None


def no_display(seen: str) -> EnvError:
    """Say that there is nothing to open a window on, and what can be done instead."""
    return EnvError(
        f"There is no display to open a window on ({seen}). Film instead (--videos), run under xvfb-run, or set "
        "SDL_VIDEODRIVER=dummy to draw unseen on purpose"
    )


def _fitted(size: tuple[int, int], room: tuple[int, int]) -> tuple[int, int]:
    """Return the largest size of the same proportions that fits into ``room``."""
    scale = min(room[0] / size[0], room[1] / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
