"""The rest of I2: a job runs with arguments that somebody gave it, and with new ones once it has them."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from noria.testing.events import AlterEnd, AlterInvoke, Event, Leased, PushInvoke
from noria.testing.facts import Handler
from noria.testing.inquiry import Inquiry, Invariant


class Given(Struct):
    """The arguments of one job, as digests.

    Attributes:
        may: how often each was given by a call that did not certainly fail.
        open: changes of them that are not answered, or never were.
        newest, since: those that it surely has, and since when; "" if nobody knows.
    """

    may: Counter[str] = field(default_factory=Counter)
    open: int = 0
    newest: str = ""
    since: float = 0.0


class Arguments(Invariant):
    """I2, of arguments."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._given: dict[str, Given] = {}
        self._asked: dict[tuple[str, str], str] = {}

    def handlers(self) -> dict[type, Handler]:
        return {
            PushInvoke: self._pushed,
            AlterInvoke: self._asks,
            AlterEnd: self._answered,
            Leased: self._leased,
        }

    def _pushed(self, event: Event, fact: PushInvoke) -> None:
        self._of(fact.id).may[fact.body] += 1

    def _asks(self, event: Event, fact: AlterInvoke) -> None:
        if fact.body:
            given = self._of(fact.id)
            given.may[fact.body] += 1
            given.open += 1
            given.newest = ""
            self._asked[event.proc, fact.id] = fact.body

    def _answered(self, event: Event, fact: AlterEnd) -> None:
        body = self._asked.pop((event.proc, fact.id), "")
        if not body or fact.end == "info":
            return  # it may be done at any time
        given = self._of(fact.id)
        given.open -= 1
        if fact.status != "done":
            given.may[body] -= 1
        elif not given.open:
            given.newest, given.since = body, event.mono

    def _leased(self, event: Event, fact: Leased) -> None:
        given = self._given.get(fact.id)
        if given is None or not fact.body:
            return
        if given.may[fact.body] <= 0:
            self._inquiry.found("I2", event, "it runs with arguments that nobody gave it", fact.id)
        elif given.newest and fact.since > given.since and fact.body != given.newest:
            self._inquiry.found("I2", event, "it runs with arguments that were replaced before", fact.id)

    def _of(self, id: str) -> Given:
        return self._given.setdefault(id, Given())
