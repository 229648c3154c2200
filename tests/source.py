"""What the source says about itself, read from its syntax trees: what it imports and which strings it holds."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "core" / "mimetic"
PLUGINS = ROOT / "plugins"


@dataclass(frozen=True)
class Import:
    """One imported module, and whether the import ever runs."""

    module: str  # "mimetic.errors"; for `from mimetic import x` it is "mimetic"
    runs: bool  # False under `if TYPE_CHECKING:`
    line: int


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Return every import of a file, those inside functions and by ``import_module("...")`` included."""
    return tuple(_imports(tree(path), runs=True))


def strings(path: Path) -> Iterator[tuple[str, int]]:
    """Yield every string of a file with its line; documentation, which stands alone, is left out."""
    alone = {id(node.value) for node in ast.walk(tree(path)) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value, node.lineno


def _imports(node: ast.AST, *, runs: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(name.name, runs, node.lineno) for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield Import(node.module or "", runs, node.lineno)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        named = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        yield from (Import(str(name), runs, node.lineno) for name in named)
    for child, child_runs in _children(node, runs=runs):
        yield from _imports(child, runs=child_runs)


def _children(node: ast.AST, *, runs: bool) -> Iterator[tuple[ast.AST, bool]]:
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        yield from ((child, False) for child in node.body)
        yield from ((child, runs) for child in node.orelse)
    else:
        yield from ((child, runs) for child in ast.iter_child_nodes(node))


def lazy_table(path: Path) -> dict[str, str] | None:
    """Return the table of a package that exports lazily, or None."""
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULE_OF":
            table: dict[str, str] = ast.literal_eval(node.value)
            return table
    return None


def names_for_type_checkers(path: Path, package: str) -> dict[str, str]:
    """Return the names that a package imports under ``TYPE_CHECKING``, with the modules that they come from."""
    top = tree(path).body
    blocks = (node.body for node in top if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    found = (node for block in blocks for node in block if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name: _within(package, node) for node in found for alias in node.names}


def _within(package: str, node: ast.ImportFrom) -> str:
    return (node.module or "").removeprefix(f"{package}.")
