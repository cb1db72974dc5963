"""The PostgreSQL server of the tests, a schema of its own for whoever asks, and servers that a test may break."""

from __future__ import annotations

import functools
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from tests.support.commands import until

SERVER: Final = os.environ.get("NORIA_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")
"""A database in which tests may make and drop schemas."""

PROGRAMS: Final = Path(os.environ.get("NORIA_TEST_POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
"""Where `initdb` and `postgres` are."""


@functools.cache
def missing() -> str:
    """Why there is no server; nothing if there is one."""
    try:
        psycopg.connect(SERVER, connect_timeout=5).close()
    except psycopg.Error as error:
        return f"no PostgreSQL at {SERVER}, as NORIA_TEST_POSTGRES may name another: {error}"
    return ""


def require_server() -> None:
    """Leave the test out if there is no server."""
    if why := missing():
        pytest.skip(why)


def fresh_namespace() -> str:
    """The name of a schema that nobody has used."""
    require_server()
    return f"t_{secrets.token_hex(8)}"


def drop_namespace(name: str, server: str = SERVER) -> None:
    """Drop a schema with all that is in it."""
    with psycopg.connect(server, autocommit=True) as connection:
        # What a test has left open must not keep the next one waiting.
        connection.execute("SET lock_timeout = '10s'")
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())


@contextmanager
def namespace() -> Iterator[str]:
    """A schema of its own, gone afterwards."""
    name = fresh_namespace()
    try:
        yield name
    finally:
        drop_namespace(name)


def ask(text: str, server: str = SERVER, *values: Any) -> list[Any]:
    """The first column of what a statement returns."""
    with psycopg.connect(server, autocommit=True) as connection:
        found = connection.execute(text.encode(), values or None)
        return [row[0] for row in found.fetchall()] if found.description else []


class PrivateServer:
    """A server of one test, which may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "data"
        self._log = folder / "log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._process: subprocess.Popen[bytes] | None = None
        folder.chmod(0o755)
        self._log.touch()
        self._data.mkdir()
        if os.getuid() == 0:
            for path in (self._data, self._log):
                subprocess.run(["chown", "postgres", path], check=True)
        words = [
            PROGRAMS / "initdb",
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
            "-D",
            self._data,
        ]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **self._as_postgres())

    def start(self) -> None:
        """Run it, and wait until it lets people in."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    PROGRAMS / "postgres", "-D", self._data, "-p", str(self.port), "-h", "127.0.0.1",
                    "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=16MB",
                ],
                stdout=log, stderr=log, **self._as_postgres(),
            )  # fmt: skip
        until = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
                return
            except psycopg.Error:
                assert time.monotonic() < until, self._log.read_text()
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT sends everyone away, SIGQUIT is as if it had crashed."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(30)

    def ask_passwords(self) -> None:
        """Let nobody in without a password from now on, except its own user."""
        rules = "host all postgres all trust\nhost all all all scram-sha-256\n"
        (self._data / "pg_hba.conf").write_text(rules)
        ask("SELECT pg_reload_conf()", self.url)
        until(lambda: "password" in self._refusal("nobody"))

    def _refusal(self, user: str) -> str:
        try:
            psycopg.connect(self.url, user=user, connect_timeout=2).close()
        except psycopg.Error as error:
            return str(error)
        return ""

    def _as_postgres(self) -> dict[str, Any]:
        """It refuses to run as root."""
        return {"user": "postgres", "group": "postgres", "cwd": "/"} if os.getuid() == 0 else {}


@contextmanager
def private_server() -> Iterator[PrivateServer]:
    """A server that runs, and is gone afterwards."""
    require_server()
    # Not in the folder of the test, into which only its own user may look.
    with tempfile.TemporaryDirectory(prefix="noria-postgres-", ignore_cleanup_errors=True) as folder:
        server = PrivateServer(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.stop(signal.SIGQUIT)
