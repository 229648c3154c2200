"""What must a user hear about plugins that did not load, before anything else happens?"""

from collections.abc import Mapping

from mimetic.hookspecs import PROJECT
from mimetic.plugins.installed import normalised
from mimetic.plugins.records import PluginRecord, PluginState
from mimetic.plugins.registry import Registry
from mimetic.plugins.switches import STRICT, WITHOUT


def report(registry: Registry, environ: Mapping[str, str]) -> str:
    """Return the lines for standard error; empty when all is well."""
    failed = [record for record in registry.unloaded() if record.state != PluginState.DISABLED]
    lines = []
    if failed:
        lines.append(f"mimetic: {_counted(len(failed))} did not load; the others work ({STRICT}=1 shows tracebacks):")
    for record in failed:
        lines += [f"  {record} is {record.state}: {record.reason}", f"    {_remedy(record, environ)}"]
    lines += [
        f"mimetic: {sentence}" for sentence in [*registry.warnings(), *registry.remarks(), *_switched_off(registry)]
    ]
    return "".join(f"{line}\n" for line in lines)


def _counted(n: int) -> str:
    return "1 plugin" if n == 1 else f"{n} plugins"


def _remedy(record: PluginRecord, environ: Mapping[str, str]) -> str:
    remove = f"remove it: pip uninstall {record.distribution}"
    if normalised(record.distribution) == PROJECT:
        remove = f"repair it: pip install --force-reinstall {record.distribution}"
    already = [name.strip() for name in environ.get(WITHOUT, "").split(",") if name.strip()]
    return f"{remove}; or switch it off: {WITHOUT}={','.join([*already, record.name])}"


def _switched_off(registry: Registry) -> list[str]:
    names = [record.name for record in registry.plugins if record.state == PluginState.DISABLED]
    return [f"{_counted(len(names))} switched off by the environment: {', '.join(names)}"] if names else []
