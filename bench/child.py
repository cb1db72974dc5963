"""Child processes: those that answer one question, and workers that run until they are told to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

ROOT: Final = Path(__file__).parent.parent
ANSWER: Final = 600.0
"""Seconds within which a child answers; filling a queue with a million jobs takes the longest."""
_STOP: Final = 45.0
"""Seconds within which a worker ends after SIGTERM."""


class BenchError(Exception):
    """A measurement went wrong, or its result was not right; the message says what."""


def environment(runtime: Path, more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: ours without settings of Noria's users, and what the measurement says."""
    foreign = ("NORIA_", "BENCH_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**inherited, "PYTHONPATH": str(ROOT), "NORIA_RUNTIME_DIR": str(runtime), **more}


def ask(
    module: str,
    role: str,
    question: Mapping[str, Any],
    env: Mapping[str, str],
    *,
    seconds: float = ANSWER,
    interpreter: str = sys.executable,
) -> Any:
    """Run `python -m module role question` and return its answer.

    Args:
        seconds: until it is given up.
        interpreter: the Python that runs it.

    Raises:
        BenchError: it failed, and the message has the end of what it said; or it was not done in time.
    """
    command = [interpreter, "-m", module, role, json.dumps(question)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=dict(env), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{module} {role} did not end in {seconds:g} s") from error
    if done.returncode:
        raise BenchError(f"{module} {role} ended with {done.returncode}: {tail(done.stderr)}")
    return json.loads(done.stdout)


class Worker(Protocol):
    """A worker process that runs."""

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    @property
    def started(self) -> int:
        """Just before it was made, in nanoseconds since the epoch."""
        ...


@dataclass(frozen=True, slots=True)
class Running:
    """A worker process. `started`: just before it was made, in nanoseconds since the epoch."""

    process: subprocess.Popen[bytes]
    started: int

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid


@contextmanager
def running(command: Sequence[str], env: Mapping[str, str], log: Path) -> Iterator[Running]:
    """Run a worker for the time of the block, then stop it with SIGTERM.

    Raises:
        BenchError: it ended by itself, or not as told; the message has the end of its log.
    """
    with log.open("wb") as file:
        started = time.time_ns()
        process = subprocess.Popen(list(command), cwd=ROOT, env=dict(env), stdout=file, stderr=file)
        worker = Running(process, started)
        try:
            yield worker
            early = process.poll()
        except TimeoutError as error:
            raise BenchError(f"{error}; the worker says: {tail(log.read_bytes())}") from error
        finally:
            code = _stop(process)
    if early is not None or code:
        raise BenchError(f"the worker ended with {code}: {tail(log.read_bytes())}")


def _stop(process: subprocess.Popen[bytes]) -> int:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def tail(output: bytes) -> str:
    """The last of what a process said."""
    return output.decode(errors="replace").strip()[-2_000:] or "(nothing)"
