"""Third-party distributions that are broken in every way that has been thought of, as files that an installer left."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mimetic.testing import fake_distribution

GOOD = """
    from mimetic import PolicyEntry, hookimpl

    @hookimpl
    def mimetic_policies():
        targets = dict(config="{package}.config:Config", factory="{package}.policy:build")
        yield PolicyEntry(name="{name}", summary="Acts", **targets)
"""


def good_plugin(name: str, package: str = "good_mimetic") -> str:
    """Return the source of a plugin.py that offers one policy."""
    return GOOD.format(name=name, package=package)


@dataclass(frozen=True)
class Broken:
    """What is wrong with one distribution, and what must be said about it."""

    plugin: str | None
    reason: str  # a regular expression that the reason matches
    state: str = "broken"
    entry_point: str = "acme_mimetic.plugin"
    files: Mapping[str, str] = field(default_factory=dict)

    def install(self, folder: Path) -> Path:
        """Write it as ``acme-mimetic 1.0`` with the plugin ``acme``."""
        points = {"acme": self.entry_point}
        return fake_distribution(folder, plugin=self.plugin, entry_points=points, files=self.files)

    def by(self, vendor: str) -> "Broken":
        """Return the same thing by another vendor: ``beta-mimetic 1.0`` with the plugin ``beta``."""

        def renamed(text: str) -> str:
            return text.replace("acme", vendor)

        return Broken(
            None if self.plugin is None else renamed(self.plugin),
            renamed(self.reason),
            self.state,
            renamed(self.entry_point),
            {renamed(path): renamed(text) for path, text in self.files.items()},
        )

    def install_as(self, vendor: str, folder: Path) -> Path:
        """Write it by another vendor, so that several can be installed in one folder."""
        own = self.by(vendor)
        points = {vendor: own.entry_point}
        return fake_distribution(folder, f"{vendor}-mimetic", plugin=own.plugin, entry_points=points, files=own.files)


def _hook(body: str, *, signature: str = "mimetic_policies()", marker: str = "@hookimpl") -> str:
    return f"""
    from mimetic import CommandEntry, LossEntry, PolicyEntry, WrapperEntry, hookimpl
    from mimetic.hookspecs import hookimpl as marker

    TARGETS = dict(config="acme_mimetic.config:Config", factory="acme_mimetic.policy:build")
    GOOD = dict(name="acme.good", summary="Acts", **TARGETS)

    {marker}
    def {signature}:
        {body}
    """


def _entry(changes: str) -> str:
    return _hook(f"yield PolicyEntry(**(GOOD | dict({changes})))")


AT_DISCOVERY = {
    # --- the import ---
    "import error": Broken("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
    "SystemExit": Broken("raise SystemExit(3)", "^SystemExit: 3"),
    "SyntaxError": Broken("def broken(:", "^SyntaxError: .*line 1"),
    "runtime error": Broken("1 / 0", r"^ZeroDivisionError: .*plugin\.py:1\)"),
    "exception that cannot print itself": Broken(
        "class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError\n\nraise Mute",
        "Mute: .*cannot be printed",
    ),
    "endless recursion": Broken("def f():\n    f()\n\nf()", "^RecursionError"),
    "metadata left behind": Broken(None, "'acme_mimetic.plugin' is not there.*removed package"),
    "missing module": Broken("", "'acme_mimetic.hooks' is not there", entry_point="acme_mimetic.hooks"),
    # --- the object ---
    "missing attribute": Broken("", "AttributeError: .*nowhere", entry_point="acme_mimetic.plugin:nowhere"),
    "wrong object": Broken("VERSION = 3", "implements no hook", entry_point="acme_mimetic.plugin:VERSION"),
    "nothing": Broken("plugin = None", "names None", entry_point="acme_mimetic.plugin:plugin"),
    "a class": Broken("class Plugin: pass", "names the class Plugin", entry_point="acme_mimetic.plugin:Plugin"),
    "no such form": Broken("", "neither 'module' nor 'module:attribute'", entry_point="acme mimetic!"),
    "no hook at all": Broken("import math", "implements no hook"),
    # --- the hooks ---
    "no marker": Broken(_hook("yield PolicyEntry(**GOOD)", marker=""), "'mimetic_policies' lacks '@hookimpl'"),
    "another project's marker": Broken(
        "import pluggy\n\n@pluggy.HookimplMarker('acme')\ndef mimetic_losses():\n    yield 1",
        "'mimetic_losses' lacks '@hookimpl'",
    ),
    "a list for a hook": Broken("mimetic_losses = []", "'mimetic_losses' is of type list"),
    "misspelt hook": Broken(
        _hook("yield PolicyEntry(**GOOD)", signature="mimetic_polices()"),
        "'mimetic_polices' does not exist, did you mean 'mimetic_policies'",
    ),
    "unknown argument": Broken(
        _hook("pass", signature="mimetic_run_failed(run, eror)"),
        r"'mimetic_run_failed' has no argument 'eror', did you mean 'error'\? \(its arguments: run, error\)",
    ),
    "argument of a hook without": Broken(
        _hook("yield PolicyEntry(**GOOD)", signature="mimetic_policies(context)"),
        r"no argument 'context' \(it takes none\)",
    ),
    "default argument": Broken(
        _hook("pass", signature="mimetic_run_started(run=None)"), "'run' has a default, so it would never be filled"
    ),
    "star arguments": Broken(_hook("pass", signature="mimetic_run_started(**event)"), r"instead of '\*\*event'"),
    "hook wrapper": Broken(
        _hook("return (yield)", marker="@hookimpl(wrapper=True)"), "'mimetic_policies' is marked as a wrapper"
    ),
    # --- what the hooks give ---
    "raises half-way": Broken(
        _hook("yield PolicyEntry(**GOOD); 1 / 0"), "hook 'mimetic_policies' raised ZeroDivisionError"
    ),
    "leaves half-way": Broken(
        _hook("yield PolicyEntry(**GOOD); raise SystemExit"), "'mimetic_policies' raised SystemExit"
    ),
    "raises at once": Broken(_hook("raise KeyError('x')"), "hook 'mimetic_policies' raised KeyError: 'x'"),
    "wrong entry type": Broken(
        _hook("yield LossEntry(**GOOD)"), "'mimetic_policies' yields LossEntry, expected PolicyEntry"
    ),
    "no entry": Broken(_hook("yield 'mlp'"), "yields the str 'mlp', expected PolicyEntry"),
    "nothing yielded": Broken(_hook("yield None"), "yields None, expected PolicyEntry"),
    "one entry instead of many": Broken(
        _hook("return PolicyEntry(**GOOD)"), "returned one PolicyEntry; yield it, or return a list"
    ),
    "forgotten return": Broken(_hook("[PolicyEntry(**GOOD)]"), "returned None; yield entries"),
    "a coroutine": Broken(
        _hook("return []").replace("    def mimetic", "    async def mimetic"), "returned an object of type coroutine"
    ),
    "a number": Broken(_hook("return 3"), "returned an object of type int"),
    "no end": Broken(_hook("while True: yield PolicyEntry(**GOOD)"), "more than 10000 entries"),
    "the same component twice": Broken(
        _hook("yield PolicyEntry(**GOOD); yield PolicyEntry(**GOOD)"), "offers policy 'acme.good' twice"
    ),
    # --- the fields of an entry ---
    "unknown field": Broken(_entry("sumary='x'"), "TypeError: .*'sumary'"),
    "name of the wrong type": Broken(_entry("name=3"), "name must be a str, got 3"),
    "upper-case name": Broken(_entry("name='MLP'"), "name must be lower-case words"),
    "name with two dots": Broken(_entry("name='a.b.c'"), "name must be lower-case words"),
    "factory without attribute": Broken(
        _entry("factory='acme.policy'"), "factory must have the form 'module:attribute'"
    ),
    "config that is the model": Broken(_entry("config=dict"), "config must be a str, got <class 'dict'>"),
    "requires a text": Broken(_entry("requires='torch'"), r"requires must be tuple\[str, \.\.\.\], got 'torch'"),
    "empty summary": Broken(_entry("summary=''"), "summary must be one line"),
    "unknown level": Broken(
        _hook("yield WrapperEntry(**GOOD, level='envs')", signature="mimetic_wrappers()"),
        "level must be one of 'env', 'venv', 'policy', got 'envs'",
    ),
    "a built-in command": Broken(
        _hook("yield CommandEntry(name='train', factory='a:b', summary='x')", signature="mimetic_commands()"),
        "'mimetic train' is a built-in command",
    ),
    # --- the version of the interface ---
    "API too new": Broken(
        "MIMETIC_API = (2, 0)", r"needs plugin interface >= 2\.0, this mimetic offers 1\.0", "incompatible"
    ),
    "API a little too new": Broken("MIMETIC_API = (1, 7)", r"needs plugin interface >= 1\.7", "incompatible"),
    "API too old": Broken("MIMETIC_API = (0, 9)", r"interface 0\.9, which .* no longer offers", "incompatible"),
    "API too new for its imports": Broken(
        "from mimetic import DreamEntry\n\nMIMETIC_API = (3, 1)", r"needs plugin interface >= 3\.1", "incompatible"
    ),
    "API as a text": Broken("MIMETIC_API = '1.0'", r"must be a pair of integers \(major, minor\), got '1\.0'"),
    "API as one number": Broken("MIMETIC_API = 1", "must be a pair of integers"),
}
"""Distributions that must not load, by what is wrong with them."""


MODEL = "from mimetic import ComponentConfig\n\nclass Config(ComponentConfig):\n    size: int = 1\n"

AT_USE = {
    "missing optional dependency": Broken(
        _entry("requires=('not-there-at-all>=2',), install='acme-mimetic[extra]'"),
        r"needs not-there-at-all>=2, which is not installed\. Install it: pip install 'acme-mimetic\[extra\]'",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "import not_there_at_all"},
    ),
    "config that cannot be imported": Broken(
        _entry(""), "its config .* cannot be imported: .*No module named 'acme_mimetic.config'"
    ),
    "config that is no model": Broken(
        _entry(""), "is no pydantic model", files={"acme_mimetic/config.py": "class Config: pass"}
    ),
    "config that allows unknown keys": Broken(
        _entry(""),
        "Config lets unknown keys through",
        files={"acme_mimetic/config.py": "from pydantic import BaseModel\n\nclass Config(BaseModel): pass"},
    ),
    "config that allows unknown keys further in": Broken(
        _entry(""),
        "Inner lets unknown keys through",
        files={
            "acme_mimetic/config.py": "from pydantic import BaseModel\n\nclass Inner(BaseModel): pass\n\n"
            "class Config(BaseModel, extra='forbid'):\n    inner: list[Inner] = []\n"
        },
    ),
    "implementation that cannot be imported": Broken(
        _entry(""),
        "its factory .* cannot be imported: ModuleNotFoundError: .*'not_there'",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "import not_there"},
    ),
    "factory that raises": Broken(
        _entry(""),
        "policy 'acme.good' of acme-mimetic 1.0 raised ZeroDivisionError",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "def build(config, context):\n    1 / 0"},
    ),
    "factory that leaves": Broken(
        _entry(""),
        "raised SystemExit: 3",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "def build(c, x):\n    raise SystemExit(3)"},
    ),
    "factory that is no function": Broken(
        _entry(""),
        "its factory .* is of type int",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "build = 3"},
    ),
    "factory that gives nothing": Broken(
        _entry(""),
        "gave an object of type NoneType",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "def build(config, context):\n    pass"},
    ),
    "factory that gives the wrong object": Broken(
        _entry(""),
        "gave an object of type int; a policy must have __call__ or predict",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "def build(c, x):\n    return 3"},
    ),
    "requirement of no form": Broken(
        _entry("requires=('not a requirement',)"),
        "requires='not a requirement' is not the form",
        files={"acme_mimetic/config.py": MODEL},
    ),
}
"""Distributions that load, and whose policy ``acme.good`` fails when it is used; ``reason`` is what the error says."""

ODD = {
    "heavy import": Broken(
        "import numpy\n" + _hook("yield PolicyEntry(**GOOD)").replace("\n    ", "\n"),
        "imports numpy, and every command",
        "active",
    ),
    "slow import": Broken(
        "import time\ntime.sleep(1.1)\n" + _hook("yield PolicyEntry(**GOOD)").replace("\n    ", "\n"),
        r"takes 1\.\d s to import, and every command",
        "active",
    ),
    "printing import": Broken(
        "print('hello from acme')\n" + _hook("yield PolicyEntry(**GOOD)").replace("\n    ", "\n"), "", "active"
    ),
    "optional hook of another version": Broken(
        _hook("yield 1", signature="mimetic_dreams()", marker="@hookimpl(optionalhook=True)")
        + _hook("yield PolicyEntry(**GOOD)"),
        "",
        "active",
    ),
}
"""Distributions that load although something is odd about them."""


_POLICY = "from mimetic.policies import UniformActor\n\ndef build(config, context):\n    {}\n"

FATAL = {
    "leaves without a word at import": Broken(
        "import os\nos._exit(3)", r"ended with status 3 while importing acme_mimetic\.plugin"
    ),
    "leaves as if all were well at import": Broken("import os\nos._exit(0)", "ended with status 0 while importing"),
    "segmentation fault at import": Broken(
        "import ctypes\nctypes.string_at(0)",
        r"killed by SIGSEGV while importing acme_mimetic\.plugin \(.*plugin\.py:2\)",
    ),
    "killed at import": Broken("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
    "hangs at import": Broken("import time\ntime.sleep(1000)", r"did not end within \d+ s while importing"),
    "leaves when its settings are imported": Broken(
        _entry(""),
        "ended with status 5 while importing the settings of policy 'acme.good'",
        "active",
        files={"acme_mimetic/config.py": "import os\nos._exit(5)"},
    ),
    "leaves when its implementation is imported": Broken(
        _entry(""),
        "ended with status 6 while importing the implementation of policy 'acme.good'",
        "active",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": "import os\nos._exit(6)"},
    ),
    "leaves when it is built": Broken(
        _entry(""),
        "ended with status 7 while building policy 'acme.good'",
        "active",
        files={"acme_mimetic/config.py": MODEL, "acme_mimetic/policy.py": _POLICY.format("import os; os._exit(7)")},
    ),
}
"""Distributions that take the interpreter down, or keep it; ``reason`` is what ``mimetic plugins check`` says."""
