"""How does a plugin's own test look at the plugin as a whole?"""

from mimetic.plugins import registry
from mimetic.plugins.installed import GROUP, installed_candidates
from mimetic.testing.examination.findings import Depth, Level, PluginReport
from mimetic.testing.examination.processes import examine


def check_plugin(module: str, *, contracts: bool = False) -> PluginReport:
    """Fail unless the plugin in ``module`` is in order: what ``mimetic plugins check`` looks at, as a test.

    ::

        def test_the_plugin_is_in_order() -> None:
            check_plugin("acme_mimetic.plugin")

    An installed entry point must name the module. It is looked at in a process of its own: what it imports and how long
    that takes, the version of the interface that it states, its entries, settings and implementations, and whether
    another installed plugin has its names.

    Args:
        module: what the entry point names.
        contracts: also hold each component to its contract, with its default settings; a plugin's tests do so better.

    Raises:
        AssertionError: with every error that was found.
    """
    report = _examined(module, Depth.CONTRACTS if contracts else Depth.IMPORTS)
    errors = [f"{finding.about}: {finding.message}" for finding in report.findings if finding.level == Level.ERROR]
    errors += [told for told in registry().warnings() if f"(plugin {report.name!r})" in told]
    if errors:
        raise AssertionError("\n".join([f"{module} ({report.provider}):", *errors]))
    return report


def _examined(module: str, depth: Depth) -> PluginReport:
    installed = installed_candidates()
    name = next((each.name for each in installed if each.module == module), None)
    if name is None:
        raise AssertionError(
            f"no installed entry point of the group {GROUP!r} names {module!r}; name it in pyproject.toml under "
            f"[project.entry-points.{GROUP}] and install the distribution: pip install -e ."
        )
    reports = examine([each for each in installed if each.name == name], depth=lambda _: depth)
    return next(report for report in reports if report.entry_point.partition(":")[0].strip() == module)
