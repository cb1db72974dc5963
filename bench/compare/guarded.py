"""The asker's half of `guard.py`: servers and workers that end with the block, or with this process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.child import ROOT, BenchError, tail

PATIENCE: Final = 30.0
"""Seconds within which a process ends when it is asked to."""
_GUARD: Final = str(Path(__file__).with_name("guard.py"))


@dataclass(frozen=True, slots=True)
class Guarded:
    """A process that runs under a guard. `started`: just before it was made, in nanoseconds since the epoch."""

    guard: subprocess.Popen[bytes]
    pid: int
    started: int
    log: Path

    def check(self) -> None:
        """Raises BenchError, with the end of its log, if it has ended."""
        if (code := self.guard.poll()) is not None:
            raise BenchError(f"it ended with {code}: {tail(self.log.read_bytes())}")


@contextmanager
def guarded(
    command: Sequence[str],
    env: Mapping[str, str],
    log: Path,
    *,
    owner: tuple[int, int] | None = None,
    stop: signal.Signals = signal.SIGTERM,
    exits: Collection[int] = (0,),
) -> Iterator[Guarded]:
    """Run a command for the time of a block.

    Args:
        owner: user and group to run it as, if not ours.
        stop: the signal that asks it to end.
        exits: codes with which it may end when asked to.

    Raises:
        BenchError: it ended by itself, or not as told; the message has the end of its log.
    """
    user, group = owner or (None, None)
    options = {"log": str(log), "user": user, "group": group, "stop": int(stop), "patience": PATIENCE}
    guard = subprocess.Popen(
        [sys.executable, "-S", _GUARD, json.dumps(options), *command],
        cwd=ROOT,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        found = Guarded(guard, **_said(guard), log=log)
        yield found
        found.check()
    except TimeoutError as error:
        raise BenchError(f"{error}; the process says: {tail(log.read_bytes())}") from error
    finally:
        code = _let_go(guard)
    if code not in exits:
        raise BenchError(f"the process ended with {code}: {tail(log.read_bytes())}")


def _said(guard: subprocess.Popen[bytes]) -> dict[str, int]:
    assert guard.stdout is not None and guard.stderr is not None, "both are pipes"
    line = guard.stdout.readline()
    if not line:
        raise BenchError(f"it did not start: {tail(guard.stderr.read())}")
    said: dict[str, int] = json.loads(line)
    return said


def _let_go(guard: subprocess.Popen[bytes]) -> int:
    assert guard.stdin is not None, "a pipe"
    with suppress(BrokenPipeError):
        guard.stdin.close()
    try:
        return guard.wait(PATIENCE + 10)
    except subprocess.TimeoutExpired:
        guard.kill()
        return guard.wait()
    finally:
        for pipe in (guard.stdout, guard.stderr):
            if pipe is not None:
                pipe.close()
