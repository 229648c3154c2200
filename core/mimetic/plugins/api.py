"""Which version of the plugin interface does a plugin ask for, and is it offered here?

``MIMETIC_API = (major, minor)`` stands in ``plugin.py``. Another major number, or a higher minor one, does not
fit. A plugin that states none is taken for the first version.
"""

import ast
import importlib.util
import sys

from mimetic.hookspecs import API_VERSION
from mimetic.plugins.records import PluginState, Refusal

NAME = "MIMETIC_API"
FIRST = (1, 0)


def check_api(plugin: object, module: str) -> None:
    """Raise :class:`Refusal` when the plugin asks for what this core does not offer."""
    stated = stated_version(plugin, module)
    check_version(FIRST if stated is None else stated)


def stated_version(plugin: object, module: str) -> object:
    """Return what the plugin, or the imported module that holds it, states as its version; None: nothing."""
    stated = getattr(plugin, NAME, None)
    return getattr(sys.modules.get(module), NAME, None) if stated is None else stated


def check_version(stated: object) -> None:
    """Raise :class:`Refusal` unless ``stated`` is a version that this core offers."""
    if not (isinstance(stated, tuple) and len(stated) == 2 and all(type(part) is int for part in stated)):
        raise Refusal(f"{NAME} must be a pair of integers (major, minor), got {stated!r}")
    wanted, offered = "{}.{}".format(*stated), "{}.{}".format(*API_VERSION)
    if stated[0] < API_VERSION[0]:
        reason = f"it is written for plugin interface {wanted}, which mimetic with interface {offered} no longer offers"
        raise Refusal(f"{reason}; update the plugin", PluginState.INCOMPATIBLE)
    if stated > API_VERSION:
        reason = f"it needs plugin interface >= {wanted}, this mimetic offers {offered}"
        raise Refusal(f"{reason}; update mimetic", PluginState.INCOMPATIBLE)


def stated_in_source(module: str) -> object:
    """Return what a module that cannot be imported states as its version, or None.

    A plugin for a newer core usually fails on an import from it; its version tells why.
    """
    try:
        spec = importlib.util.find_spec(module)
        source = getattr(spec and spec.loader, "get_source", lambda _: None)(module)
        body = ast.parse(source or "").body
    except BaseException as error:  # the source of somebody's broken module: anything may be wrong with it
        if isinstance(error, KeyboardInterrupt):
            raise
        return None
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == NAME for t in node.targets):
            return _literal(node.value)
    return None


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
