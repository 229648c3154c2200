"""Are the libraries that a component needs installed? Answered from metadata; nothing is imported."""

import importlib.metadata
import shlex
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement

from mimetic.errors import MissingDependencyError, PluginError
from mimetic.plugins.records import Component


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
    faults = {text: list(faults_of(_parsed(text, component))) for text in component.entry.requires}
    return {text: found for text, found in faults.items() if found}


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
        requirement = Requirement(text)
        belongs = requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})
        if belongs:
            yield from faults_of(requirement, extra=extra)


def _bare(requirement: Requirement) -> str:
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{requirement.specifier}"


def _parsed(text: str, component: Component) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise PluginError(f"{component}: requires={text!r} is not the form of a requirements file: {error}") from error
