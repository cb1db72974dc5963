"""Modules stand on floors: each imports its own floor and lower ones, never upward, and never in a circle.

import-linter holds the same floors (pyproject.toml). This test looks closer: at modules that nobody gave a
floor, at the package's own `__init__`, at `import_module("noria…")`, and at cycles of single modules.
docs/decisions/0004 says why there are both.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.support.source import Source, import_base, read_package, sample

FLOORS = {
    "noria.errors": 0,
    "noria.clock": 0,
    "noria.ids": 0,
    "noria.aio": 0,
    "noria.model": 1,
    "noria.codecs": 2,
    "noria.backends": 2,
    "noria.backends.contract": 2,
    "noria.backends.rules": 2,
    "noria.backends.steering": 2,
    "noria.backends.terms": 2,
    "noria.backends.hearing": 2,
    "noria.backends.bells": 2,
    "noria.backends.bus": 2,
    "noria.backends.claims": 2,
    "noria.backends.meeting": 2,
    "noria.backends.docs": 2,
    "noria.backends.ends": 2,
    "noria.backends.lives": 2,
    "noria.backends.keeping": 2,
    "noria.backends.marks": 2,
    "noria.backends.stories": 2,
    "noria.backends.units": 2,
    "noria.backends.sql": 3,
    "noria.backends.sqlite": 3,
    "noria.backends.postgres": 3,
    "noria.backends.redis": 3,
    "noria.backends.rabbitmq": 3,
    "noria.worker": 4,
    "noria.consumers": 5,
    "noria.app": 6,
    "noria.front": 7,
    "noria.observe": 7,
    "noria.crawl": 7,
    "noria.cli": 8,
    "noria.testing": 8,
    "noria.__main__": 8,
    "noria": 9,
}
"""A package's floor is that of everything in it, unless a longer name says otherwise.

`noria` itself is only the shop window: it shows what the others made, so none of them may look into it.
"""

# Names whose floor is for the package's `__init__` alone: a new file there must be given a floor of its own.
_NOT_FOR_CHILDREN = {"noria", "noria.backends"}


@dataclass(frozen=True, slots=True)
class Import:
    importer: str
    target: str
    where: str
    typing_only: bool


def floor_of(module: str) -> int | None:
    if module in FLOORS:
        return FLOORS[module]
    parent = module.rpartition(".")[0]
    return floor_of(parent) if parent and parent not in _NOT_FOR_CHILDREN else None


def imports(source: Source, known: set[str]) -> Iterator[Import]:
    """Every import of Noria's own modules, wherever it stands in the file."""
    typing_only = {
        inner
        for node in ast.walk(source.tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(source.tree):
        for name in _targets(source, node):
            if name.split(".")[0] == "noria":
                where = f"{source.path}:{node.lineno}"
                yield Import(source.name, _module(name, known), where, node in typing_only)


def _module(name: str, known: set[str]) -> str:
    """`from a.b import c` names the module `a.b.c` if there is one, else something inside `a.b`."""
    parent = name.rpartition(".")[0]
    if name not in known and name not in FLOORS and (parent in known or parent in _NOT_FOR_CHILDREN):
        return parent
    return name


def _targets(source: Source, node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{import_base(source, node)}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        return [
            arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
        ]
    return []


def all_imports(sources: Iterable[Source]) -> list[Import]:
    sources = list(sources)
    known = {source.name for source in sources}
    return [found for source in sources for found in imports(source, known)]


def climbs(found: Iterable[Import]) -> list[str]:
    """The imports that go upward; for a type checker's eyes only is no excuse."""
    complaints = []
    for one in found:
        own, other = floor_of(one.importer), floor_of(one.target)
        if own is not None and other is not None and other > own:
            complaints.append(
                f"{one.where}: {one.importer} (floor {own}) imports {one.target} (floor {other})"
            )
    return complaints


def homeless(sources: Iterable[Source]) -> list[str]:
    return [source.path for source in sources if floor_of(source.name) is None]


def first_cycle(found: Iterable[Import]) -> list[str]:
    """One circle of modules that need each other when they run, or nothing."""
    graph: dict[str, set[str]] = {}
    for one in found:
        if not one.typing_only:
            graph.setdefault(one.importer, set()).add(one.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_every_module_has_a_floor() -> None:
    assert homeless(read_package()) == [], "give these a floor in FLOORS and in pyproject.toml"


def test_no_module_imports_upward() -> None:
    assert climbs(all_imports(read_package())) == []


def test_no_import_cycles() -> None:
    assert first_cycle(all_imports(read_package())) == []


# ---- the checks themselves, on bad samples


def test_check_sees_a_module_without_a_floor() -> None:
    assert homeless([sample("", "src/noria/stray.py")]) == ["src/noria/stray.py"]
    assert homeless([sample("", "src/noria/backends/stray.py")]) == ["src/noria/backends/stray.py"]
    assert homeless([sample("", "src/noria/worker/deep/inside.py")]) == []


def test_check_sees_climbing_in_every_disguise() -> None:
    climbing = """
        import noria.app.config
        from noria.worker import feed
        from ..cli import main
        from noria import Noria
        if TYPE_CHECKING:
            from noria.testing import run
        def later():
            from noria.front.auth import keys
            importlib.import_module("noria.observe.top")
        from noria.errors import NoriaError
        from noria.model.job import Job
        """
    found = climbs(all_imports([sample(climbing, "src/noria/backends/contract.py")]))
    assert sorted(line.split(" imports ")[1] for line in found) == [
        "noria (floor 9)",
        "noria.app.config (floor 6)",
        "noria.cli.main (floor 8)",
        "noria.front.auth.keys (floor 7)",
        "noria.observe.top (floor 7)",
        "noria.testing.run (floor 8)",
        "noria.worker.feed (floor 4)",
    ]


def test_check_sees_a_cycle_through_a_function() -> None:
    first = sample("from noria.worker import second", "src/noria/worker/first.py")
    second = sample("def late():\n    from noria.worker.first import thing", "src/noria/worker/second.py")
    assert set(first_cycle(all_imports([first, second]))) == {"noria.worker.first", "noria.worker.second"}


def test_check_allows_a_cycle_that_only_types_see() -> None:
    first = sample("from noria.worker import second", "src/noria/worker/first.py")
    second = sample("if TYPE_CHECKING:\n    from noria.worker.first import A", "src/noria/worker/second.py")
    assert first_cycle(all_imports([first, second])) == []
