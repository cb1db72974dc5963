"""An application whose tasks run in processes; the tests import it, and so do the processes."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from noria import Backoff, CallNext, Cancel, Context, Depends, Fail, Noria, Retry, Snooze, Stopped

app = Noria()


@app.lifespan
@asynccontextmanager
async def lifespan() -> AsyncIterator[dict[str, str]]:
    yield {"where": "in the worker"}


@app.task
async def on_loop() -> int:
    return os.getpid()


@app.task(executor="process")
def whoami() -> int:
    return os.getpid()


@app.task(executor="process")
def where() -> str:
    """The folder in which its process works."""
    return os.getcwd()


@app.task(executor="process")
def about(ctx: Context) -> dict[str, Any]:
    logging.getLogger("shop").warning("at work on %s", ctx.job_id)
    return {
        "id": ctx.job_id,
        "attempt": ctx.attempt,
        "attempts": ctx.attempts,
        "starts": ctx.starts,
        "tags": list(ctx.tags),
        "stopping": ctx.stopping,
        "group": os.getpgid(0) == os.getpid(),
    }


@app.task(executor="process", attempts=1)
def state(ctx: Context) -> str:
    return str(ctx.state["where"])


@app.task(executor="process")
def descriptors() -> list[str]:
    return sorted(
        os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if exists(each)
    )


def exists(descriptor: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(os.readlink(f"/proc/self/fd/{descriptor}"))
    return False


@app.task(executor="process", attempts=2, retry=Backoff(base=0.05, never=(KeyError,)))
def end(how: str) -> Any:
    match how:
        case "retry":
            raise Retry("again", after=0.05)
        case "snooze":
            raise Snooze(3600, "later")
        case "cancel":
            raise Cancel("no need")
        case "fail":
            raise Fail("hopeless")
        case "never":
            raise KeyError("k")
        case "exit":
            sys.exit(3)
        case "object":
            return object()
        case "large":
            return "x" * (1024 * 1024 + 1)
    raise ValueError(f"bad {how}")


@app.task(executor="process", crashes=2)
def die(code: int) -> None:
    """Ends its process: by a signal if the code is negative."""
    if code < 0:
        os.kill(os.getpid(), -code)
        time.sleep(60)
    os._exit(code)


@app.task(executor="process")
def once(folder: str) -> int:
    """Dies when it is first started."""
    first = Path(folder, "first")
    if not first.exists():
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


@app.task(executor="process")
def wait(folder: str, gate: str) -> int:
    """Says its process id, and goes on until a file is there."""
    (Path(folder) / f"{gate}.begun").write_text(str(os.getpid()))
    while not (Path(folder) / gate).exists():
        time.sleep(0.01)
    return os.getpid()


@app.task(executor="process", attempts=1)
def polite(ctx: Context, folder: str) -> None:
    """Looks whether it should end."""
    (Path(folder) / "begun").write_text(str(os.getpid()))
    try:
        while True:
            ctx.check()
            time.sleep(0.01)
    except Stopped:
        (Path(folder) / "cleaned").touch()
        raise


@app.task(executor="process", attempts=1)
def stubborn(ctx: Context, folder: str) -> None:
    """Never looks."""
    (Path(folder) / "begun").write_text(str(os.getpid()))
    time.sleep(600)


@app.task(executor="process", attempts=1, timeout=0.5)
def parent(folder: str) -> None:
    """Starts a program that outlives it, if it can."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (Path(folder) / "child").write_text(str(child.pid))
    time.sleep(600)


@app.task(executor="process", attempts=1)
def nest() -> None:
    """Would be a worker inside a worker's process."""
    app.worker()


@app.task(executor="process", crashes=1)
def close_all(how: str) -> str:
    """Closes what is not its own, as programs do that become daemons, or becomes another program."""
    if how == "becomes another program":
        os.execvp("sleep", ["sleep", "600"])
    os.closerange(0, 256)
    if how == "closes all and opens others":
        kept_open.extend(socket.socketpair() for _ in range(40))
    return "closed"


@app.task(executor="process")
def fork() -> int:
    """Forks, and returns twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
        forked = os.fork()
    return forked or os.getpid()


kept_open: list[Any] = []


@app.task(executor="process")
def hoard(size: int) -> int:
    """Keeps memory."""
    kept.append(bytearray(os.urandom(size)))
    return os.getpid()


kept: list[bytearray] = []


@app.task(executor="process", attempts=2, retry=Backoff(base=0.05))
def starve() -> None:
    """Wants more memory than it may have."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + 2**26, resource.RLIM_INFINITY))
    kept.append(bytearray(2**28))


opened: list[str] = []


async def connection() -> AsyncIterator[str]:
    """Made once for each process."""
    opened.append("connection")
    yield f"connection {len(opened)} of {os.getpid()}"


@app.task(executor="process")
def served(word: str, db: Annotated[str, Depends(connection, scope="app")]) -> list[str]:
    return [word, db, f"connection 1 of {os.getpid()}", *seen]


seen: list[str] = []


@app.middleware
async def layer(ctx: Context, call_next: CallNext) -> Any:
    seen.append(f"{ctx.task} in {os.getpid()}")
    return await call_next()
