"""Indexes every Python file of the standard library that runs this program.

    make run          or:  noria up examples/quickstart/app.py

Three tasks make the index, each where it belongs. `measure` waits for the disk, so it is an `async def`.
`parse` keeps a core busy, so it is a `def` and runs in a thread. `index` enqueues the parts, awaits them, and
writes the summary.

QUICKSTART_FILES limits how many files are read, QUICKSTART_SUMMARY says where the summary goes.
"""

from __future__ import annotations

import ast
import asyncio
import os
import platform
import sysconfig
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from noria import Noria

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
SUMMARY = Path(os.environ.get("QUICKSTART_SUMMARY", "stdlib-index.md")).absolute()
MOST_FILES = int(os.environ.get("QUICKSTART_FILES", "100000"))
FILES_PER_JOB = 20

app = Noria()  # on NORIA_URL, or in ./noria.db


# -- what the jobs pass to each other: plain dataclasses, checked on the way in and on the way out


@dataclass
class Size:
    """One file as text."""

    path: str
    bytes: int
    lines: int


@dataclass
class Syntax:
    """A few files as syntax."""

    functions: int = 0
    coroutines: int = 0
    classes: int = 0
    imports: dict[str, int] = field(default_factory=dict)
    longest: tuple[int, str] = (0, "")
    refused: list[str] = field(default_factory=list)


# -- one small task, to try by hand:  noria enqueue count_lines module=asyncio --wait 10


@app.task
def count_lines(module: str = "json") -> int:
    """The lines of one module or package."""
    found = [LIBRARY / f"{module}.py", *(LIBRARY / module).rglob("*.py")]
    return sum(len(path.read_bytes().splitlines()) for path in found if path.is_file())


# -- the index


@app.lifespan
async def start() -> AsyncIterator[None]:
    """Runs once in each worker, before its first job."""
    # While an index job is live, the key gives that job: a worker that restarts does not begin a second one.
    job = await index.options(unique="index").enqueue()
    print(f"The index is job {job.id}{'' if job.created else ', begun before'}.", flush=True)
    yield


@app.task
async def index() -> str:
    """Enqueue a job for every few files, await them all, write the summary. Returns where it is."""
    files = await asyncio.to_thread(lambda: sorted(python_files(LIBRARY))[:MOST_FILES])
    parts = [files[at : at + FILES_PER_JOB] for at in range(0, len(files), FILES_PER_JOB)]
    # If this process dies, another runs `index` again. What it enqueued is safe: a part that still waits or
    # runs has its key, and is found instead of enqueued twice.
    measuring = await app.enqueue_many(measure.options(unique=key(part)).job(part) for part in parts)
    parsing = await app.enqueue_many(parse.options(unique=key(part)).job(part) for part in parts)
    print(f"{len(files):,} files in {LIBRARY}: {len(measuring) + len(parsing)} jobs.", flush=True)
    sizes = [size for part in await asyncio.gather(*measuring) for size in part]
    syntax = await asyncio.gather(*parsing)  # list[Syntax], as your editor knows: types come through
    await asyncio.to_thread(write, SUMMARY, summary(sizes, syntax))
    print(f"Done: the summary is in {SUMMARY}", flush=True)
    return str(SUMMARY)


@app.task
async def measure(paths: list[str]) -> list[Size]:
    """Read files side by side. The event loop goes on with other jobs while the disk works."""
    texts = await asyncio.gather(*(asyncio.to_thread((LIBRARY / path).read_bytes) for path in paths))
    return [Size(path, len(text), len(text.splitlines())) for path, text in zip(paths, texts, strict=True)]


@app.task
def parse(paths: list[str]) -> Syntax:
    """Parse files: pure computing, which would block the event loop. A `def` runs in a thread."""
    found = Syntax()
    imports: Counter[str] = Counter()
    for path in paths:
        try:
            tree = ast.parse((LIBRARY / path).read_bytes(), path)
        except (SyntaxError, ValueError) as error:
            # The library holds broken files on purpose, for its own tests. Nothing is dropped silently.
            found.refused.append(f"{path}: {type(error).__name__}")
            continue
        look(tree, path, found)
        imports.update(set(imported(tree)))
    found.imports = dict(imports)
    return found


# -- plain functions, of which Noria knows nothing


def python_files(root: Path) -> Iterator[str]:
    """Every Python file of the library itself, as a path below it."""
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in ("site-packages", "dist-packages", "__pycache__")]
        yield from (str(Path(folder, name).relative_to(root)) for name in names if name.endswith(".py"))


def key(part: list[str]) -> str:
    """What a part is known by. A key belongs to its task, so two tasks may use the same."""
    return f"{part[0]} and {len(part) - 1} more"


def look(tree: ast.Module, path: str, found: Syntax) -> None:
    """Count what a file defines, and remember the longest function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found.classes += 1
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions += 1
            found.coroutines += isinstance(node, ast.AsyncFunctionDef)
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            found.longest = max(found.longest, (lines, f"{node.name} in {path}"))


def imported(tree: ast.Module) -> Iterator[str]:
    """The top-level names of the modules that a file imports, relative imports left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def summary(sizes: list[Size], parts: list[Syntax]) -> str:
    """The index as a page."""
    imports = sum((Counter(part.imports) for part in parts), Counter[str]())
    largest = sorted(sizes, key=lambda size: (-size.lines, size.path))[:10]
    lines, function = max((part.longest for part in parts), default=(0, "none"))
    refused = [path for part in parts for path in part.refused]
    totals = {
        "files": len(sizes),
        "lines": sum(size.lines for size in sizes),
        "bytes": sum(size.bytes for size in sizes),
        "functions": sum(part.functions for part in parts),
        "of these `async def`": sum(part.coroutines for part in parts),
        "classes": sum(part.classes for part in parts),
    }
    return "\n".join(
        [
            f"# The standard library of Python {platform.python_version()}",
            *table("What", "How many", totals.items()),
            *table("Largest file", "Lines", ((size.path, size.lines) for size in largest)),
            *table("Most imported module", "Files that import it", imports.most_common(10)),
            f"\nThe longest function has {lines:,} lines: {function}.",
            f"\nNot parsed: {len(refused)} files.",
            *(f"- {each}" for each in refused),
            "",
        ]
    )


def table(what: str, number: str, rows: Iterable[tuple[str, int]]) -> list[str]:
    """A table in Markdown."""
    return ["", f"| {what} | {number} |", "|---|---:|", *(f"| {name} | {count:,} |" for name, count in rows)]


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all: a job may run twice, and may die half-way."""
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
