"""Reads the pages of the documentation, and runs what they show.

A page is a story: its blocks run in order, in one folder, with one namespace and one shell. So a reader who
types everything from the top sees what the page says.

* ```python runs in this process; a bare `await` is allowed, as in `python -m asyncio`. What it prints must be
  what the comments behind its `print` calls say.
* ```python title="tasks.py" is written to that file, for the blocks that follow to use.
* ```console has commands after "$ "; what they print must be what the page shows. `...` stands for anything:
  within a line for any text, alone on a line for any lines. A command must succeed.
* ```text, ```ini, ```json and ```mermaid are for the eye only.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import os
import queue
import re
import signal
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.source import ROOT

RUN: Final = ("python", "console")
SHOWN: Final = ("text", "ini", "json", "mermaid", "yaml", "toml", "dockerfile")
PATIENCE: Final = 45.0
"""Seconds that one command may take."""

_FENCE = re.compile(r"(?P<indent> *)```(?P<language>[\w-]*) *(?P<rest>.*)")
_TITLE = re.compile(r'title="(?P<name>[\w.]+)"')
_TOLD = re.compile(r"^\s*print\(.*\)  # (?P<told>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the file that it is, where it stands, and its text."""

    page: Path
    line: int
    language: str
    title: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page whose blocks are run: the README, the docs, and the notes of the examples."""
    found = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return [ROOT / "README.md", *sorted(path for path in found if "decisions" not in path.parts)]


def read_blocks(page: Path, text: str | None = None) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks: list[Block] = []
    opened: re.Match[str] | None = None
    start, inside = 0, list[str]()
    for number, line in enumerate((page.read_text() if text is None else text).splitlines(), 1):
        fence = _FENCE.fullmatch(line)
        if opened is None and fence:
            opened, start, inside = fence, number, []
        elif opened is not None and fence and not fence["language"]:
            title = _TITLE.search(opened["rest"])
            content = textwrap.dedent("\n".join(inside)) + "\n"
            blocks.append(Block(page, start, opened["language"], title["name"] if title else "", content))
            opened = None
        else:
            inside.append(line)
    assert opened is None, f"{page}:{start}: this block is never closed"
    return blocks


# ---- console blocks


@dataclass(frozen=True, slots=True)
class Command:
    """A command line of a console block, and what the page shows below it."""

    line: str
    shown: str


def commands(text: str) -> list[Command]:
    """The commands of a console block. A line that ends in a backslash goes on after "> "."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0][:-1] + line[2:], [])
        else:
            assert found, f"a console block begins with a command, not with {line!r}"
            found[-1][1].append(line)
    return [Command(line, "\n".join(shown).rstrip()) for line, shown in found]


def matches(shown: str, printed: str) -> bool:
    """Whether a text is what a page shows of it; columns may be wider, since they are as wide as what is in them."""
    pattern = "".join(map(_pattern, shown.splitlines()))
    return re.fullmatch(pattern, printed.rstrip() + "\n" if printed.strip() else "") is not None


def _pattern(line: str) -> str:
    if line.strip() == "...":
        return r"(?:.*\n)*"
    return ".*".join(map(_text, line.rstrip().split("..."))) + r" *\n"


def _text(piece: str) -> str:
    """A pattern of a text in which gaps of two blanks or more, which part columns, may be of any width."""
    return r" {2,}".join(map(re.escape, re.split(r" {2,}", piece)))


class Shell:
    """A bash that lives as long as the page; whatever it started ends with it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self, line: str) -> tuple[int, str]:
        """Run a command line; its exit code, and what it printed."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\nprintf '\\n@@done %s\\n' $?\n")
        self._process.stdin.flush()
        printed: list[str] = []
        while True:
            try:
                found = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"$ {line}\ndid not end; it printed:\n{''.join(printed)}") from None
            if found.startswith("@@done "):
                return int(found.split()[1]), "".join(printed)
            printed.append(found)

    def close(self) -> None:
        """End the shell and everything that it started and that still runs."""
        for end in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(self._process.pid, end)
                self._process.wait(2)
        self._reader.join(2)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)


# ---- pages


class Story:
    """Runs the blocks of one page in one folder.

    Args:
        folder: empty; becomes the current one.
        environment: of the shell.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._shell: Shell | None = None
        self._runner = asyncio.Runner()
        self._module = types.ModuleType("page")

    def __enter__(self) -> Story:
        sys.modules["page"] = self._module
        sys.path.insert(0, str(self._folder))
        return self

    def __exit__(self, *_: object) -> None:
        if self._shell is not None:
            self._shell.close()
        self._close_sync()
        self._runner.close()
        sys.path.remove(str(self._folder))
        for name, module in list(sys.modules.items()):
            if name == "page" or (getattr(module, "__file__", None) or "").startswith(str(self._folder)):
                del sys.modules[name]

    def run(self, block: Block) -> None:
        """Run one block, or say what is not as the page has it."""
        if block.title:
            (self._folder / block.title).write_text(block.text)
        elif block.language == "python":
            self._run_python(block)
        elif block.language == "console":
            for command in commands(block.text):
                self._run_command(block, command)

    def _run_command(self, block: Block, command: Command) -> None:
        if self._shell is None:
            self._shell = Shell(self._folder, self._environment)
        code, printed = self._shell.run(command.line)
        story = f"{block.place}\n$ {command.line}\n{printed}"
        assert code == 0, f"{story}(exit code {code})"
        assert matches(command.shown, printed), f"{story}\n--- the page shows:\n{command.shown}"

    def _run_python(self, block: Block) -> None:
        # Empty lines above, so that a traceback names the line of the page.
        text = "\n" * block.line + block.text
        code = compile(text, str(block.page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if code.co_flags & inspect.CO_COROUTINE:
                self._runner.run(self._awaited(code))
            else:
                exec(code, vars(self._module))
        told = "\n".join(found["told"] for found in _TOLD.finditer(block.text))
        assert matches(told, printed.getvalue()), f"{block.place} prints:\n{printed.getvalue()}"

    async def _awaited(self, code: types.CodeType) -> None:
        await eval(code, vars(self._module))

    def _close_sync(self) -> None:
        """An application that code without a loop used keeps a thread; end it before the folder goes."""
        for value in list(vars(self._module).values()):
            with contextlib.suppress(AttributeError):
                value.sync.close()


@contextlib.contextmanager
def told(folder: Path, runtime: Path) -> Iterator[Story]:
    """A story in an empty folder, with an environment of its own."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    keep = {name: os.environ[name] for name in ("LANG", "SYSTEMROOT") if name in os.environ}
    environment: dict[str, Any] = {
        **keep,
        "PATH": path,
        "HOME": str(folder),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "NORIA_RUNTIME_DIR": str(runtime),
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "error",
        "TERM": "dumb",
    }
    with Story(folder, environment) as story:
        yield story
