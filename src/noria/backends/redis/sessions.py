"""Workers' lives: begun, renewed, suspected, ended once, and their jobs given back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec

from noria.backends.contract import Cancellation, Ended, Evidence, Fence, Orders, Overdue, Vitals, WorkerCard
from noria.backends.redis import heirs, writes
from noria.backends.redis.call import Call, Request, Steps, Word
from noria.backends.redis.fleet import lines
from noria.backends.redis.heads import Head
from noria.backends.redis.settings import PORTION, Settings
from noria.backends.redis.verdicts import end_of_start
from noria.backends.redis.writes import Seen, Write
from noria.backends.stories import story
from noria.backends.units import millis
from noria.errors import InvalidInput
from noria.ids import Id, SessionId
from noria.model.limits import MAX_BATCH
from noria.model.outcome import End as Ending
from noria.model.outcome import Failure, after_crash, after_release

_UNHEARD: Final = "its lease was cut off before the worker heard of it"
_NOT_BEGUN: Final = "its worker's process ended before it had begun"

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Open(Call):
    """The call."""

    session: SessionId
    card: WorkerCard

    def steps(self, settings: Settings) -> Steps:
        """Begin a session."""
        card = self.card
        try:
            words: list[Word] = [self.session, card.worker.encode(), _encode(card), millis(card.ttl)]
            tasks = [task.encode() for task in card.tasks]
        except ValueError as error:
            raise InvalidInput(f"the worker {card.worker!a:.80} cannot be described: {error}") from error
        yield [Request("session_open", [*words, *tasks])]
        return self.session


@dataclass(slots=True)
class Renew(Call):
    """The call."""

    session: SessionId
    vitals: Vitals

    def steps(self, settings: Settings) -> Steps:
        """Move the deadline, unless the session has ended."""
        (answer,) = yield [Request("session_renew", [self.session, _encode(self.vitals)])]
        if answer is None:
            return Orders(lost=True)
        asked = zip(answer[1::2], answer[2::2], strict=True)
        command = answer[0]
        return Orders(
            cancels=tuple(sorted(_cancellation(id, order) for id, order in asked)),
            command=None if command is None else command.decode(),
        )


@dataclass(slots=True)
class ListOverdue(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Which sessions look dead."""
        (answer,) = yield [Request("fleet", [])]
        return [Overdue(line.session, line.beat, line.card.worker) for line in lines(answer) if line.overdue]


@dataclass(slots=True)
class End(Call):
    """The call."""

    session: SessionId
    if_beat: int | None
    started: Collection[Fence] | None
    evidence: Evidence | None

    def steps(self, settings: Settings) -> Steps:
        """End the session, and give back its first jobs."""
        words = [
            self.session,
            b"" if self.if_beat is None else self.if_beat,
            b"" if self.evidence is None else _encode(self.evidence),
            int(self.started is not None),
        ]
        fences = [word for fence in self.started or () for word in (fence.id, fence.starts)]
        (answer,) = yield [Request("session_end", [*words, *fences])]
        if answer is None:
            return Ended(ended=False)
        first, crashed, released = answer
        if first and crashed + released:
            yield from give_back(self.session, MAX_BATCH, settings)
        return Ended(ended=True, first=bool(first), crashed=crashed, released=released)


@dataclass(slots=True)
class Recall(Call):
    """The call."""

    session: SessionId
    known: Collection[Fence]
    why: str = _UNHEARD

    def steps(self, settings: Settings) -> Steps:
        """Give back what the session holds beside what is known, and say which starts those are."""
        failure = Failure.of("released", self.why)
        known = set(self.known)

        def decide(holding: Holding, seen: Seen, head: Head, begun: bytes | None) -> Ending | None:
            if not holding.alive or Fence(seen.id, head.starts) in known:
                return None
            return after_release(head.tally, failure)

        return (yield from _take_back(self.session, decide, None, settings))


@dataclass(slots=True)
class Holding:
    """What is known about a session beside the jobs that it holds."""

    now: int
    alive: bool
    worker: str
    known: bool
    evidence: Evidence | None


_Decide = Callable[[Holding, Seen, Head, bytes | None], Ending | None]
"""From a job that a session holds, and the starts with which it had begun, to what ends its start; None leaves it."""


def give_back(session: SessionId, limit: int, settings: Settings) -> Steps:
    """Return jobs of an ended session to their queues, or fail them; says how many."""
    release = Failure.of("released", _NOT_BEGUN)

    def decide(holding: Holding, seen: Seen, head: Head, begun: bytes | None) -> Ending | None:
        if not holding.known or begun == b"%d" % head.starts:
            return after_crash(head.tally, Failure.of("crash", story(holding.evidence)))
        return after_release(head.tally, release)

    returned = yield from _take_back(session, decide, limit, settings)
    yield [Request("session_returned", [session])]
    return len(returned)


def _take_back(session: SessionId, decide: _Decide, limit: int | None, settings: Settings) -> Steps:
    """Take jobs from a session that holds them, page by page; says which starts those were."""
    taken: list[Fence] = []
    after: bytes = b"-"
    while limit is None or len(taken) < limit:
        size = PORTION if limit is None else min(PORTION, limit - len(taken))
        (answer,) = yield [Request("held", [session, after, size])]
        holding, jobs = _holding(answer)
        ends = [
            _end(holding, seen, head, end, begun, settings)
            for seen, head, begun in jobs
            if (end := decide(holding, seen, head, begun)) is not None
        ]
        told = (yield from heirs.write(writes.requests(ends), settings)) if ends else ""
        done = [write for write, letter in zip(ends, told, strict=True) if letter == writes.DONE]
        taken += [Fence(write.id, write.head.starts) for write in done]
        if len(jobs) < size:
            break
        after = b"(" + jobs[-1][0].id
    return taken


def _end(
    holding: Holding, seen: Seen, head: Head, end: Ending, begun: bytes | None, settings: Settings
) -> Write:
    crashed = not holding.known or begun == b"%d" % head.starts
    began = head.began / 1000 if crashed and not holding.alive else 0.0
    return end_of_start(
        end, seen, head, now=holding.now, settings=settings, worker=holding.worker, began=began, taken=True
    )


def _holding(answer: list[Any]) -> tuple[Holding, list[tuple[Seen, Head, bytes | None]]]:
    now, alive, worker, known, evidence = answer[:5]
    holding = Holding(
        int(now),
        bool(alive),
        (worker or b"").decode(),
        bool(known),
        None if evidence is None else msgspec.json.decode(evidence, type=Evidence),
    )
    width = 6
    pages = [answer[at : at + width] for at in range(5, len(answer), width)]
    rows = [(writes.seen(page[1:])[0], page[0]) for page in pages]
    return holding, [(seen, seen.head, begun) for seen, begun in rows if seen.head is not None]


def _cancellation(id: bytes, order: bytes) -> Cancellation:
    starts, _, note = order.decode().partition(" ")
    return Cancellation(Fence(Id(id), int(starts)), note)
