"""Are the libraries that a component needs installed? Answered from metadata; nothing is imported."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mimetic.errors import MissingDependencyError, PluginError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from mimetic.plugins.records import Component

_BARE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_requirements(component: Component) -> None:
    """Raise :class:`MissingDependencyError`, with the command that mends it, unless all that it needs is there."""
    missing = missing_requirements(component)
    if missing:
        wanted = [component.entry.install] if component.entry.install else list(missing)
        needed = "; ".join(fault for faults in missing.values() for fault in faults)
        command = f"pip install {' '.join(map(shlex.quote, wanted))}"
        raise MissingDependencyError(f"{component} needs {needed}. Install it: {command}")


def missing_requirements(component: Component) -> dict[str, list[str]]:
    """Return what of a component's requirements is not fulfilled, and what is wrong with each."""
    wanted = [text for text in component.entry.requires if not _is_installed(text)]
    faults = {text: list(faults_of(_parsed(text, component))) for text in wanted}
    return {text: found for text, found in faults.items() if found}


def _is_installed(text: str) -> bool:
    """Whether a requirement names a distribution, no more, and it is there: most do, and that is looked up at once."""
    if not _BARE_NAME.fullmatch(text):
        return False
    try:
        importlib.metadata.distribution(text)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def faults_of(requirement: Requirement, *, extra: str = "") -> Iterator[str]:
    """Yield what is missing or too old, e.g. ``tensorboard>=2.16, which is not installed``."""
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
        return
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        yield f"{_bare(requirement)}, which is not installed"
        return
    if not requirement.specifier.contains(version, prereleases=True):
        yield f"{_bare(requirement)}, but {requirement.name} {version} is installed"
    for name in sorted(requirement.extras):
        yield from _faults_of_extra(requirement.name, name)


def _faults_of_extra(distribution: str, extra: str) -> Iterator[str]:
    """Yield what an extra of an installed distribution lacks."""
    for text in importlib.metadata.requires(distribution) or ():
        requirement = _requirement(text)
        belongs = requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})
        if belongs:
            yield from faults_of(requirement, extra=extra)


def _bare(requirement: Requirement) -> str:
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{requirement.specifier}"


def _requirement(text: str) -> Requirement:
    from packaging.requirements import Requirement  # not light

    return Requirement(text)


def _parsed(text: str, component: Component) -> Requirement:
    from packaging.requirements import InvalidRequirement

    try:
        return _requirement(text)
    except InvalidRequirement as error:
        raise PluginError(f"{component}: requires={text!r} is not the form of a requirements file: {error}") from error
