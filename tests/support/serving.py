"""Fronts and workers as processes of their own, and clients on raw sockets."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.commands import Commands, Running

APP = """
import asyncio, time
from noria import Noria

app = Noria()

@app.task(safe=True)
async def sqrt(a: float) -> float:
    return a ** 0.5

@app.task
async def cube(a: int) -> int:
    return a ** 3

@app.task
async def nap(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "rested"

@app.task
async def big(size: int) -> str:
    return "x" * size
"""


class Front:
    """A front that runs.

    Attributes:
        process: its process.
        port: where it listens.
    """

    def __init__(self, process: Running, port: int) -> None:
        self.process = process
        self.port = port

    def ask(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """One request on a connection of its own: status, headers, and the body as JSON."""
        status, found, text = self.text(method, path, body, **headers)
        return status, found, json.loads(text) if text else None

    def text(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """The same with the body as text."""
        data = b"" if body is None else json.dumps(body).encode()
        given = {
            "Host": "localhost",
            "Connection": "close",
            **{name.replace("_", "-"): v for name, v in headers.items()},
        }
        if body is not None:
            given |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in given.items()
        )
        answer = self.raw(head.encode() + b"\r\n" + data)
        top, _, rest = answer.partition(b"\r\n\r\n")
        lines = top.decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:])
        return int(lines[0].split()[1]), fields, rest.decode()

    def raw(self, data: bytes, *, seconds: float = 30.0) -> bytes:
        """What comes back for these bytes, until the other side closes."""
        with self.connect(seconds) as client:
            client.sendall(data)
            return read_all(client)

    def connect(self, seconds: float = 30.0) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds)


def read_all(client: socket.socket) -> bytes:
    """All that comes until the other side closes, or resets."""
    found = b""
    try:
        while piece := client.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def serve(commands: Commands, *words: str, **environment: str) -> Front:
    """Start a front, and wait until it answers."""
    process = commands.start("serve", "--port", "0", *words, **environment)
    line = process.says("serving at", error=True)
    found = re.search(r"http://[^\s:]+:(\d+)", line)
    assert found is not None, line
    return Front(process, int(found[1]))


@contextmanager
def house(commands: Commands) -> Iterator[Commands]:
    """A folder with an application and a worker."""
    commands.write("app.py", APP)
    worker = commands.start("worker", "app.py")
    worker.says("slots:", error=True)
    yield commands
