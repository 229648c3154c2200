"""How does somebody begin a plugin? With a distribution that is complete: it installs, works, and passes its tests."""

import argparse
import json
import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from mimetic.errors import ConfigError, TargetExistsError, suggestion
from mimetic.hookspecs import ENTRY_OF_HOOK, KINDS, Kind
from mimetic.plugins import registry
from mimetic.plugins.entries import BUILT_IN_COMMANDS, NAME_FORM

SUFFIX = ".template"
TEMPLATES: Traversable = files("mimetic.cli.plugins") / "templates"


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the template of one kind says about itself."""

    module: str  # the implementation's
    noun: str
    summary: str  # of the component, as its entry says it
    usage: str = "mimetic train example.yaml"


BEGINNINGS: Mapping[str, Beginning] = {
    "algorithm": Beginning("algorithm", "algorithm", "Clone with one step over all demonstrations at a time"),
    "policy": Beginning("policy", "policy", "Feed-forward actor-critic with rectified layers"),
    "loss": Beginning("loss", "loss term", "Cross-entropy that looks harder at what is unlikely still"),
    "data-source": Beginning("source", "data source", "A CSV file with an observation and an action in each row"),
    "wrapper env": Beginning("wrapper", "wrapper", "Gaussian noise on observations"),
    "wrapper venv": Beginning("wrapper", "wrapper", "Rewards in another unit"),
    "wrapper policy": Beginning("wrapper", "wrapper", "Now and then the action of the step before again"),
    "logger": Beginning("logger", "logger", "One line of text a record"),
    "reward": Beginning("reward", "reward", "One for each step, less the distance from the middle"),
    "command": Beginning("command", "command", "List evaluated runs, the best one first", "mimetic {name} --help"),
}


@dataclass(frozen=True, slots=True)
class Names:
    """What a component's name gives its distribution, its package and its classes."""

    component: str  # "acme.smooth-l1"

    @property
    def plugin(self) -> str:
        """The entry point: ``acme-smooth-l1``."""
        return self.component.replace(".", "-")

    @property
    def distribution(self) -> str:
        """What pip calls it: ``acme-smooth-l1-mimetic``."""
        return f"{self.plugin}-mimetic"

    @property
    def package(self) -> str:
        """What Python calls it: ``acme_smooth_l1_mimetic``."""
        return self.distribution.replace("-", "_")

    @property
    def class_name(self) -> str:
        """What classes are called by: ``SmoothL1``, without the vendor."""
        words = re.split(r"[.-]", self.component.rpartition(".")[2])
        camel = "".join(word.capitalize() for word in words)
        return camel if camel[:1].isalpha() and not keyword.iskeyword(camel) else f"The{camel}"


def start_plugin(arguments: argparse.Namespace) -> int:
    """Carry out ``mimetic plugins new`` and return its exit status."""
    kind = _kind(arguments.kind)
    if arguments.level is not None and kind != "wrapper":
        raise ConfigError(f"--level says what a wrapper goes around; a {kind} goes around nothing")
    names = _names(kind, arguments.name)
    folder = Path(names.distribution if arguments.out is None else arguments.out)
    level = arguments.level or "env"
    written = write_plugin(kind, names, folder, level=level)
    if arguments.json:
        facts = {"folder": str(folder), "distribution": names.distribution, "package": names.package}
        lines = [json.dumps({**facts, "kind": kind, "name": names.component, "files": written}, indent=2)]
    else:
        lines = _next_steps(names, folder, _beginning(kind, level))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def write_plugin(kind: Kind, names: Names, folder: Path, *, level: str = "env") -> list[str]:
    """Write a distribution with one component, and return the paths of its files below ``folder``.

    Raises:
        TargetExistsError: ``folder`` is there, and is no empty folder; nothing was written.
    """
    texts = dict(_texts(kind, names, level))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise TargetExistsError(f"{folder}: is a file; name a folder that is new or empty (--out DIR)") from None
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made: {error}") from None
    if any(folder.iterdir()):
        raise TargetExistsError(f"{folder}: exists and is not empty; nothing was written, name another one (--out DIR)")
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
    return sorted(texts)


# --- what is asked for ----------------------------------------------------------------------------------------------


def _kind(text: str) -> Kind:
    for kind in KINDS:
        if kind == text:
            return kind
    raise ConfigError(f"no kind of component is called {text!r}{suggestion(text, KINDS)} (kinds: {', '.join(KINDS)})")


