"""Runs `noria` as people do: as processes of their own, in an empty folder, against a store of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

PROGRAM = [sys.executable, "-c", "from noria.cli.main import main; main()"]
PATIENCE = 30.0
"""Seconds after which what has not happened will not happen."""


def until(seen: Callable[[], T], *, seconds: float = PATIENCE, what: str | Callable[[], str] = "") -> T:
    """Look again and again until there is something to see."""
    deadline = time.monotonic() + seconds
    while True:
        found = seen()
        if found:
            return found
        if time.monotonic() > deadline:
            told = what if isinstance(what, str) else what()
            raise AssertionError(told or f"nothing happened within {seconds} s")
        time.sleep(0.02)


class Commands:
    """Commands in one folder.

    Args:
        folder: where they run; the store is made in it.
        runtime: a folder with a short path, for sockets.
    """

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("NORIA_", "XDG_"))},
            "XDG_CONFIG_HOME": os.devnull,
            "NORIA_RUNTIME_DIR": str(runtime),
            "NORIA_URL": "sqlite:///test.db",
            "PYTHONWARNINGS": "error",
            "PYTHONUNBUFFERED": "1",
        }
        self._running: list[Running] = []

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, *words: str, input: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*PROGRAM, *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def json(self, *words: str) -> list[dict[str, Any]]:
        """The objects that a command prints with --json; it must go well."""
        done = self.run("--json", *words)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def start(self, *words: str, **environment: str) -> Running:
        """Start a command, and let it run."""
        process = subprocess.Popen(
            [*PROGRAM, *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        running = Running(process)
        self._running.append(running)
        return running

    def close(self) -> None:
        """Kill what still runs."""
        for running in self._running:
            running.kill()


class Running:
    """A command that runs, and what it has said so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.out: list[str] = []
        self.err: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=(process.stdout, self.out), daemon=True),
            threading.Thread(target=self._read, args=(process.stderr, self.err), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Any, into: list[str]) -> None:
        for line in stream:
            into.append(line.rstrip("\n"))

    def says(self, text: str, *, error: bool = False) -> str:
        """Wait for a line with this text."""
        lines = self.err if error else self.out
        return until(
            lambda: next((line for line in lines if text in line), ""), what=f"no {text!r} in {self}"
        )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it; nothing happens if it has ended."""
        self.process.send_signal(number)

    def ends(self, seconds: float = PATIENCE) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(5)
        return code

    def kill(self) -> None:
        """End it, and close its pipes."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        for reader in self._readers:
            reader.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def __repr__(self) -> str:
        return f"{self.out!r} {self.err!r}"


def commands(folder: Path, runtime: Path) -> Iterator[Commands]:
    """The body of a fixture."""
    made = Commands(folder, runtime)
    yield made
    made.close()


def working(folder: Path, runtime: Path, app: str) -> Iterator[Commands]:
    """The body of a fixture: an application in `shop.py`, and a worker of it that runs."""
    for made in commands(folder, runtime):
        made.write("shop.py", app)
        made.environment["NORIA_APP"] = "shop.py"
        made.start("worker").says("slots:", error=True)
        yield made
