"""Reads the source tree as syntax trees, for the tests that judge the code's form.

Nothing here imports Noria: a module that cannot be imported must still be judged.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "noria"


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file: its dotted name, its path from the root of the repository, its text and its tree."""

    name: str
    path: str
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")


def sample(text: str, path: str = "src/noria/sample.py") -> Source:
    """A source made of a string, for the self-tests of the checks."""
    text = textwrap.dedent(text)
    return Source(_dotted(path), path, text, ast.parse(text))


def read_package() -> list[Source]:
    """Every Python file of Noria; never an empty list, so that no check passes for want of code."""
    sources = read(PACKAGE)
    assert sources, f"no Python files in {PACKAGE}"
    return sources


def read(folder: Path) -> list[Source]:
    """Every Python file in this folder and below."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        text = file.read_text(encoding="utf-8")
        found.append(Source(_dotted(path), path, text, ast.parse(text, filename=path)))
    return found


def _dotted(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Names:
    """What a file's names stand for, as far as its imports tell: `dt.now` becomes `datetime.datetime.now`."""

    def __init__(self, source: Source) -> None:
        self._meaning: dict[str, str] = {}
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    head = alias.name.split(".")[0]
                    self._meaning[alias.asname or head] = alias.name if alias.asname else head
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._meaning[alias.asname or alias.name] = f"{import_base(source, node)}.{alias.name}"

    def resolve(self, node: ast.AST) -> str | None:
        """The full dotted name of an expression, or None if it does not start at an import or a builtin."""
        if isinstance(node, ast.Name):
            return self._meaning.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return owner and f"{owner}.{node.attr}"
        return None


def import_base(source: Source, node: ast.ImportFrom) -> str:
    """The module that a `from … import` names, with leading dots resolved."""
    if not node.level:
        return node.module or ""
    parts = source.name.split(".")
    kept = parts[: len(parts) - node.level + source.is_package]
    return ".".join([*kept, node.module] if node.module else kept)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a tree, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """The string nodes that nobody uses as a value: docstrings, of attributes too."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
