"""Calls that come together share a transaction, and nothing else: neither failures nor replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from noria.backends.contract import Batch, Evidence, Vitals, Want, WorkerCard
from noria.backends.sql.call import Call
from noria.backends.sql.push import Push
from noria.backends.sql.sessions import End, Open, Renew
from noria.backends.sql.sweep import Sweep
from noria.backends.sql.tallies import Count
from noria.backends.sqlite.lease import Haul, Take
from noria.backends.sqlite.link import Link
from noria.backends.sqlite.settle import Settle
from noria.backends.sqlite.transaction import Transaction
from noria.errors import InvalidInput
from noria.model.state import State
from tests.support.sqlite import QUEUE, Bench, ids_of, succeeded


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many write transactions there were: one entry each."""
    seen: list[int] = []
    write = Link.write

    def counted(self: Link, run: Callable[[Transaction], Any], *, sync: bool = True) -> Any:
        seen.append(1)
        return write(self, run, sync=sync)

    monkeypatch.setattr(Link, "write", counted)
    return seen


class Bug(Call):
    """A call that writes something, then meets a bug of ours."""

    def run(self, work: Transaction) -> Any:
        work.moved("nowhere", None, State.QUEUED)
        work.has_work("nowhere")
        raise ZeroDivisionError


def types(replies: Sequence[Any]) -> list[type]:
    return [type(reply) for reply in replies]


def test_calls_that_come_together_are_one_transaction(bench: Bench, commits: list[int]) -> None:
    session = bench.open()
    commits.clear()

    bench.engine.apply(
        [Push([bench.job()]), Renew(session, Vitals()), Push([bench.job()]), Settle(session, [])]
    )

    assert len(commits) == 1


def test_each_producer_gets_its_own_receipts(bench: Bench) -> None:
    calls = [Push([bench.job() for _ in range(n)]) for n in (3, 0, 1, 5)]

    replies = bench.engine.apply(calls)

    assert [ids_of(reply) for reply in replies] == [ids_of(call.jobs) for call in calls]


def test_a_unique_key_is_taken_once_among_producers_that_come_together(bench: Bench) -> None:
    """K4."""
    first, second = bench.job(unique="k"), bench.job(unique="k")

    one, other = bench.engine.apply([Push([first]), Push([second, bench.job()])])

    assert [receipt.status for receipt in one + other] == ["created", "existing", "created"]
    assert other[0].id == first.id


def test_a_lease_sees_what_came_along_with_it(bench: Bench) -> None:
    session = bench.open()
    job = bench.job()

    leased, _ = bench.engine.apply([Take(session, [Want(QUEUE, 5)], 5), Push([job])])

    assert ids_of(leased.batch.leases) == [job.id]


def test_a_failing_call_fails_alone(bench: Bench) -> None:
    session = bench.open()
    job = bench.job()

    replies = bench.engine.apply(
        [Push([job]), Bug(), Renew(session, Vitals()), Take(session, [Want(QUEUE, 1)], 1)]
    )

    assert types(replies)[1] is ZeroDivisionError
    assert ids_of(replies[0]) == ids_of(replies[3].batch.leases) == [job.id]
    assert not replies[2].lost
    assert "nowhere" not in bench.ask(Count()).queues


def test_a_failing_call_leaves_no_hints(bench: Bench) -> None:
    bench.engine.take_notes()

    bench.engine.apply([Bug(), Push([bench.job()])])

    assert bench.engine.take_notes() == [(f"queue:{QUEUE}", b"0")]


def test_a_caller_who_is_at_fault_is_alone_with_it(bench: Bench) -> None:
    card = WorkerCard(worker="\ud800", host="h", pid=1)

    replies = bench.engine.apply([Open(bench.ids.session(), card), Push([bench.job()])])

    assert types(replies) == [InvalidInput, list]


def test_a_worker_with_nothing_to_do_writes_nothing(bench: Bench, commits: list[int]) -> None:
    session = bench.open()
    commits.clear()

    replies = bench.engine.apply(
        [Take(session, [Want(QUEUE, 5)], 5), Sweep(100), Take(session, [Want(QUEUE, 5)], 5)]
    )

    assert replies[0] == Haul(Batch([]), all=True)
    assert commits == []


def test_one_lease_with_work_does_not_hold_up_one_without(bench: Bench) -> None:
    session = bench.open()
    bench.push(bench.job())

    idle, busy = bench.engine.apply(
        [Take(session, [Want("empty", 5)], 5), Take(session, [Want(QUEUE, 5)], 5)]
    )

    assert (len(idle.batch.leases), len(busy.batch.leases)) == (0, 1)


def test_a_reply_that_cannot_be_made_does_not_repeat_what_is_committed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = bench.open()
    bench.push(bench.job())

    def broken(self: Take, raw: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(Take, "finish", broken)
    job = bench.job()
    replies = bench.engine.apply([Take(session, [Want(QUEUE, 1)], 1), Push([job])])

    assert types(replies) == [ZeroDivisionError, list]
    assert replies[1][0].status == "created"
    assert bench.ask(Count()).queues[QUEUE].states == {State.RUNNING: 1, State.QUEUED: 1}


def test_many_ends_and_many_jobs_keep_their_places(bench: Bench) -> None:
    session = bench.open()
    jobs = [bench.job() for _ in range(700)]
    bench.push(*jobs)
    leases = bench.lease(session, 700)

    verdicts = bench.ask(Settle(session, [succeeded(lease) for lease in reversed(leases)]))

    assert ids_of(leases) == ids_of(jobs)
    assert {verdict.value for verdict in verdicts} == {"ok"}


def test_an_end_returns_a_large_sessions_jobs_in_portions(bench: Bench) -> None:
    session = bench.open()
    bench.push(*(bench.job() for _ in range(2_500)))
    for _ in range(3):
        bench.lease(session, 1_000)

    ended = bench.ask(End(session, None, [], Evidence(cause="it was killed")))
    first = bench.ask(Count()).queues[QUEUE].states
    sweeps = [bench.ask(Sweep(1_000)).returned for _ in range(3)]

    assert (ended.crashed, ended.released) == (0, 2_500)
    assert first == {State.RUNNING: 1_500, State.QUEUED: 1_000}
    assert sweeps == [1_000, 500, 0]
