"""A thread with an event loop on which an application is open, for callers that have no loop."""

from __future__ import annotations

import asyncio
import atexit
import threading
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Final

_CLOSING: Final = 10.0
"""Seconds that the application gets to close when the process ends."""


class LoopThread:
    """Starts at most one thread; a process that was forked starts its own.

    Args:
        app: entered on the thread's loop, and left when it is closed.
    """

    def __init__(self, app: AbstractAsyncContextManager[object]) -> None:
        self._app = app
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def start(self) -> asyncio.AbstractEventLoop:
        """The loop, with the application open on it; starts the thread if none lives.

        Raises:
            whatever opening the application raises.
        """
        if self._loop is None or self._thread is None or not self._thread.is_alive():
            opened: Future[None] = Future()
            self._thread = threading.Thread(target=self._main, args=(opened,), name="noria-sync", daemon=True)
            self._thread.start()
            opened.result()
            atexit.register(self.close)
        assert self._loop is not None
        return self._loop

    def close(self) -> None:
        """Close the application and end the thread. Repeating it does nothing."""
        thread, loop, stop = self._thread, self._loop, self._stop
        self._thread = self._loop = self._stop = None
        atexit.unregister(self.close)
        if thread is not None and loop is not None and stop is not None and thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
            thread.join(_CLOSING)

    def _main(self, opened: Future[None]) -> None:
        try:
            asyncio.run(self._hold(opened))
        except BaseException as error:  # the caller of `start` must hear of it, whatever it is
            if opened.done():
                raise
            opened.set_exception(error)

    async def _hold(self, opened: Future[None]) -> None:
        async with self._app:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            opened.set_result(None)
            await self._stop.wait()
