"""The recording backend writes down every call, whatever becomes of it, and changes none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noria.backends.contract import (
    Altered,
    Backend,
    Batch,
    Change,
    Counts,
    DocWrite,
    Ended,
    Fence,
    Hint,
    Orders,
    Outline,
    Parts,
    QueueCounts,
    Swept,
    Verdict,
    Vitals,
    WorkerCard,
)
from noria.errors import Conflict, InvalidName, Unavailable, Unknown
from noria.ids import Id, SessionId
from noria.model.job import Lease, NewJob, Receipt
from noria.model.outcome import Outcome, Tally
from noria.model.settlement import Settlement
from noria.model.state import State
from noria.testing.events import (
    AlterEnd,
    AlterInvoke,
    CountsRead,
    EndEnd,
    EndInvoke,
    Fact,
    Leased,
    LeaseLost,
    Opened,
    OutcomeSeen,
    PushEnd,
    PushInvoke,
    Read,
    Recalled,
    Renewed,
    SettleEnd,
    SettleInvoke,
    Sheet,
    SweptSome,
    WriteEnd,
    WriteInvoke,
)
from noria.testing.history import Recorder, digest, read_history
from noria.testing.recording import RecordingBackend
from tests.support.manual import ManualClock

A, B = Id(b"a" * 16), Id(b"b" * 16)
S = SessionId(5)
CARD = WorkerCard(worker="w", host="h", pid=1, ttl=3.0)


class Scripted:
    """A backend that answers what it was told to, and remembers what it was asked."""

    reply_channel = "reply:me"

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        async def answer(*args: Any, **kwargs: Any) -> Any:
            self.asked.append((name, (*args, *kwargs.values())))
            told = self.answers.get(name)
            if isinstance(told, BaseException):
                raise told
            return told

        return answer

    @asynccontextmanager
    async def listen(self, channels: Any) -> AsyncIterator[AsyncIterator[Hint]]:
        async def hints() -> AsyncIterator[Hint]:
            for hint in self.answers["hints"]:
                yield hint

        yield hints()


class Bench:
    def __init__(self, folder: Path) -> None:
        self.inner = Scripted()
        self.clock = ManualClock()
        self._folder = folder
        self.backend = RecordingBackend(self.inner, Recorder(folder, "p", clock=self.clock))

    def facts(self) -> list[Fact]:
        return [event.fact for event in read_history(self._folder)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def job(id: Id, **fields: Any) -> NewJob:
    return NewJob(id=id, task="t", queue="q", body=b"[]", **fields)


def test_it_keeps_the_contract(bench: Bench) -> None:
    """A type checker compares the signatures; this compares the names."""
    contract = {name for name in dir(Backend) if not name.startswith("_")}

    assert contract <= set(dir(RecordingBackend))


async def test_a_push_is_told_before_and_after(bench: Bench) -> None:
    body = digest("json", job(A).body) or ""
    receipts = [Receipt("created", A), Receipt("existing", A, "unique")]
    bench.inner.answers["push"] = receipts

    told = await bench.backend.push([job(A, unique="k", delay=2.0), job(B, attempts=3)])

    assert told == receipts
    assert bench.facts() == [
        PushInvoke(
            id=A.hex(), task="t", queue="q", unique="k", delay=2.0, attempts=5, crash_budget=3, body=body
        ),
        PushInvoke(id=B.hex(), task="t", queue="q", attempts=3, crash_budget=3, body=body),
        PushEnd(id=A.hex(), end="ok", status="created", stands=A.hex()),
        PushEnd(id=B.hex(), end="ok", status="existing", stands=A.hex(), why="unique"),
    ]


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (Unavailable("x"), "fail"),
        (InvalidName("x"), "fail"),
        (Unknown("x"), "info"),
        (asyncio.CancelledError(), "info"),
        (RuntimeError("x"), "info"),
    ],
    ids=lambda each: type(each).__name__,
)
async def test_a_call_that_raises_is_told_as_what_it_leaves(
    bench: Bench, error: BaseException, end: Any
) -> None:
    bench.inner.answers = dict.fromkeys(("push", "settle", "end", "alter", "lease"), error)
    ended = Settlement(A, 1, Outcome.FAILED, State.RETRYING)

    for call in (
        bench.backend.push([job(A)]),
        bench.backend.settle(S, [ended]),
        bench.backend.end(S, if_beat=None, started=None),
        bench.backend.alter([A], Change(kind="cancel")),
        bench.backend.lease(S, [], 1, 0.0),
    ):
        with pytest.raises(type(error)):
            await call

    told = [fact for fact in bench.facts() if type(fact) in (PushEnd, SettleEnd, EndEnd, AlterEnd)]
    assert [fact.end for fact in told] == [end] * 4
    lost = [fact for fact in bench.facts() if isinstance(fact, LeaseLost)]
    assert lost == ([LeaseLost(session=S)] if end == "info" else [])


async def test_documents_are_told_with_the_jobs_that_they_go_along_with(bench: Bench) -> None:
    doc = DocWrite("slot", "noon", b"x", if_version=0)
    bench.inner.answers["push"] = [Receipt("created", A)]
    sheets = (Sheet("slot noon", digest("", b"x") or "", 0),)

    await bench.backend.push([job(A)], [doc])

    along = [fact for fact in bench.facts() if isinstance(fact, WriteInvoke | WriteEnd)]
    assert along == [
        WriteInvoke(sheets=sheets, jobs=(A.hex(),)),
        WriteEnd(sheets=sheets, jobs=(A.hex(),), end="ok"),
    ]


@pytest.mark.parametrize("error", [Conflict("x"), Unavailable("x")])
async def test_documents_that_were_not_written_are_told_as_failed(bench: Bench, error: Exception) -> None:
    bench.inner.answers = {"push": error, "write": error}
    doc = DocWrite("slot", "noon", b"x", if_version=0)

    for call in (bench.backend.push([job(A)], [doc]), bench.backend.write([doc])):
        with pytest.raises(type(error)):
            await call

    assert [fact.end for fact in bench.facts() if isinstance(fact, WriteEnd)] == ["fail", "fail"]


async def test_leases_are_told_one_by_one(bench: Bench) -> None:
    tally = Tally(spent=2, attempts=5, crashes=1)
    lease = Lease(id=A, starts=4, task="t", queue="q", body=b"[7]", codec="json", tally=tally)
    bench.inner.answers["lease"] = Batch([lease])

    await bench.backend.lease(S, [], 1, 0.0)

    (fact,) = bench.facts()
    assert fact == Leased(
        id=A.hex(),
        session=S,
        starts=4,
        spent=2,
        crashes=1,
        queue="q",
        since=fact.since,
        body=digest("json", b"[7]") or "",
    )
    assert fact.since == bench.clock.monotonic()


async def test_a_settle_is_told_with_its_verdict(bench: Bench) -> None:
    bench.inner.answers["settle"] = [Verdict.OK, Verdict.STALE]
    done = Settlement(A, 1, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")
    retry = Settlement(B, 2, Outcome.FAILED, State.RETRYING, delay=3.0)

    await bench.backend.settle(S, [done, retry])

    value = digest("json", b"1") or ""
    assert bench.facts() == [
        SettleInvoke(id=A.hex(), session=S, starts=1, outcome=1, state=10, result=value),
        SettleInvoke(id=B.hex(), session=S, starts=2, outcome=2, state=6, delay=3.0),
        SettleEnd(id=A.hex(), session=S, starts=1, outcome=1, state=10, end="ok", verdict="ok"),
        SettleEnd(id=B.hex(), session=S, starts=2, outcome=2, state=6, end="ok", verdict="stale"),
    ]


async def test_the_life_of_a_session_is_told(bench: Bench) -> None:
    bench.inner.answers = {
        "open": S,
        "renew": Orders(lost=True),
        "end": Ended(True, True, 2, 3),
        "recall": 1,
    }

    await bench.backend.open(CARD)
    await bench.backend.renew(S, Vitals())
    await bench.backend.recall(S, [Fence(A, 1)])
    await bench.backend.end(S, if_beat=3, started=[Fence(B, 1)])

    assert bench.facts() == [
        Opened(session=S, worker="w", ttl=3.0, since=1000.0),
        Renewed(session=S, lost=True, since=1000.0),
        Recalled(session=S, known=(A.hex(),)),
        Recalled(session=S, over=True),
        EndInvoke(session=S, started=(B.hex(),)),
        EndEnd(session=S, end="ok", ended=True, first=True, crashed=2, released=3),
    ]


async def test_changes_are_told(bench: Bench) -> None:
    bench.inner.answers["alter"] = [Altered("done", State.CANCELLED), Altered("missing")]

    await bench.backend.alter([A, B], Change(kind="cancel"))

    assert bench.facts() == [
        AlterInvoke(id=A.hex(), change="cancel"),
        AlterInvoke(id=B.hex(), change="cancel"),
        AlterEnd(id=A.hex(), change="cancel", end="ok", status="done", state=12),
        AlterEnd(id=B.hex(), change="cancel", end="ok", status="missing"),
    ]


async def test_reads_are_told_with_the_time_they_were_asked_for(bench: Bench) -> None:
    bench.inner.answers["get"] = [None]
    asked = bench.clock.monotonic()

    await bench.backend.get([A], Parts.RESULT)
    bench.clock.advance(1)
    await bench.backend.get([A])

    assert bench.facts() == [Read(id=A.hex(), since=asked), Read(id=A.hex(), since=asked + 1)]


async def test_the_last_look_tells_counts_and_records(bench: Bench) -> None:
    queues = {
        "a": QueueCounts({State.QUEUED: 1, State.FAILED: 2}, dead=2),
        "b": QueueCounts({State.QUEUED: 3}),
    }
    bench.inner.answers = {"counts": Counts(queues, [], erased=4), "get": [None]}
    now = bench.clock.monotonic()

    await bench.backend.look([A])

    assert bench.facts() == [
        CountsRead(since=now, states={2: 4, 11: 2}, dead=2, erased=4, final=True),
        Read(id=A.hex(), since=now, final=True),
    ]


async def test_only_sweeps_that_moved_something_are_told(bench: Bench) -> None:
    bench.inner.answers["sweep"] = Swept(next_due=3.0)
    await bench.backend.sweep(10)
    bench.inner.answers["sweep"] = Swept(promoted=2, pruned=1)
    await bench.backend.sweep(10)

    assert bench.facts() == [SweptSome(promoted=2, pruned=1)]


async def test_outcomes_in_hints_are_told(bench: Bench) -> None:
    payload = msgspec.json.encode([Outline(A.hex(), 10, "json", "1"), Outline(B.hex(), 11)])
    hints = [Hint("reply:me", payload), Hint("", reset=True), Hint("queue:q"), Hint("reply:me", b"\xff")]
    bench.inner.answers["hints"] = hints

    async with bench.backend.listen(["reply:me"]) as heard:
        assert [hint async for hint in heard] == hints

    assert bench.facts() == [
        OutcomeSeen(id=A.hex(), state=10, result=digest("json", b"1")),
        OutcomeSeen(id=B.hex(), state=11),
    ]


async def test_calls_pass_through_unchanged(bench: Bench) -> None:
    bench.inner.answers = {"find": "page", "overdue": ["s"], "notify": None, "start": None, "aclose": None}

    assert await bench.backend.find("query", A, 3, parts=Parts.BODY) == "page"
    assert await bench.backend.overdue() == ["s"]
    await bench.backend.notify("custom:a", b"x")
    await bench.backend.start()
    await bench.backend.aclose()

    assert bench.inner.asked == [
        ("find", ("query", A, 3, Parts.BODY, False)),
        ("overdue", ()),
        ("notify", ("custom:a", b"x")),
        ("start", ()),
        ("aclose", ()),
    ]
    assert bench.backend.reply_channel == "reply:me"
