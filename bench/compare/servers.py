"""Private servers, one for each measurement: nothing that a contestant left behind meets the next one.

Redis with AOF everysec and nothing else changed; PostgreSQL as `initdb` makes it (fsync and synchronous_commit
are on), as a user without privileges, since it refuses to run as root. Both listen on a free port of 127.0.0.1.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from bench.child import BenchError, tail
from bench.compare.guarded import Guarded, guarded

Kind = Literal["redis", "postgres", "sqlite"]

_READY: Final = 20.0
"""Seconds within which a server answers."""
_REWRITE: Final = 120.0
"""Seconds within which Redis has rewritten its file."""
_MAKE: Final = 60.0
"""Seconds within which initdb is done."""
_DEBIAN: Final = Path("/usr/lib/postgresql")
"""Where Debian keeps the programs of each version, outside PATH."""


class Server(NamedTuple):
    """A server that runs, or a file.

    Attributes:
        url: for its clients.
        folder: its files.
    """

    url: str
    folder: Path


@contextmanager
def serving(kind: Kind, folder: Path, lasting: Path) -> Iterator[Server]:
    """A server of its own for the time of a block.

    Args:
        folder: empty; its files go there.
        lasting: for what is made once and copied.

    Raises:
        BenchError: it is not installed, or did not start; the message has the end of its log.
    """
    with _KINDS[kind](folder, lasting) as server:
        yield server


@contextmanager
def _redis(folder: Path, lasting: Path) -> Iterator[Server]:
    port = _free_port()
    command = [_program("redis-server"), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
    command += ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
    with guarded(command, _plain(), folder / "server.log") as server:
        _until_ready(server, lambda: _pings(port))
        yield Server(f"redis://127.0.0.1:{port}/0", folder)


@contextmanager
def _postgres(folder: Path, lasting: Path) -> Iterator[Server]:
    port, data, owner, made = _free_port(), folder / "data", _unprivileged(), lasting / "postgres"
    for above in (lasting, folder, folder.parent):
        above.chmod(0o711)
    if not made.exists():
        _initdb(made, owner)
    subprocess.run(["cp", "-a", str(made), str(data)], check=True, timeout=_MAKE)
    command = [_program("postgres"), "-D", str(data), "-c", "listen_addresses=127.0.0.1"]
    command += ["-c", f"port={port}", "-c", "unix_socket_directories="]
    url = f"postgresql://noria@127.0.0.1:{port}/postgres"
    # SIGINT is its fast shutdown; on SIGTERM it would wait for its clients.
    with guarded(command, _plain(), folder / "server.log", owner=owner, stop=signal.SIGINT) as server:
        _until_ready(server, lambda: _answers(url))
        yield Server(url, folder)


@contextmanager
def _sqlite(folder: Path, lasting: Path) -> Iterator[Server]:
    yield Server(f"sqlite:///{folder / 'store.db'}", folder)


_KINDS: Final = {"redis": _redis, "postgres": _postgres, "sqlite": _sqlite}


def missing(kind: Kind) -> str | None:
    """What stands in the way of such a server here, in words; None if nothing does."""
    try:
        for name in {"redis": ["redis-server"], "postgres": ["initdb", "postgres", "psql"]}.get(kind, []):
            _program(name)
    except BenchError as error:
        return str(error)
    return None


def version(kind: Kind) -> str:
    """What its program says about itself, and how it is set up."""
    if kind == "sqlite":
        return "SQLite, synchronous=FULL"
    name = {"redis": "redis-server", "postgres": "postgres"}[kind]
    done = subprocess.run([_program(name), "--version"], capture_output=True, text=True, check=True)
    if kind == "redis":
        words = dict(word.split("=", 1) for word in done.stdout.split() if "=" in word)
        return f"Redis {words['v']}, AOF everysec, no snapshots, otherwise stock"
    return f"PostgreSQL {done.stdout.split()[2]}, as initdb makes it: fsync and synchronous_commit on"


@contextmanager
def foreign_transaction(server: Server) -> Iterator[None]:
    """A transaction of somebody else that has written, and stays open for the time of a block."""
    held = "BEGIN; SELECT txid_current(); SELECT pg_sleep(3600)"
    command = [_program("psql"), server.url, "-X", "-c", held]
    seen = "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND wait_event = 'PgSleep'"
    # Interrupted, psql cancels what it waits for and ends with 1; killed, it would leave the transaction open.
    log = server.folder / "foreign.log"
    with guarded(command, _plain(), log, stop=signal.SIGINT, exits=(1,)) as psql:
        _until_ready(psql, lambda: _query(server.url, seen) == "1")
        yield


def _initdb(data: Path, owner: tuple[int, int] | None) -> None:
    data.mkdir(mode=0o700)
    if owner is not None:
        os.chown(data, *owner)
    user, group = owner or (None, None)
    command = [_program("initdb"), "-D", str(data), "-U", "noria", "-A", "trust", "-E", "UTF8"]
    done = subprocess.run(
        [*command, "--locale=C.UTF-8"],
        cwd=data,
        env=_plain(),
        user=user,
        group=group,
        extra_groups=None if owner is None else [],
        capture_output=True,
        timeout=_MAKE,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"initdb ended with {done.returncode}: {tail(done.stderr)}")


def _unprivileged() -> tuple[int, int] | None:
    """User and group for PostgreSQL; None: ours are good enough."""
    if os.geteuid() != 0:
        return None
    known = {each.pw_name: each for each in pwd.getpwall()}
    found = known.get("postgres") or known.get("nobody")
    if found is None:
        raise BenchError("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
    return found.pw_uid, found.pw_gid


def _program(name: str) -> str:
    newest = sorted(_DEBIAN.glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*map(str, newest), os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise BenchError(f"there is no {name} on this machine")
    return found


def _plain() -> dict[str, str]:
    """An environment in which nothing speaks of another server of the user's."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PG", "REDIS"))}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _until_ready(server: Guarded, ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _READY
    while not ready():
        server.check()
        if time.monotonic() > end:
            raise TimeoutError(f"the server did not answer within {_READY:g} s")
        time.sleep(0.02)


def rest(server: Server) -> None:
    """Wait until Redis has rewritten its append-only file, which it does by itself when that has grown twofold.

    The rewrite takes one of the processors, and goes with the arrival of many jobs, not with their being there.

    Raises:
        TimeoutError: it goes on and on.
    """
    end = time.monotonic() + _REWRITE
    parts = urlsplit(server.url)
    while parts.scheme == "redis" and _rewrites(parts.port or 0):
        if time.monotonic() > end:
            raise TimeoutError(f"Redis has been rewriting its file for {_REWRITE:g} s")
        time.sleep(0.2)


def _rewrites(port: int) -> bool:
    """Whether it does, or is about to."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(b"INFO persistence\r\n")
        told = connection.recv(65_536)
    return b"aof_rewrite_in_progress:0" not in told or b"aof_rewrite_scheduled:0" not in told


def _pings(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def _answers(url: str) -> bool:
    return _query(url, "SELECT 1") == "1"


def _query(url: str, statement: str) -> str:
    command = [_program("psql"), url, "-X", "-A", "-t", "-c", statement]
    done = subprocess.run(command, env=_plain(), capture_output=True, text=True, timeout=10, check=False)
    return done.stdout.strip()
