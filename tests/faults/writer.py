"""A process that enqueues as fast as it can until it is killed; forked, so that a fresh one costs milliseconds."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from pathlib import Path

import apsw  # noqa: F401 - imported before the fork, as all that a backend needs

import noria.backends.sqlite  # noqa: F401 - as above
from tests.faults.shop import Shop


def serve(peer: socket.socket, what: str) -> None:
    """Enqueue on the store in the folder `what`; one byte to the peer says that it has begun."""
    asyncio.run(_enqueue(peer, Path(what)))


async def _enqueue(peer: socket.socket, folder: Path) -> None:
    os.environ["NORIA_RUNTIME_DIR"] = (folder / "runtime").read_text()
    async with Shop(f"sqlite:///{folder}/shop.db", folder, "writer") as shop:
        quick = shop.find_task("quick")
        await shop.enqueue_many([quick.job(0)])
        peer.send(b"!")
        for n in itertools.count():
            await shop.enqueue_many([quick.job(each) for each in range(n % 20 + 1)])
