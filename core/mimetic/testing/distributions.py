"""How is a plugin tried without installing it? In memory, or as an installed distribution's files in a folder."""

import importlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, ModuleType

from mimetic.hookspecs import ENTRY_OF_HOOK, CommandEntry, ComponentEntry, Entry, hookimpl
from mimetic.plugins import Registry, discover, using
from mimetic.plugins.discovery import assemble
from mimetic.plugins.installed import Candidate
from mimetic.plugins.switches import Switches

_NOTHING: Mapping[str, str] = MappingProxyType({})


def manager_with(*plugins: object, **named: object) -> Registry:
    """Return a registry that holds these plugins alone: objects with hook implementations, or plain entries.

    ::

        manager_with(PolicyEntry(name="mine", config="mine.config:Mine", factory="mine.policy:build", summary="..."))
        manager_with(acme=AcmePlugin())

    Nothing is read from the environment. A plugin that cannot be let in is in ``.plugins`` with its reason.
    """
    entries = [plugin for plugin in plugins if isinstance(plugin, ComponentEntry | CommandEntry)]
    objects = [plugin for plugin in plugins if not isinstance(plugin, ComponentEntry | CommandEntry)]
    offered = {f"plugin{number}": plugin for number, plugin in enumerate(objects, start=1)} | named
    if entries:
        offered["entries"] = _offering(entries)
    return assemble([_candidate(name, plugin) for name, plugin in offered.items()], Switches())


def fake_distribution(
    folder: Path,
    name: str = "acme-mimetic",
    version: str = "1.0",
    *,
    plugin: str | None = None,
    entry_points: Mapping[str, str] | None = None,
    files: Mapping[str, str] = _NOTHING,
    requires: Sequence[str] = (),
) -> Path:
    """Write a distribution into ``folder`` as an installer leaves it, and return the folder, to be put on the path.

    Args:
        folder: created when it is not there; may hold other distributions.
        name: of the distribution; its import package is called so with ``_`` for ``-``.
        version: of the distribution.
        plugin: the source of ``<package>/plugin.py``. None: no such file, as after a careless uninstall.
        entry_points: plugin names and what they name. Default: ``{"acme": "acme_mimetic.plugin"}``, by the name.
        files: more files by their path in the folder; they win over ``plugin``.
        requires: what the distribution depends on, as in a requirements file.
    """
    package = name.replace("-", "_")
    points = {name.removesuffix("-mimetic"): f"{package}.plugin"} if entry_points is None else entry_points
    sources = {} if plugin is None else {f"{package}/__init__.py": "", f"{package}/plugin.py": plugin}
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    info = f"{package}-{version}.dist-info"
    sources |= {
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/entry_points.txt": "\n".join(["[mimetic]", *(f"{key} = {value}" for key, value in points.items())])
        + "\n",
        **files,
    }
    for path, text in sources.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return folder


@contextmanager
def discovered(*folders: Path, environ: Mapping[str, str] = _NOTHING, alone: bool = True) -> Iterator[Registry]:
    """Discover what is installed in these folders, and nothing else, for the length of a ``with`` block.

    With ``alone=False`` what is installed anyway is discovered too. The registry is the one that everything uses inside
    the block. What was imported from the folders is forgotten afterwards.
    """
    before = set(sys.modules)
    paths = [str(folder) for folder in folders]
    sys.path[:0] = paths
    importlib.invalidate_caches()
    try:
        with using(discover(paths if alone else None, environ=environ)) as registry:
            yield registry
    finally:
        for path in paths:
            sys.path.remove(path)
        for module in set(sys.modules) - before:
            if _lies_in(sys.modules[module], paths):
                del sys.modules[module]


def _lies_in(module: ModuleType, folders: Sequence[str]) -> bool:
    file = getattr(module, "__file__", None) or ""
    return any(file.startswith(folder + os.sep) for folder in folders)


def _candidate(name: str, plugin: object) -> Candidate:
    return Candidate(name, "tests:" + name, distribution=name, version="0", load=lambda: plugin)


def _offering(entries: Sequence[Entry]) -> ModuleType:
    """Return a plugin that yields these entries."""
    module = ModuleType("entries")
    for hook, entry_type in ENTRY_OF_HOOK.items():
        own = [entry for entry in entries if isinstance(entry, entry_type)]
        if own:
            setattr(module, hook, hookimpl(_giving(own)))
    return module


def _giving(entries: list[Entry]) -> Callable[[], list[Entry]]:
    def implementation() -> list[Entry]:
        return entries

    return implementation
