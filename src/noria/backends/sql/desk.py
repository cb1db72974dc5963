"""Where coroutines hand their calls to an engine; here the one that runs it in its caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from noria.backends.bus import Note
from noria.backends.contract import Batch
from noria.backends.sql.call import Call
from noria.backends.sql.engine import Engine
from noria.backends.sql.lease import Take
from noria.errors import Unavailable

Reader = Literal["reader", "searcher", "patient"]
"""Who answers beside the engine: one what can be told at once, one what may have to look at many rows, and one what
somebody else's transaction holds up."""

Publish = Callable[[list[Note]], None]
"""Gets hints that a commit has to send."""

Unheard = Callable[[Take, Batch], None]
"""Gets leases that arrived when nobody waited for them any more."""


class Desk(Protocol):
    """Takes calls for an engine."""

    async def open(self, timeout: float) -> None:
        """Open the engine's store. Raises `ConfigError` or `Unavailable`."""
        ...

    async def ask(self, call: Call, timeout: float) -> Any:
        """Have a call answered.

        Raises:
            Unavailable: it was certainly not done.
            Unknown: it may have been done.
        """
        ...

    def post(self, call: Call) -> None:
        """Have a call done without hearing of it."""
        ...

    async def aclose(self, timeout: float) -> None:
        """Close the engine; calls that wait end with `Unavailable`."""
        ...


class InlineDesk:
    """Runs an engine in its caller; several desks may share one, as the processes of a simulation do.

    Args:
        owns_engine: close it together with the desk.
    """

    def __init__(self, engine: Engine, publish: Publish, *, owns_engine: bool) -> None:
        self._engine = engine
        self._publish = publish
        self._owns_engine = owns_engine
        self._closed = False

    async def open(self, timeout: float) -> None:
        self._engine.open()

    async def ask(self, call: Call, timeout: float) -> Any:
        reply = self._apply(call)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def post(self, call: Call) -> None:
        self._apply(call)

    async def aclose(self, timeout: float) -> None:
        self._closed = True
        if self._owns_engine:
            self._engine.close()

    def _apply(self, call: Call) -> Any:
        if self._closed:
            raise Unavailable(f"{self._engine.settings.store} is closed")
        (reply,) = self._engine.apply([call])
        self._publish(self._engine.take_notes())
        return reply
