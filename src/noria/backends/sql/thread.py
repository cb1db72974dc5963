"""The thin shell around an engine: coroutines on one side, its thread on the other.

The thread takes all calls that wait and makes them one transaction; while it is busy, further ones gather. Their
replies come back to the loop all at once.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from noria.aio import Breather, bounded, happened
from noria.backends.bells import Haul
from noria.backends.bus import Note
from noria.backends.sql.call import Call
from noria.backends.sql.desk import Publish, Unheard
from noria.backends.sql.engine import Engine
from noria.backends.sql.lease import Take
from noria.errors import Unavailable, Unknown

log = logging.getLogger("noria.backends")


class _Entry:
    """A call on its way, and who waits for its reply."""

    __slots__ = ("call", "future")

    def __init__(self, call: Call, future: asyncio.Future[Any]) -> None:
        self.call = call
        self.future = future


class ThreadDesk:
    """Runs an engine in a thread of its own.

    Args:
        publish: gets hints for this process, on the loop.
        send: gets the same hints for other processes, on the engine's thread.
        unheard: see `Unheard`; called on the loop.
    """

    def __init__(
        self, engine: Engine, name: str, *, publish: Publish, send: Publish, unheard: Unheard
    ) -> None:
        self._engine = engine
        self._publish = publish
        self._send = send
        self._unheard = unheard
        self._store = engine.settings.store
        self._loop = asyncio.get_running_loop()
        self._breather = Breather.of(self._loop)
        self._waiting: deque[_Entry] = deque()
        self._bell: SimpleQueue[bool] = SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._stopped = asyncio.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    # ---- on the loop

    async def open(self, timeout: float) -> None:
        self._thread.start()
        self._breather.hold()
        try:
            async with bounded(timeout):
                await self._opened
        except TimeoutError as error:
            raise Unavailable(f"{self._store} could not be opened within {timeout:g} seconds") from error
        finally:
            self._breather.release()

    async def ask(self, call: Call, timeout: float) -> Any:
        entry = self._submit(call)
        try:
            async with bounded(timeout):
                return await entry.future
        except TimeoutError as error:
            raise self._late(entry, timeout) from error
        except asyncio.CancelledError:
            self._leave(entry)
            raise

    def post(self, call: Call) -> None:
        self._submit(call).future.add_done_callback(_ignore)

    async def aclose(self, timeout: float) -> None:
        self._turn_away()
        if self._thread.is_alive():
            self._bell.put(False)
            await happened(self._stopped, timeout)

    def _submit(self, call: Call) -> _Entry:
        if self._closing:
            raise Unavailable(f"{self._store} is closed")
        entry = _Entry(call, self._loop.create_future())
        self._breather.hold()
        self._waiting.append(entry)
        self._bell.put(True)
        return entry

    def _turn_away(self) -> None:
        """Take up nothing more, what waits included."""
        self._closing = True
        while self._waiting:
            entry = self._waiting.popleft()
            self._breather.release()
            if not entry.future.done():
                entry.future.set_exception(
                    Unavailable(f"{self._store} was closed before it took up the call")
                )

    def _leave(self, entry: _Entry) -> bool:
        """Nobody waits for this reply any more; says whether the call was still to be taken up, and now is not."""
        if entry.future.done() and not entry.future.cancelled() and entry.future.exception() is None:
            # It came in the same turn of the loop in which its caller was cancelled.
            self._discard(entry.call, entry.future.result())
        try:
            self._waiting.remove(entry)
        except ValueError:
            return False
        self._breather.release()
        return True

    def _late(self, entry: _Entry, timeout: float) -> Exception:
        what = f"{self._store} gave no answer within {timeout:g} seconds"
        if self._leave(entry):
            return Unavailable(f"{what}: other calls or processes keep it busy; this call was not taken up")
        if entry.call.writes:
            return Unknown(f"{what}: the call may still be done; repeat it with the same ids")
        return Unavailable(what)

    def _deliver(self, entries: Sequence[_Entry], replies: Sequence[Any], notes: list[Note]) -> None:
        for entry, reply in zip(entries, replies, strict=True):
            self._breather.release()
            if entry.future.done():
                self._discard(entry.call, reply)
            elif isinstance(reply, Exception):
                entry.future.set_exception(reply)
            else:
                entry.future.set_result(reply)
        self._publish(notes)

    def _discard(self, call: Call, reply: Any) -> None:
        if isinstance(call, Take) and isinstance(reply, Haul) and reply.batch.leases and not self._closing:
            self._unheard(call, reply.batch)

    def _tell_opened(self, error: Exception | None) -> None:
        if error is not None:
            self._turn_away()
        if self._opened.done():
            return
        if error is None:
            self._opened.set_result(None)
        else:
            self._opened.set_exception(error)

    # ---- on the thread

    def _work(self) -> None:
        try:
            self._engine.open()
        except Exception as error:  # noqa: BLE001 - raised by `open` for its caller
            self._call_loop(self._tell_opened, error)
        else:
            self._call_loop(self._tell_opened, None)
            while self._bell.get():
                self._serve()
        self._engine.close()
        self._call_loop(self._stopped.set)

    def _serve(self) -> None:
        entries = self._take()
        if not entries:
            return
        calls = [entry.call for entry in entries]
        replies, notes = self._commit(calls)
        # Others first: our own loop, once awake, would hold the interpreter while they wait.
        self._tell_others(notes)
        replies = self._land(calls, replies)
        self._call_loop(self._deliver, entries, replies, notes)

    def _tell_others(self, notes: list[Note]) -> None:
        try:
            self._send(notes)
        except Exception:
            # Whoever waits for a hint also polls; without this thread everyone would wait in vain.
            log.exception("%s: other processes could not be told of a commit", self._store)

    def _commit(self, calls: Sequence[Call]) -> tuple[list[Any], list[Note]]:
        try:
            return self._engine.commit(calls), self._engine.take_notes()
        except Exception as error:  # noqa: BLE001 - a bug: without this thread all callers would wait in vain
            return [error] * len(calls), []

    def _land(self, calls: Sequence[Call], replies: list[Any]) -> list[Any]:
        try:
            return self._engine.land(calls, replies)
        except Exception as error:  # noqa: BLE001 - a bug: without this thread all callers would wait in vain
            return [error] * len(calls)

    def _take(self) -> list[_Entry]:
        """All calls that wait now. The bell rings later for each of them, and finds nothing."""
        entries = []
        while True:
            try:
                entries.append(self._waiting.popleft())
            except IndexError:
                return entries

    def _call_loop(self, function: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            # The loop is closed: nobody is left to be told, and what was committed stays committed.
            self._closing = True


def _ignore(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
