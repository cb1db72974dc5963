"""Redis servers for tests: the one that all share, each test in a namespace of its own; and private ones."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import hiredis

from noria.backends.redis import Address

_SHARED = "redis://127.0.0.1:6379"


@cache
def missing() -> str:
    """Why there is no server for tests; empty if there is one."""
    try:
        with Client(server("missing")) as client:
            client.ask("PING")
    except OSError as error:
        return f"no Redis server answers at {_url()}: {error}"
    return ""


def server(namespace: str) -> Address:
    """A namespace on the server that tests share: `NORIA_TEST_REDIS`, or the one on this machine."""
    parts = urlsplit(_url())
    return Address(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 6379,
        database=int(parts.path.strip("/") or 0),
        password=parts.password or "",
        namespace=namespace,
    )


def _url() -> str:
    return os.environ.get("NORIA_TEST_REDIS", _SHARED)


def fresh_namespace() -> str:
    """A name that nobody has used."""
    return f"noria-test-{os.urandom(8).hex()}"


def drop_namespace(namespace: str) -> None:
    """Delete the keys of a namespace, and no others."""
    address = server(namespace)
    with Client(address) as client:
        cursor = b"0"
        while True:
            cursor, keys = client.ask("SCAN", cursor, "MATCH", address.prefix + b"*", "COUNT", 1000)
            if keys:
                client.ask("UNLINK", *keys)
            if cursor == b"0":
                return


class Client:
    """A plain connection, for what tests do to a server behind Noria's back."""

    def __init__(self, address: Address) -> None:
        self._socket = socket.create_connection((address.host, address.port), timeout=10)
        self._reader = hiredis.Reader()
        if address.password:
            self.ask("AUTH", address.password)
        if address.database:
            self.ask("SELECT", address.database)

    def ask(self, *words: Any) -> Any:
        """The answer to one command."""
        pack: Any = hiredis.pack_command
        self._socket.sendall(pack(words))
        return self.hear()

    def hear(self) -> Any:
        """The next thing that the server says."""
        while (answer := self._reader.gets()) is False:
            data = self._socket.recv(65_536)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._reader.feed(data)
        if isinstance(answer, hiredis.ReplyError):
            raise answer
        return answer

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class PrivateServer:
    """A server of one test's own, which it may restart, kill, fill and set up as it likes.

    Args:
        folder: where it keeps its files.
        options: as on its command line, without the dashes.
    """

    def __init__(self, folder: Path, **options: str) -> None:
        self._folder = folder
        self._options = {"appendonly": "yes", "appendfsync": "everysec", "save": "", **options}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.address = Address(port=self.port, password=options.get("requirepass", ""), namespace="private")

    def start(self) -> None:
        """Start it on its port, with what it kept; returns when it serves."""
        program = shutil.which("redis-server")
        assert program is not None, "redis-server is not installed"
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        for name, value in self._options.items():
            command += [f"--{name}", value]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with contextlib.suppress(OSError, hiredis.ReplyError):
                with self.client() as client:
                    client.ask("PING")
                return
            time.sleep(0.02)
        raise AssertionError("the server does not serve")

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """SIGSTOP: it accepts connections, and never answers."""
        assert self._process is not None
        self._process.send_signal(19)

    def thaw(self) -> None:
        """SIGCONT."""
        assert self._process is not None
        self._process.send_signal(18)

    def empty(self) -> None:
        """Lose everything that it kept; while it is down."""
        for path in self._folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def written(self) -> dict[Path, int]:
        """How long the files of its log are now."""
        return {path: path.stat().st_size for path in self._folder.glob("appendonlydir/*.incr.aof")}

    def lose_since(self, written: dict[Path, int]) -> None:
        """Lose what it wrote since then, as a crash of its machine before a sync does; while it is down."""
        for path, size in written.items():
            assert path.stat().st_size > size, "there is nothing to lose"
            os.truncate(path, size)

    def client(self) -> Client:
        """A plain connection to it."""
        return Client(self.address)

    def close(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def private_server(**options: str) -> Iterator[PrivateServer]:
    """A private server that runs, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="n-redis-") as folder:
        private = PrivateServer(Path(folder), **options)
        try:
            private.start()
            yield private
        finally:
            private.close()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
