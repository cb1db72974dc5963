"""A front served by itself: its socket, its server, and how both come to their end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

import uvicorn

from noria.errors import ConfigError
from noria.front.front import Front
from noria.front.listener import BACKLOG, HOST, PORT, is_loopback, listen, url_of
from noria.front.wire import Wire

GRACE: Final = 5
"""Seconds that requests get to end when the server is stopped."""
_KEEP_ALIVE: Final = 30


class Server:
    """Serves a front until it is stopped.

    Args:
        front: opened and closed here.
        host, port: where; port 0 is any that is free.
        root_path: the path under which a proxy shows it.
        spares: so many of the next ports are tried, if others have those before.
    """

    def __init__(
        self, front: Front, *, host: str = HOST, port: int = PORT, root_path: str = "", spares: int = 0
    ) -> None:
        self._front = front
        self._host = host
        self._port = port
        self._spares = spares
        self._uvicorn = _Uvicorn(
            uvicorn.Config(
                front, http=Wire, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
                proxy_headers=False, root_path=root_path, timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=GRACE, backlog=BACKLOG,
            )
        )  # fmt: skip

    async def run(self, ready: Callable[[str], None]) -> None:
        """Serve until `stop`.

        Args:
            ready: told the address, once it answers.

        Raises:
            ConfigError: the address cannot be had, or others can reach it and no key is there to ask them for.
            Unavailable: the backend cannot be reached.
        """
        async with self._front:
            if not is_loopback(self._host) and not await self._front.desk.keys.any():
                raise ConfigError(
                    f"{self._host} can be reached from elsewhere, and there is no key to ask for: set NORIA_API_KEY, "
                    "make a key first (noria keys create), or serve on 127.0.0.1"
                )
            listener = listen(self._host, self._port, spares=self._spares)
            ready(url_of(self._host, listener))
            await self._uvicorn.serve([listener])

    def stop(self) -> None:
        """Say goodbye to all who wait, take no more requests, and end when those that run have. From the loop."""
        self._front.drain()
        self._uvicorn.should_exit = True

    def cut(self) -> None:
        """End now, whatever runs. From the loop."""
        self.stop()
        self._uvicorn.force_exit = True


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers: whoever runs the process hears signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield
