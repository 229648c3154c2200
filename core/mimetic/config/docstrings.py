"""What is written under a field is its documentation: where is it?

pydantic can look for it too (``use_attribute_docstrings``), through the stack of the interpreter; with a large library
imported that takes milliseconds a class, and a run needs dozens of classes. Here each module is parsed once.
"""

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping
from functools import cache


def field_docstrings(cls: type) -> Mapping[str, str]:
    """Return the text under each field that a class itself defines, by the field's name."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""  # of two modules of one name, this one
    found = [docs for name, docs in _classes_of(cls.__module__, file) if name == cls.__qualname__.rpartition(".")[2]]
    own = set(vars(cls).get("__annotations__", ()))
    fitting = [docs for docs in found if docs.keys() <= own]
    return fitting[-1] if fitting else {}


@cache
def _classes_of(module: str, file: str) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """List the classes that a module's source defines, at any depth, with the texts under their fields."""
    names = vars(sys.modules[module]) if module in sys.modules else {}
    try:
        tree = ast.parse("".join(linecache.getlines(file, names)))
    except SyntaxError:  # the file has changed since
        return ()
    return tuple((node.name, dict(_docstrings(node))) for node in _class_nodes(tree))


def _class_nodes(node: ast.AST) -> Iterator[ast.ClassDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield child
        if isinstance(child, ast.stmt):
            yield from _class_nodes(child)


def _docstrings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and (text := _text(below)):
            yield field.target.id, inspect.cleandoc(text)


def _text(node: ast.stmt) -> str | None:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return node.value.value if is_text else None  # type: ignore[attr-defined]  # a constant that is text
