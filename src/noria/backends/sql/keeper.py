"""The keeper's own way to the store: synchronous, independent of the loop, and used by one thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from noria.backends.contract import Fence, Orders, Verdict, Vitals
from noria.backends.sql.call import Call
from noria.backends.sql.desk import Publish
from noria.backends.sql.engine import Engine
from noria.backends.sql.sessions import Recall, Renew
from noria.ids import SessionId
from noria.model.settlement import Settlement


class SqlKeeper:
    """Does a session's duties when the event loop cannot. See `noria.backends.contract.Keeper`.

    Args:
        engine: its own, or the shared one of an inline backend.
        check: raises if this process may not use the store.
        tell: sends the hints that its commits leave, from its thread.
        close: closes what is its own, one after another.
    """

    def __init__(
        self, engine: Engine, check: Callable[[], None], tell: Publish, *close: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._check = check
        self._tell = tell
        self._close = close

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        orders: Orders = self._ask(Renew(session, vitals))
        return orders

    def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        verdicts: list[Verdict] = self._ask(self._engine.settle(session, ends))
        return verdicts

    def recall(self, session: SessionId, known: Collection[Fence], why: str) -> list[Fence]:
        given_back: list[Fence] = self._ask(Recall(session, known, why))
        return given_back

    def close(self) -> None:
        """Close the connection. Repeating it does nothing."""
        for each in self._close:
            each()

    def _ask(self, call: Call) -> Any:
        self._check()
        (reply,) = self._engine.apply([call])
        if notes := self._engine.take_notes():
            self._tell(notes)
        if isinstance(reply, Exception):
            raise reply
        return reply
