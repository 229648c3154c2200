"""A run that was made elsewhere, or some time ago: what differs here? Read from metadata; nothing heavy is imported."""

import importlib.metadata
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mimetic.config import RunConfig
from mimetic.plugins import PluginRecord, PluginState, registry

CONFIG, MANIFEST = "config.yaml", "manifest.json"


def manifest_beside(file: Path) -> Mapping[str, Any] | None:
    """Return the manifest of the run whose resolved run file this is; None when it is another file."""
    path = file.with_name(MANIFEST)
    if file.name != CONFIG or not path.is_file():
        return None
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        return None  # what wrote it did not end well; the run file is judged by itself
    return manifest if isinstance(manifest, Mapping) and isinstance(manifest.get("versions"), Mapping) else None


def differences(manifest: Mapping[str, Any], config: RunConfig | None) -> list[str]:
    """Return a sentence for each thing that is otherwise here; ``config`` is None when it has faults."""
    return [
        *_plugins(manifest.get("plugins") or []),
        *_versions(manifest["versions"]),
        *_machine(manifest.get("machine") or {}),
        *(_paths(config) if config is not None else ()),
    ]


def told(file: str, found: Sequence[str]) -> str:
    """Return the differences as lines for people."""
    if not found:
        return f"{file}: plugins, versions and paths are as they were when this run was made\n"
    lines = [f"{file}: differs here from where this run was made, as {MANIFEST} beside it says:"]
    return "".join(f"{line}\n" for line in [*lines, *(f"  {sentence}" for sentence in found)])


def _plugins(there: Sequence[Mapping[str, str]]) -> Iterator[str]:
    here: dict[str, PluginRecord] = {}
    for record in registry().plugins:
        here.setdefault(record.name, record)  # the one that wins its name comes first
    for plugin in there:
        if plugin.get("state") == PluginState.ACTIVE:
            yield from _plugin(plugin, here.get(plugin["name"]))


def _plugin(there: Mapping[str, str], here: PluginRecord | None) -> Iterator[str]:
    was = f"{there['distribution']} {there['version']}"
    if here is None:
        pinned = f"{there['distribution']}=={there['version']}"
        yield f"plugin {there['name']!r} of {was} is not installed here: pip install '{pinned}'"
    elif here.state != PluginState.ACTIVE:
        yield f"plugin {there['name']!r} of {was} is {here.state} here: {here.reason}"
    elif f"{here.distribution} {here.version}" != was:
        yield f"plugin {there['name']!r} is of {here.distribution} {here.version} here, it was of {was}"


def _versions(there: Mapping[str, str]) -> Iterator[str]:
    for name in _that_count():
        was, here = _version_in(there, name), _installed(name)
        if was is not None and here != was:
            yield f"{name} is {here or 'not installed'} here, it was {was}"


def _that_count() -> list[str]:
    """Return mimetic and the libraries that every run uses."""
    from packaging.requirements import Requirement  # not light

    required = [Requirement(text) for text in importlib.metadata.requires("mimetic") or ()]
    always = [each.name for each in required if each.marker is None or each.marker.evaluate({"extra": ""})]
    return ["mimetic", *sorted(always)]


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _version_in(versions: Mapping[str, str], name: str) -> str | None:
    """Look a distribution up, however its name is written."""
    from mimetic.plugins.installed import normalised

    return next((version for each, version in versions.items() if normalised(each) == normalised(name)), None)


def _machine(there: Mapping[str, str]) -> Iterator[str]:
    was, here = there.get("python"), platform.python_version()
    if was is not None and was.split(".")[:2] != here.split(".")[:2]:
        yield f"Python is {here} here, it was {was}"
    was, here = there.get("machine"), platform.machine()
    if was is not None and was != here:
        yield f"the machine is {here} here, it was {was}"


def _paths(config: RunConfig) -> Iterator[str]:
    """Find files of another machine: what is read must be there."""
    sources = {f"demonstrations.{index}": choice for index, choice in enumerate(config.demonstrations)}
    for key, choice in {**sources, "policy": config.policy}.items():
        for name in type(choice.config).model_fields:
            value = getattr(choice.config, name)
            if isinstance(value, Path) and not value.exists():
                yield f"{key}.{name}: {value} is not there"