def _names(kind: Kind, name: str) -> Names:
    """Return the names of a new component.

    Raises:
        ConfigError: the name has no form of a name, or is taken.
    """
    if not NAME_FORM.fullmatch(name):
        form = "lower-case words joined by '-', with at most one '.' after the vendor"
        raise ConfigError(f"{name!r} is no name of a component: expected {form}, such as {_mended(name)!r}")
    if kind == "command" and name in BUILT_IN_COMMANDS:
        raise ConfigError(f"'mimetic {name}' is a built-in command; choose another name, such as 'acme-{name}'")
    offers = (each for record in registry().plugins for each in record.components)
    taken = next((each for each in offers if (each.kind, each.name) == (kind, name)), None)
    if taken is not None:
        told = f"{taken} has this name, and of two components of one name none can be used"
        raise ConfigError(f"{told}; put a vendor before it, such as 'acme.{name.rpartition('.')[2]}'")
    return Names(name)


def _mended(name: str) -> str:
    """Return the nearest thing to a name that somebody gave."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    vendor, dot, rest = re.sub(r"[^a-z0-9.]+", "-", words).strip("-.").partition(".")
    mended = f"{vendor.strip('-')}{dot}{rest.replace('.', '-').strip('-')}"
    return mended if NAME_FORM.fullmatch(mended) else "acme.focal"


# --- the files ------------------------------------------------------------------------------------------------------


def _texts(kind: Kind, names: Names, level: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file."""
    beginning = _beginning(kind, level)
    words = _words(kind, names, level, beginning)
    source = f"src/{names.package}"
    places = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        "__init__.py": f"{source}/__init__.py",
        "plugin.py": f"{source}/plugin.py",
        "config.py": f"{source}/config.py",
        f"{beginning.module}.py": f"{source}/{beginning.module}.py",
        f"test_{beginning.module}.py": f"tests/test_{beginning.module}.py",
    }
    own = f"wrapper-{level}" if kind == "wrapper" else kind
    for template in (*(TEMPLATES / "shared").iterdir(), *(TEMPLATES / own).iterdir()):
        name = template.name.removesuffix(SUFFIX)
        if template.name.endswith(SUFFIX):
            yield places.get(name, name), Template(template.read_text(encoding="utf-8")).substitute(words)
    yield f"{source}/py.typed", ""


def _beginning(kind: Kind, level: str) -> Beginning:
    return BEGINNINGS[f"{kind} {level}" if kind == "wrapper" else kind]


def _words(kind: Kind, names: Names, level: str, beginning: Beginning) -> dict[str, str]:
    hook, entry = next((hook, entry) for hook, entry in ENTRY_OF_HOOK.items() if entry.kind == kind)
    config = f"{names.package}.config:{names.class_name}Config"
    target = f"{names.package}.{beginning.module}:{'run' if kind == 'command' else 'build'}"
    fields = {
        "name": names.component,
        **({"level": level} if kind == "wrapper" else {}),
        **({} if kind == "command" else {"config": config}),
        "factory": target,
        "summary": beginning.summary,
    }
    return {
        "name": names.component,
        "plugin": names.plugin,
        "distribution": names.distribution,
        "package": names.package,
        "class_name": names.class_name,
        "module": beginning.module,
        "noun": beginning.noun,
        "sentence": beginning.summary[0].lower() + beginning.summary[1:],
        "usage": beginning.usage.format(name=names.component),
        "hook": hook,
        "entry": entry.__name__,
        "arguments": "\n".join(f'        {key}="{value}",' for key, value in fields.items()),
        "config_row": "" if kind == "command" else _CONFIG_ROW.format(package=names.package),
        "mimetic_versions": _versions(),
    }


_CONFIG_ROW = "| `src/{package}/config.py` | its settings; checking a run file imports them, and nothing heavier |\n"


def _versions() -> str:
    """Return which releases of mimetic a plugin that is begun now should ask for: ``>=0.1,<1``."""
    major, minor = version("mimetic").split(".")[:2]
    return f">={major}.{minor},<{int(major) + 1}"


def _next_steps(names: Names, folder: Path, beginning: Beginning) -> list[str]:
    return [
        f"wrote {folder}, the {beginning.noun} {names.component!r}; go on with",
        "",
        f"  cd {folder}",
        "  pip install -e '.[dev]'",
        "  pytest",
        f"  {beginning.usage.format(name=names.component)}",
        "",
        f"and change what it does in src/{names.package}/{beginning.module}.py",
    ]
