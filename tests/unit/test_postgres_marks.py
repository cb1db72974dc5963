"""Where a lease begins to read a line while rows that were deleted cannot be cleaned away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from noria.backends.contract import Want, WorkerCard
from noria.backends.postgres import PostgresBackend, marks
from noria.backends.postgres.marks import FRONT, MANY, NEWS, SLOW, Marks
from noria.backends.sql.choice import Line
from noria.clock import SystemClock
from noria.ids import IdSource
from noria.model.job import Lane, NewJob
from tests.support.manual import ManualClock
from tests.support.postgres import SERVER, namespace

CLOCK = SystemClock()
IDS = IdSource(CLOCK)
PLACE = ("q", Lane.LOOP)


@pytest.fixture
def schema() -> Iterator[str]:
    with namespace() as name:
        yield name


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the front is slow because of what is in the way there, and is seldom repeated."""
    monkeypatch.setattr(marks, "SLOW", 0.0)
    monkeypatch.setattr(marks, "MANY", -1)
    monkeypatch.setattr(marks, "PAUSE", 1e9)


def job(priority: int = 0) -> NewJob:
    return NewJob(id=IDS.next(), task="t", queue="q", body=b"[]", priority=priority)


def test_a_line_is_read_from_its_front_until_that_was_slow() -> None:
    clock = ManualClock()
    known = Marks(clock)
    known.found(PLACE, Line([], [(7, "a"), (9, "b")], []))

    before = known.skipping
    known.told(MANY + 1, 1.0)

    assert (before, known.skipping, known.of(PLACE)) == (False, True, 7)


def test_the_front_is_looked_at_again_after_a_few_times_as_long_as_that_takes() -> None:
    clock = ManualClock()
    known = Marks(clock)
    known.told(MANY + 1, 1.0)

    clock.advance(marks.PAUSE - 0.1)
    shortly_before = known.skipping
    clock.advance(0.2)

    assert (shortly_before, known.skipping) == (True, False)


def test_few_deleted_rows_are_not_why_a_look_was_slow_and_are_not_asked_for_again_at_once() -> None:
    clock = ManualClock()
    known = Marks(clock)

    asked = [known.asks(SLOW), known.asks(2 * SLOW)]
    known.told(MANY, 1.0)
    asked.append(known.asks(1.0))
    clock.advance(NEWS)
    asked.append(known.asks(1.0))

    assert asked == [False, True, False, True]
    assert not known.skipping


def test_a_line_of_which_nothing_is_known_is_read_from_its_front() -> None:
    known = Marks(ManualClock())
    known.found(PLACE, Line([], [], []))

    assert known.of(PLACE) == FRONT


@pytest.mark.usefixtures("slow")
async def test_what_comes_before_the_mark_is_found_as_soon_as_what_is_behind_it_is_not_enough(
    schema: str,
) -> None:
    backend = PostgresBackend(SERVER, namespace=schema, clock=CLOCK, ids=IDS)
    await backend.start()
    try:
        session = await backend.open(
            WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",), ttl=60.0)
        )
        plain = [job() for _ in range(6)]
        await backend.push(plain)
        taken = [(await backend.lease(session, [Want("q", 2)], 2, 0.0)).leases]
        urgent = job(priority=5)
        await backend.push([urgent])

        taken += [(await backend.lease(session, [Want("q", n)], n, 0.0)).leases for n in (2, 3)]

        told = [[lease.id for lease in leases] for leases in taken]
        assert told == [
            [each.id for each in plain[:2]],
            [each.id for each in plain[2:4]],
            [urgent.id, *(each.id for each in plain[4:])],
        ]
    finally:
        await backend.aclose()
