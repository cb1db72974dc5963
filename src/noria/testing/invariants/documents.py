"""I11: a version of a document is replaced once, and what is read of a document is what somebody wrote.

A timer's slot, and an idempotency key, is a document that may be written if it is not there yet: so there is one
winner, and only its jobs are stored. That theirs are, and no others, I1 and I2 say.
"""

from __future__ import annotations

from msgspec import Struct, field

from noria.testing.events import DocRead, Event, Sheet, WriteEnd, WriteInvoke
from noria.testing.facts import Handler
from noria.testing.inquiry import Inquiry, Invariant


class Document(Struct):
    """What is known of one document.

    Attributes:
        may: how many writes of each content were asked for and did not certainly fail.
        winners: for each version that was expected the jobs of the write that was surely done.
        mortal: it may have vanished and be written anew as if it never was.
        first: the content that it surely has for ever, since every write of it expects that it is not there.
        since: when that was surely written.
    """

    may: dict[str, int] = field(default_factory=dict)
    winners: dict[int, tuple[str, ...]] = field(default_factory=dict)
    mortal: bool = False
    changes: bool = False
    first: str = ""
    since: float = 0.0


class OnceEach(Invariant):
    """I11."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._documents: dict[str, Document] = {}

    def handlers(self) -> dict[type, Handler]:
        return {WriteInvoke: self._invoked, WriteEnd: self._ended, DocRead: self._read}

    def _invoked(self, event: Event, fact: WriteInvoke) -> None:
        for sheet in fact.sheets:
            known = self._document(sheet.address)
            known.may[sheet.content] = known.may.get(sheet.content, 0) + 1
            known.mortal = known.mortal or sheet.mortal or not sheet.content
            known.changes = known.changes or sheet.expects != 0

    def _ended(self, event: Event, fact: WriteEnd) -> None:
        for sheet in fact.sheets:
            known = self._document(sheet.address)
            if fact.end == "fail":
                known.may[sheet.content] -= 1
            elif fact.end == "ok":
                self._won(event, fact, sheet, known)

    def _won(self, event: Event, fact: WriteEnd, sheet: Sheet, known: Document) -> None:
        if sheet.expects is None or (sheet.expects == 0 and known.mortal):
            return
        if sheet.expects in known.winners:
            text = f"two writes of {sheet.address!r} were done that both expected version {sheet.expects}"
            self._inquiry.found("I11", event, text, *known.winners[sheet.expects], *fact.jobs)
        known.winners[sheet.expects] = fact.jobs
        if sheet.expects == 0 and not known.first:
            known.first, known.since = sheet.content, event.mono

    def _read(self, event: Event, fact: DocRead) -> None:
        known = self._document(fact.address)
        stays = known.first and not known.changes and not known.mortal and fact.since > known.since
        text = ""
        if fact.content and known.may.get(fact.content, 0) <= 0:
            text = f"document {fact.address!r} reads as what nobody wrote"
        elif stays and fact.content != known.first:
            text = f"document {fact.address!r} is not what its first writer was told that it is"
        if text:
            self._inquiry.found("I11", event, text, *known.winners.get(0, ()))

    def _document(self, address: str) -> Document:
        return self._documents.setdefault(address, Document())
