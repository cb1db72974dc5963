"""The keeper's own way to the store: synchronous, independent of the loop, and used by one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noria.backends.contract import Orders, Vitals
from noria.backends.sqlite.engine import Engine
from noria.backends.sqlite.sessions import Renew
from noria.ids import SessionId


class SqliteKeeper:
    """Renews a session when the event loop cannot.

    Args:
        engine: its own, or the shared one of an inline backend, which it then leaves open.
    """

    def __init__(self, engine: Engine, check: Callable[[], None], *, owned: bool) -> None:
        self._engine = engine
        self._check = check
        self._owned = owned

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        """As `Sessions.renew`. Raises `Unavailable` or `Unknown`."""
        self._check()
        reply: Any
        (reply,) = self._engine.apply([Renew(session, vitals)])
        if isinstance(reply, Exception):
            raise reply
        assert isinstance(reply, Orders)
        return reply

    def close(self) -> None:
        """Close the connection. Repeating it does nothing."""
        if self._owned:
            self._engine.close()
