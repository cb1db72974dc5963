"""What the machine checks of the code's form, so that taste is not argued twice.

Each check is a function from sources to complaints, one line each. Under each stands a test on the real tree
and one on a small bad sample, which proves that the check can still see. Floors and waits have their own
files.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from tests.support.source import ROOT, Names, Source, docstrings, functions, read, read_package, sample

# ---- sizes

LONGEST_FUNCTION, USUAL_FUNCTION = 60, 25
LONGEST_FILE, USUAL_FILE = 400, 120
PROSE = {"src/noria/backends/contract.py"}
"""Files whose docstrings are the point of them, and do not count."""


def function_lengths(sources: Iterable[Source]) -> list[tuple[int, str]]:
    """(lines, where) of each function, the longest first. A docstring does not count: prose may be long."""
    lengths = []
    for source in sources:
        for node in functions(source.tree):
            lines = _height(node)
            if ast.get_docstring(node, clean=False) is not None:
                lines -= _height(node.body[0])
            lengths.append((lines, f"{source.path}:{node.lineno} {node.name}"))
    return sorted(lengths, reverse=True)


def file_lengths(sources: Iterable[Source]) -> list[tuple[int, str]]:
    """(lines, where) of each file that has code in it, the longest first."""
    lengths = []
    for source in sources:
        lines = source.text.count("\n")
        if source.path in PROSE:
            lines -= sum(_height(node) for node in docstrings(source.tree))
        if source.tree.body:
            lengths.append((lines, source.path))
    return sorted(lengths, reverse=True)


def _height(node: ast.stmt | ast.expr) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def too_long(lengths: list[tuple[int, str]], longest: int) -> list[str]:
    return [
        f"{where} has {lines} lines, {longest} are allowed" for lines, where in lengths if lines > longest
    ]


def test_functions_are_short() -> None:
    lengths = function_lengths(read_package())
    print("The ten longest functions:", *lengths[:10], sep="\n")
    assert too_long(lengths, LONGEST_FUNCTION) == []
    ninth_tenth = [lines for lines, _ in lengths][len(lengths) // 10]
    assert ninth_tenth <= USUAL_FUNCTION, f"one function in ten has more than {USUAL_FUNCTION} lines"


def test_files_are_short() -> None:
    lengths = file_lengths(read_package())
    print("The ten longest files:", *lengths[:10], sep="\n")
    assert too_long(lengths, LONGEST_FILE) == []
    assert statistics.median(lines for lines, _ in lengths) <= USUAL_FILE


def test_check_measures_functions_without_their_docstrings() -> None:
    text = 'def f():\n    """One.\n\n    Two.\n    """\n' + "    x = 1\n" * 60
    assert function_lengths([sample(text)]) == [(61, "src/noria/sample.py:1 f")]
    assert too_long(function_lengths([sample(text)]), 60) != []
    assert too_long(file_lengths([sample("x = 1\n" * 401)]), 400) != []


# ---- ignores

_MARKER = re.compile(
    r"#\s*(?:(?:type|pyright):\s*ignore(?P<types>\[[\w\-, ]+\])?"
    r"|(?:ruff:\s*|flake8:\s*)?noqa(?P<lint>:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?)"
)


def bare_ignores(sources: Iterable[Source]) -> list[str]:
    """Ignores without a code, or with nothing said after it."""
    complaints = []
    for source in sources:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            markers = list(_MARKER.finditer(token.string)) if token.type == tokenize.COMMENT else []
            if any(not (marker["types"] or marker["lint"]) for marker in markers):
                complaints.append(f"{source.path}:{token.start[0]}: an ignore names its code")
            elif markers and len(_MARKER.sub("", token.string).strip(" #-–—:;,.()").split()) < 2:
                complaints.append(f"{source.path}:{token.start[0]}: an ignore gives its reason")
    return complaints


def test_every_ignore_has_a_code_and_a_reason() -> None:
    folders = [ROOT / name for name in ("src", "tests", "bench", "examples", "tools")]
    assert bare_ignores(source for folder in folders for source in read(folder)) == []


def test_check_sees_bare_ignores() -> None:
    bad = [
        "type: ignore",
        "type: ignore[arg-type]",
        "pyright: ignore[reportAny]  # no",
        "noqa",
        "noqa: S311 -",
    ]
    good = ["type: ignore[arg-type]  # the point of this test", "noqa: S311, B008 - spreads retries"]
    assert len(bare_ignores([sample(f"x = 1  # {comment}\n") for comment in bad])) == len(bad)
    assert bare_ignores([sample(f"x = 1  # {comment}\n") for comment in good]) == []


# ---- injected things


@dataclass(frozen=True, slots=True)
class Ban:
    """Names that only these files, or files in these folders, may use; and what the others use."""

    names: tuple[str, ...]
    allowed: tuple[str, ...]
    instead: str


BANS = (
    Ban(
        (
            *(f"time.{name}{unit}" for name in ("time", "monotonic", "perf_counter") for unit in ("", "_ns")),
            "datetime.datetime.now",
            "datetime.datetime.utcnow",
            "datetime.datetime.today",
            "datetime.date.today",
        ),
        ("src/noria/clock.py",),
        "noria.clock: time is injected",
    ),
    Ban(
        (
            *("random", "os.urandom", "uuid.uuid1", "uuid.uuid4", "secrets.choice", "secrets.randbelow"),
            *("secrets.token_bytes", "secrets.token_hex", "secrets.token_urlsafe"),
        ),
        ("src/noria/ids.py",),
        "noria.ids: randomness is injected",
    ),
    Ban(
        ("asyncio.create_task", "asyncio.ensure_future", "asyncio.sleep", "loop.create_task", "time.sleep"),
        ("src/noria/aio.py",),
        "noria.aio: every task has an owner, every wait an end",
    ),
    Ban(
        ("os.environ", "os.environb", "os.getenv", "os.putenv", "os.unsetenv"),
        ("src/noria/app/config.py", "src/noria/cli/"),
        "app/config.py: one place reads the environment",
    ),
)


def banned_uses(sources: Iterable[Source]) -> list[str]:
    """Uses of a banned name, under whatever alias. Naming a type in an annotation is not a use."""
    complaints = []
    for source in sources:
        names, seen = Names(source), _annotations(source.tree)
        for node in ast.walk(source.tree):
            name = None if node in seen else _used_name(names, node)
            for ban in BANS:
                if name and _is_banned(name, ban.names) and not source.path.startswith(ban.allowed):
                    complaints.append(f"{source.path}:{node.lineno}: {name}; use {ban.instead}")
                    seen.update(ast.walk(node))  # `random` in `random.choice` is no second use
    return complaints


def _used_name(names: Names, node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and node.attr == "create_task":
        owner = ast.unparse(node.value).removesuffix("()")
        return "loop.create_task" if owner.endswith("loop") else names.resolve(node)
    if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
        return names.resolve(node)
    return None


def _is_banned(name: str, banned: tuple[str, ...]) -> bool:
    """The name itself, or what stands one step below it: a function of a banned module."""
    return name in banned or name.rpartition(".")[0] in banned


def _annotations(tree: ast.AST) -> set[ast.AST]:
    roots = [getattr(node, field, None) for node in ast.walk(tree) for field in ("annotation", "returns")]
    return {inner for root in roots if root is not None for inner in ast.walk(root)}


def test_time_randomness_tasks_and_environment_are_injected() -> None:
    assert banned_uses(read_package()) == []


def test_check_sees_banned_names_under_any_alias() -> None:
    bad = [
        "import time\ntime.time()",
        "import time as t\nclock = t.monotonic",
        "from time import monotonic_ns as now\nnow()",
        "from datetime import datetime\ndatetime.now(UTC)",
        "import random\nrandom.random()",
        "from random import choice\nchoice([1])",
        "import uuid\nfield(default_factory=uuid.uuid4)",
        "import asyncio\nasyncio.get_running_loop().create_task(f())",
        "from asyncio import sleep\nasync def f():\n    await sleep(1)",
        "import os\nos.environ['HOME']",
    ]
    for text in bad:
        assert len(banned_uses([sample(text)])) == 1, text
    good = [
        "import random\ndef f(rng: random.Random) -> random.Random: ...",
        "import asyncio\nasync def f(group):\n    group.create_task(g())",
        "import time\ntime.strftime('%H')",
    ]
    assert banned_uses([sample(text) for text in good]) == []
    assert banned_uses([sample("import os\nos.getenv('A')", "src/noria/cli/main.py")]) == []


# ---- things that run data as code

DANGEROUS = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "multiprocessing",
    "eval",
    "exec",
    "__import__",
}
"""multiprocessing is here because it pickles what it sends."""


def dangerous_uses(sources: Iterable[Source]) -> list[str]:
    complaints = []
    for source in sources:
        names = Names(source)
        for node in ast.walk(source.tree):
            used: list[str] = []
            if isinstance(node, ast.Import):
                used = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                used = [(node.module or "").split(".")[0], *(alias.name for alias in node.names)]
            elif isinstance(node, ast.Name | ast.Attribute):
                used = [(names.resolve(node) or "").removeprefix("builtins.")]
            complaints += [f"{source.path}:{node.lineno}: {name}" for name in used if name in DANGEROUS]
    return complaints


def test_no_data_is_ever_run_as_code() -> None:
    assert dangerous_uses(read_package()) == []


def test_check_sees_code_made_of_data() -> None:
    bad = ["import pickle", "from marshal import loads", "import shelve as s", "eval('1')", "f = exec"]
    bad += ["__import__('os')", "import builtins\nbuiltins.eval('1')", "import multiprocessing.pool"]
    for text in bad:
        assert dangerous_uses([sample(text)]), text
    assert dangerous_uses([sample("import re\nre.compile('x')\nself.exec()\nos.execv('a', [])")]) == []


# ---- SQL and Lua live in their own files

_STATEMENT = re.compile(
    r"""\s*(?:--.*\n\s*)*(?:
      select\s.+ | insert\s+(?:or\s+\w+\s+)?into\s.* | replace\s+into\s.* | update\s+\S+\s+set\s.*
    | delete\s+from\s.* | merge\s+into\s.* | values\s*\(.* | explain\s.+
    | with\s+(?:recursive\s+)?\w+\s*(?:\([^)]*\)\s*)?as\s+.*
    | (?:create|alter|drop)\s+(?:(?:unique|temp|virtual)\s+)*
      (?:table|index|view|trigger|schema|function|type)\s.*
    | pragma\s.+ | vacuum(?:\s.*)? | reindex(?:\s.*)? | analyze(?:\s.*)? | attach\s.+
    | begin(?:\s+(?:immediate|exclusive|deferred|transaction).*)? | commit | rollback(?:\s+to\s.*)?
    | savepoint\s.+ | (?:listen|notify)\s.+
    | (?:local\s+\w+\s*=\s*)?(?:return\s+)?redis\.p?call\s*\(.*
    )\s*;?\s*""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def statements_in_strings(sources: Iterable[Source]) -> list[str]:
    """Strings that are a statement. A capitalised sentence, or one small word alone, is prose and not SQL."""
    complaints = []
    for source in sources:
        prose = docstrings(source.tree)
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
                text = node.value.strip()
                verb = text.split()[0] if text else ""
                as_sql_is_written = verb.isupper() or (verb.islower() and verb != text)
                if as_sql_is_written and _STATEMENT.fullmatch(text):
                    complaints.append(f"{source.path}:{node.lineno}: {text[:40]!r} belongs in a file")
    return complaints


def test_statements_live_in_files() -> None:
    assert statements_in_strings(read_package()) == []


def test_check_sees_statements_in_strings() -> None:
    bad = [
        "SELECT 1",
        "\n  select id\n  from jobs",
        "INSERT OR IGNORE INTO t VALUES (1)",
        "BEGIN IMMEDIATE",
        "COMMIT",
    ]
    bad += [
        "PRAGMA wal_checkpoint",
        "with due as (select 1) update",
        "create table x (y)",
        "DELETE FROM jobs",
    ]
    bad += ["update jobs set a = 1", "return redis.call('GET', KEYS[1])"]
    for text in bad:
        assert statements_in_strings([sample(f"x = {text!r}")]), text
        assert statements_in_strings(
            [sample(f"'docstring'\ndef f():\n    {text!r}\n    return f({text!r})")]
        ), text
    prose = [
        "Select a queue first",
        "DELETE",
        "commit",
        "update",
        "Update the worker",
        "begin",
        "with care",
        "PATCH",
    ]
    assert statements_in_strings([sample(f"x = {text!r}") for text in prose]) == []


# ---- what is private stays so

_THEIRS = {"os._exit", "sys._current_frames"}
"""Parts of the standard library that are documented in spite of their names."""
_TWIN = {"noria.backends.sqlite.engine": "twin"}
"""A method that makes another object of its own class may set up what is private to both."""


def private_reads(sources: Iterable[Source]) -> list[str]:
    """Attributes with a leading underscore that are read of anything but the object itself."""
    return [
        f"{source.path}:{node.lineno}: {ast.unparse(node)}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and ast.unparse(node.value) not in ("self", "cls", "super()", _TWIN.get(source.name))
        and ast.unparse(node) not in _THEIRS
    ]


def test_nobody_reads_what_is_private_to_another() -> None:
    assert private_reads(read_package()) == []


def test_check_sees_private_reads() -> None:
    assert private_reads([sample("app._backend")]) == ["src/noria/sample.py:1: app._backend"]
    assert private_reads([sample("self._app._url")]) == ["src/noria/sample.py:1: self._app._url"]
    assert private_reads([sample("self._x; os._exit(1); a.__class__")]) == []
