"""Why a job is not running, reason by reason and in one line, for every state; and the public view of a record."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec.structs import replace

from noria.app.explain import explain, in_one_line, reasons_of
from noria.app.scene import MOST_AHEAD, Scene
from noria.app.status import StateWord, status_of
from noria.backends.contract import Counts, Paused, QueueCounts, Vitals, WorkerCard, WorkerLine
from noria.ids import Id, SessionId
from noria.model.groups import Closed, GroupLine, GroupRef, Need, Rate, ResourceLine, Rule
from noria.model.job import NO_EXTRAS, Record, Start
from noria.model.outcome import Failure, Outcome, Tally
from noria.model.reason import CODES, STATES, Reason
from noria.model.state import State

NOW = 1_800_000_000.0
WHY = Failure("exception", "no\nroute", "OSError")

RECORD = Record(
    id=Id(bytes(16)),
    task="send",
    queue="mail",
    state=State.QUEUED,
    version=1,
    dead=False,
    priority=2,
    created=NOW - 90,
    due=NOW - 60,
    began=None,
    finished=None,
    expires=None,
    deadline=None,
    session=0,
    worker="",
    starts=0,
    tally=Tally(attempts=5),
    unique=None,
    keep=None,
    cancelling=False,
    failure=None,
    extras=NO_EXTRAS,
    codec="json",
)


def worker(*, queues: tuple[str, ...] = ("mail",), tasks: tuple[str, ...] = ("send",)) -> WorkerLine:
    card = WorkerCard(worker="w", host="h", pid=1, tasks=tasks, queues=queues, slots=110)
    return WorkerLine(session=SessionId(1), card=card, vitals=Vitals(running=7), opened=NOW, beat=1, seen=NOW)


def counts(*workers: WorkerLine) -> Counts:
    return Counts({"mail": QueueCounts({State.QUEUED: 1_204})}, list(workers))


def said(*workers: WorkerLine, **changes: Any) -> str:
    return explain(replace(RECORD, **changes), Scene(counts(*workers), NOW))


def reasons(scene: Scene, **changes: Any) -> list[Reason]:
    return reasons_of(replace(RECORD, **changes), scene)


def test_a_queued_job_names_what_is_missing() -> None:
    lead = "queued in 'mail' for 60 s"
    assert said() == f"{lead}; no worker is live"
    assert said(worker(queues=("other",))) == f"{lead}; no live worker serves queue 'mail'"
    assert said(worker(tasks=())) == f"{lead}; no live worker of queue 'mail' knows task 'send'"
    crowd = "one of 1,204 that wait there, priority 2; workers run 14 jobs in 220 slots"
    assert said(worker(), worker()) == f"{lead}; {crowd}"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (0, "the next of 1,204 that wait there"),
        (1, "about the 2nd of 1,204 that wait there"),
        (1_199, "about the 1,200th of 1,204 that wait there"),
        (MOST_AHEAD, "behind at least 10,000 of the 1,204 that wait there"),
    ],
)
def test_a_queued_job_tells_its_place_in_line(place: int, words: str) -> None:
    standing, behind = reasons(Scene(counts(worker()), NOW, place))

    assert (standing.code, behind.code) == ("queued", "behind")
    assert behind.text.startswith(f"{words}, priority 2;")
    assert behind.fields == {
        "place": place + 1, "counted_to": 10_000, "waiting": 1_204, "priority": 2, "running": 7, "slots": 110,
    }  # fmt: skip


def test_a_suspect_says_that_it_runs_alone() -> None:
    told = reasons(Scene(counts(worker()), NOW, 0), tally=Tally(crashes=2, crash_budget=3))

    assert [reason.code for reason in told] == ["queued", "suspect", "behind"]
    assert told[1].fields == {"crashes": 2}
    assert told[1].text == "it has crashed its process 2 times, so that it runs with no other such job"


def test_all_that_hinders_a_job_is_told_and_the_weightiest_first() -> None:
    stand = Counts(
        {"mail": QueueCounts({State.QUEUED: 3}, paused=Paused("down", "alice", NOW - 9, NOW + 9))}, []
    )

    told = reasons(Scene(stand, NOW, 2))

    assert [reason.code for reason in told] == ["queued", "paused", "no_worker"]
    assert told[0].fields == {"queue": "mail", "seconds": 60.0}
    assert told[1].fields == {
        "queue": "mail", "by": "alice", "reason": "down",
        "since": "2027-01-15T07:59:51.000Z", "until": "2027-01-15T08:00:09.000Z",
    }  # fmt: skip


@pytest.mark.parametrize("state", State)
def test_the_first_reason_is_the_state(state: State) -> None:
    told = reasons(Scene(counts(worker()), NOW), state=state)

    assert told[0].code == state.word
    assert {reason.code for reason in told} <= CODES.keys()
    assert STATES.keys() == {state.word for state in State}


@pytest.mark.parametrize(
    ("pause", "words"),
    [
        (Paused("", "", NOW - 9), "is paused"),
        (Paused("the gate\nis down", "alice", NOW), "is paused by alice because the gate is down"),
        (Paused("", "bob", NOW, NOW + 60), "is paused by bob, until 2027-01-15 08:01:00 UTC (in 60 s)"),
    ],
)
def test_a_job_of_a_paused_queue_says_who_paused_it_and_why(pause: Paused, words: str) -> None:
    stand = Counts({"mail": QueueCounts({State.QUEUED: 3}, paused=pause)}, [worker()])

    for state in (State.QUEUED, State.SCHEDULED, State.RETRYING, State.PARKED):
        line = in_one_line(reasons(Scene(stand, NOW), state=state))
        assert f"; queue 'mail' {words}" in line
        assert "one of" not in line
    assert "paused" not in explain(replace(RECORD, state=State.RUNNING), Scene(stand, NOW))


HOLDERS = (Id(bytes([1] * 16)), Id(bytes([2] * 16)))
LINE = GroupLine(ref=GroupRef("host", "a.example"), rule=Rule(limit=2), taken=2, holders=HOLDERS, waiting=7)
IN_LINE = replace(RECORD, state=State.WAITING, group=LINE.ref)


def test_a_job_in_line_says_who_has_the_places_of_its_group() -> None:
    told = reasons_of(IN_LINE, Scene(counts(worker()), NOW, 1, group=LINE))

    assert [reason.code for reason in told] == ["waiting", "group_full"]
    one, two = "01010101-0101-0101-0101-010101010101", "02020202-0202-0202-0202-020202020202"
    assert in_one_line(told) == (
        "waiting in line for its group host=a.example for 60 s, the 2nd; its group host=a.example has 2 of 2 places "
        f"taken: job {one}, job {two}"
    )
    assert told[1].fields == {
        "family": "host", "key": "a.example", "taken": 2, "limit": 2, "ordered": False, "holders": f"{one} {two}",
    }  # fmt: skip


def test_a_job_in_line_says_that_its_group_is_closed_or_slow() -> None:
    shut = replace(LINE, taken=0, closed=Closed(NOW + 60, "429", "job x"))
    told = reasons_of(IN_LINE, Scene(counts(worker()), NOW, 0, group=shut))
    assert [reason.code for reason in told] == ["waiting", "group_closed"]
    assert told[1].text == (
        "its group host=a.example is closed by job x because 429 until 2027-01-15 08:01:00 UTC (in 60 s)"
    )

    slow = replace(LINE, rule=Rule(rate=Rate(1, 5.0)), next_at=NOW + 3)
    told = reasons_of(IN_LINE, Scene(counts(worker()), NOW, 0, group=slow))
    assert [reason.code for reason in told] == ["waiting", "group_rate"]
    assert (
        told[1].text
        == "its group host=a.example may start 1 in 5 s, the next at 2027-01-15 08:00:03 UTC (in 3.0 s)"
    )


def test_a_job_says_what_it_needs_and_cannot_have() -> None:
    tunnel = ResourceLine(need=Need("tunnel", 4), used=4, holders=HOLDERS[:1])
    often = ResourceLine(need=Need("task:send", rate=Rate(10)), used=0, holders=(), next_at=NOW + 0.1)
    free = ResourceLine(need=Need("screen", 4), used=3, holders=())

    told = reasons_of(RECORD, Scene(counts(worker()), NOW, 0, resources=(tunnel, often, free)))

    assert [reason.code for reason in told] == ["queued", "resource_used", "resource_rate", "behind"]
    assert told[1].text == "'tunnel' has 4 of 4 in use: job 01010101-0101-0101-0101-010101010101"
    assert told[2].text == "task 'send' may start 10 in 1 s, the next at 2027-01-15 08:00:00 UTC (in 0.1 s)"


def test_a_job_that_waits_for_a_time_names_it() -> None:
    scheduled = {"state": State.SCHEDULED, "due": NOW + 5}
    at = "may run at 2027-01-15 08:00:05 UTC (in 5.0 s)"
    assert said(worker(), **scheduled) == f"scheduled: {at}"
    assert said(**scheduled) == f"scheduled: {at}; no worker is live"
    snoozed = said(worker(), **scheduled, tally=Tally(snoozes=1), failure=WHY)
    assert snoozed == f"scheduled: put off by its handler (OSError: no route), {at}"
    retrying = {"state": State.RETRYING, "due": NOW + 7200, "tally": Tally(spent=2, attempts=5)}
    assert said(worker(), **retrying, failure=WHY) == (
        "retrying: attempt 2 of 5 failed (OSError: no route), and the next is at 2027-01-15 10:00:00 UTC (in 2 h)"
    )


def test_a_parked_job_names_the_task_that_nobody_knows() -> None:
    lead = "parked for 60 s;"
    parked = {"state": State.PARKED}
    assert said(**parked) == f"{lead} no worker is live"
    remedy = "no live worker of queue 'mail' knows task 'send'; start one of a version that has it"
    assert said(worker(tasks=()), **parked) == f"{lead} {remedy}"
    assert said(worker(), **parked) == f"{lead} a live worker knows task 'send', and will lease it next"


def test_a_running_job_names_its_worker() -> None:
    running = {
        "state": State.RUNNING,
        "worker": "w-1",
        "began": NOW - 180,
        "tally": Tally(spent=1, attempts=5),
    }
    where = "on w-1 since 2027-01-15 07:57:00 UTC (3 min ago), attempt 2 of 5"
    mine = {**running, "session": SessionId(1)}
    assert said(worker(), **mine) == f"running {where}"
    assert said(worker(), **mine, cancelling=True) == f"running {where}; its worker was told to cancel it"
    asked = said(worker(), **mine, cancelling=True, cancelling_since=NOW - 30)
    assert "; its worker was told 20" in asked
    assert asked.endswith("UTC (30 s ago) to cancel it")


def test_a_running_job_says_that_its_worker_is_silent() -> None:
    running = {"state": State.RUNNING, "worker": "w-1", "began": NOW - 180, "session": SessionId(2)}
    assert "that worker gives no sign of life" in said(worker(), **running)


def test_an_ended_job_tells_how_it_ended() -> None:
    now = "at 2027-01-15 08:00:00 UTC (0.0 s ago)"
    long_ago = said(state=State.SUCCEEDED, finished=NOW - 3 * 86_400)
    assert long_ago == "succeeded at 2027-01-12 08:00:00 UTC (3 d ago)"
    assert said(state=State.EXPIRED, finished=NOW) == f"expired {now}"
    cancelled = said(state=State.CANCELLED, finished=NOW, failure=Failure("cancelled", "not needed"))
    assert cancelled == f"cancelled {now} (not needed)"
    dead = said(state=State.FAILED, finished=NOW, failure=WHY, dead=True)
    why = "(OSError: no route); it is a dead letter until it is retried or discarded"
    assert dead == f"failed {now} {why}"


def test_no_state_is_left_out() -> None:
    for state in State:
        line = said(state=state)
        assert "\n" not in line
        assert line.startswith(state.word)


def test_the_words_for_states_are_all_there() -> None:
    assert set(get_args(StateWord)) == {state.word for state in State}


def test_times_are_aware_and_in_utc() -> None:
    start = Start(1, Outcome.CRASHED, began=0, ended=NOW)
    status = status_of(replace(RECORD, began=NOW, finished=NOW, expires=NOW, deadline=NOW, log=(start,)))
    moments = [status.created_at, status.run_at, status.started_at, status.finished_at]
    moments += [status.expires_at, status.deadline_at, status.log[0].ended_at]
    assert {moment and str(moment.tzinfo) for moment in moments} == {"UTC"}
    assert status.log[0].started_at is None


@pytest.mark.parametrize(
    ("state", "spent", "attempt"),
    [
        (State.QUEUED, 0, 1),
        (State.RUNNING, 2, 3),
        (State.RETRYING, 4, 5),
        (State.SUCCEEDED, 4, 5),
        (State.FAILED, 5, 5),
        (State.FAILED, 2, 2),
        (State.FAILED, 0, 1),
    ],
)
def test_attempts_are_counted_from_one(state: State, spent: int, attempt: int) -> None:
    assert status_of(replace(RECORD, state=state, tally=Tally(spent=spent, attempts=5))).attempt == attempt
