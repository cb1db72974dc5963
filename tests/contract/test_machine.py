"""Any sequence of calls leaves the store as the reference says: every record, every count, every answer."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from noria.backends.contract import Change, Fence
from noria.ids import SessionId
from noria.model.claim import Claim
from noria.model.job import NewJob
from noria.model.outcome import Outcome
from noria.model.state import State
from tests.contract.conftest import CASES, STORM, leave_out_if_missing, name_of
from tests.contract.factories import Factory, Options
from tests.contract.reference import Reference
from tests.contract.store import Place, Store
from tests.contract.words import new, swept
from tests.contract.workers import ENDS, end, take, worker

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
# Erased jobs are recognised for as long as a call may take to be repeated; here, to the end.
KEPT = Options(timeout=10_000.0)
ARGS: dict[str, list[Any]] = {
    "queue": ["a", "b"],
    "task": ["known", "rare"],
    "unique": [None, "k", "k"],
    "claim": [
        None,
        None,
        Claim(until_start=True),
        Claim(within=6.0),
        Claim(on_conflict="replace"),
        Claim(within=12.0, on_conflict="replace"),
        Claim(until_start=True, on_conflict="keep_last", at_most=8.0),
        Claim(on_conflict="keep_last"),
    ],
    "delay": [0.0, 4.0],
    "priority": [-1, 0, 1],
    "expires": [None, 5.0, 12.0],
    "deadline": [None, None, 5.0, 12.0],
    "keep": [None, 0.0, 0.0, 10.0],
    "crash_budget": [1, 2],
    "how": ENDS,
    "kind": ["cancel", "retry", "retry", "discard", "run", "erase"],
    "attempts": [None, 1, 4],
    "edit": [{"priority": 1}, {"run_at": 4.0}, {"run_at": -1.0}, {"expires": 5.0}, {"expires": None}],
    "wide": [True, False],
    "begun": ["all", "some", "none", "unknown"],
    "limit": [1, 2, 4],
    "every": [1, 2, 3],
    "more": [-1, 0, 1],
    "seconds": [0.5, 4.0, 10.0],
    "n": list(range(9)),
    "m": [0, 1, 2, 3],
}
"""What each argument of a step may be; `n` and `m` say which of the newest few."""
STEPS: dict[str, tuple[str, ...]] = {}
NEEDS: dict[str, str] = {}
"""The steps with their arguments, and what there must be some of before each."""


def step(*names: str, needs: str = "sessions") -> Callable[[F], F]:
    """A step that Hypothesis may take, and a random walk too, once there are some of what it needs."""

    def mark(function: F) -> F:
        STEPS[function.__name__], NEEDS[function.__name__] = names, needs
        rules = rule(**{name: st.sampled_from(ARGS[name]) for name in names})(function)
        return precondition(lambda self: getattr(self, needs))(rules)

    return mark


def pick(things: list[T], n: int) -> T:
    return things[-1 - n % len(things)]


class Machine(RuleBasedStateMachine):
    """The store and the reference, side by side."""

    factory: Factory

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="n-"))
        self.loop = asyncio.new_event_loop()
        place = Place(self.factory, self.factory.fresh(self.folder), self.factory.modes[0], KEPT, None)
        self.store = Store(place)
        place.processes.append(self.store)
        self.place = place
        self.run(self.store.begin())
        self.reference = Reference()
        self.reference.now = self.store.clock.wall()
        self.jobs: list[NewJob] = []
        self.sessions: list[SessionId] = []
        self.leases: list[tuple[SessionId, Fence]] = []
        self.open(wide=True)

    def teardown(self) -> None:
        self.run(self.place.close())
        self.loop.close()
        shutil.rmtree(self.folder)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    # -- producers

    @step("queue", "task", "unique", "delay", "priority", "expires", "deadline", "keep", "crash_budget")
    def push(self, expires: float | None, deadline: float | None, **fields: Any) -> None:
        now = self.reference.now
        times = {"expires": expires and now + expires, "deadline": deadline and now + deadline}
        self.jobs.append(new(self.store, attempts=3, **times, **fields))
        self.compare_push(self.jobs[-1])

    @step("task", "delay", "expires", "claim")
    def push_claiming(self, expires: float | None, **fields: Any) -> None:
        now = self.reference.now
        job = new(self.store, attempts=3, unique="k", queue="a", expires=expires and now + expires, **fields)
        self.jobs.append(job)
        self.compare_push(job)

    @step("queue", "task", "limit")
    def push_plain_ones(self, queue: str, task: str, limit: int) -> None:
        for _ in range(limit):
            self.jobs.append(new(self.store, queue=queue, task=task, crash_budget=2))
            self.compare_push(self.jobs[-1])

    @step("n", needs="jobs")
    def push_again(self, n: int) -> None:
        self.compare_push(pick(self.jobs, n))

    def compare_push(self, job: NewJob) -> None:
        assert self.run(self.store.push([job])) == [self.reference.push(job)]
        self.run(swept(self.store))

    @step("n", "kind", needs="jobs")
    def alter(self, n: int, kind: Any) -> None:
        self.compare_alter(n, Change(kind=kind))

    @step("n", "delay", "attempts", needs="jobs")
    def retry(self, n: int, delay: float, attempts: int | None) -> None:
        self.compare_alter(n, Change(kind="retry", delay=delay, attempts=attempts))

    @step("n", "queue", needs="jobs")
    def move(self, n: int, queue: str) -> None:
        self.compare_alter(n, Change(kind="move", queue=queue))

    @step("n", "edit", needs="jobs")
    def edit(self, n: int, edit: dict[str, Any]) -> None:
        times = {name: edit[name] and self.reference.now + edit[name] for name in edit if name != "priority"}
        self.compare_alter(n, Change(kind="edit", **{**edit, **times}))

    def compare_alter(self, n: int, change: Change) -> None:
        id = pick(self.jobs, n).id
        assert self.run(self.store.alter([id], change)) == [self.reference.alter(id, change)]
        self.run(swept(self.store))

    @step("n", needs="leases")
    def cancel_leased(self, n: int) -> None:
        _, fence = pick(self.leases, n)
        cancel = Change(kind="cancel")
        assert self.run(self.store.alter([fence.id], cancel)) == [self.reference.alter(fence.id, cancel)]

    @step("queue", "seconds")
    def snooze_and_wait(self, queue: str, seconds: float) -> None:
        self.work(queue, (State.SCHEDULED, Outcome.SNOOZED), 4.0)
        self.advance(seconds)

    # -- workers

    @step("wide")
    def open(self, wide: bool) -> None:
        known = ("known", "rare") if wide else ("known",)
        session = self.run(worker(self.store, tasks=known, ttl=10_000.0))
        self.reference.sessions[session] = known
        self.sessions.append(session)

    @step("m", "queue", "limit")
    def lease(self, m: int, queue: str, limit: int) -> None:
        session = pick(self.sessions, m)
        leases = self.run(take(self.store, session, limit, queue))
        fences = [Fence(lease.id, lease.starts) for lease in leases]
        assert fences == self.reference.lease(session, queue, limit)
        for lease in leases:
            assert self.tally(lease) == self.expected_tally(self.reference.rows[lease.id])
        self.leases += [(session, fence) for fence in fences]

    @step("n", "how", "delay", needs="leases")
    def settle(self, n: int, how: Any, delay: float) -> None:
        session, fence = pick(self.leases, n)
        self.compare_settle(session, fence, how, delay)

    @step("queue", "how", "delay")
    def work(self, queue: str, how: Any, delay: float) -> None:
        """A lease and its settle, as it goes most of the time."""
        before = len(self.leases)
        self.lease(0, queue, 2)
        for session, fence in self.leases[before:]:
            self.compare_settle(session, fence, how, delay)

    @step("n", "m", "how", "more", needs="leases")
    def forge(self, n: int, m: int, how: Any, more: int) -> None:
        """By another session, or of another start: whatever it may be, the reference knows."""
        _, fence = pick(self.leases, n)
        self.compare_settle(pick(self.sessions, m), Fence(fence.id, fence.starts + more), how, 0.0)

    def compare_settle(self, session: SessionId, fence: Fence, how: Any, delay: float) -> None:
        state, outcome = how
        wanted = end(fence, state, outcome=outcome, delay=delay)
        assert self.run(self.store.settle(session, [wanted])) == [self.reference.settle(session, wanted)]
        self.run(swept(self.store))

    @step("m", "begun")
    def end(self, m: int, begun: str) -> None:
        session = pick(self.sessions, m)
        held = [fence for holder, fence in self.leases if holder == session]
        started = {"all": held, "some": held[::2], "none": [], "unknown": None}[begun]
        first = session not in self.reference.ended
        told = self.run(self.store.end(session, started=started))
        if first:
            assert (told.crashed, told.released) == self.reference.end(session, started)
        assert (told.ended, told.first) == (True, first)
        self.run(swept(self.store))
        self.open(wide=True)

    @step("m", "every")
    def recall(self, m: int, every: int) -> None:
        session = pick(self.sessions, m)
        known = [fence for holder, fence in self.leases if holder == session][::every]
        assert self.run(self.store.recall(session, known)) == self.reference.recall(session, known)
        self.run(swept(self.store))

    @step("m")
    def renew(self, m: int) -> None:
        session = pick(self.sessions, m)
        orders = self.run(self.store.renew(session))
        assert orders.lost == (session in self.reference.ended)
        assert {order.fence for order in orders.cancels} == (
            set() if orders.lost else self.reference.cancels(session)
        )

    # -- time

    @step("seconds")
    def advance(self, seconds: float) -> None:
        self.run(self.store.advance(seconds))
        self.run(swept(self.store))
        self.reference.advance(seconds)

    @step()
    def reopen(self) -> None:
        self.run(self.store.backend.aclose())
        self.store.backend = None
        self.run(self.store.begin())

    # -- what must hold after every step

    @invariant()
    def every_record_is_as_expected(self) -> None:
        rows = self.reference.rows
        records = self.run(self.store.get([*rows, *self.reference.erased]))
        assert records[len(rows) :] == [None] * len(self.reference.erased)
        for found, row in zip(records, rows.values(), strict=False):
            assert found is not None, row
            seen = (
                found.state,
                found.starts,
                found.dead,
                found.cancelling,
                found.queue,
                found.tally.attempts,
            )
            wanted = (row.state, row.starts, row.dead, row.cancelling, row.job.queue, row.attempts)
            assert seen == wanted
            assert self.tally(found) == self.expected_tally(row)

    @invariant()
    def every_count_is_as_expected(self) -> None:
        counts = self.run(self.store.counts())
        told = {name: +Counter(queue.states) for name, queue in counts.queues.items()}
        assert {name: states for name, states in told.items() if states} == self.reference.counts()
        assert counts.erased == len(self.reference.erased)
        dead = sum(row.dead for row in self.reference.rows.values())
        assert sum(queue.dead for queue in counts.queues.values()) == dead

    @invariant()
    def everything_that_happened_was_counted(self) -> None:
        told = self.run(self.store.stats())
        assert {(each.queue, each.task, word): n for each in told for word, n in each.counts.items()} == dict(
            self.reference.flow
        )

    def tally(self, each: Any) -> tuple[int, ...]:
        tally = each.tally
        return tally.spent, tally.crashes, tally.releases, tally.snoozes

    def expected_tally(self, row: Any) -> tuple[int, ...]:
        return row.spent, row.crashes, row.releases, row.snoozes


NEAREST = pytest.mark.parametrize(
    "case", [case for case in CASES if case[1] == case[0].modes[0]], ids=name_of
)


def machine_of(case: tuple[Factory, str]) -> type[Machine]:
    class Here(Machine):
        factory = case[0]

    return Here


@pytest.mark.slow
@pytest.mark.timeout(600)  # a failure is made as short as it can be, which takes its time
@NEAREST
def test_any_short_sequence_of_calls_leaves_what_the_reference_says(case: Any) -> None:
    leave_out_if_missing(case[0])
    run_state_machine_as_test(
        machine_of(case),
        settings=settings(
            max_examples=2_000 if STORM else 50,
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
            deadline=None,
        ),
    )


@pytest.mark.slow
@NEAREST
@pytest.mark.parametrize("seed", range(200 if STORM else 12))
def test_a_long_random_walk_leaves_what_the_reference_says(case: Any, seed: int) -> None:
    """Longer, and less tidy, than what Hypothesis tries; the steps are printed if it fails."""
    leave_out_if_missing(case[0])
    rng = random.Random(seed)
    machine = machine_of(case)()
    machine.begin()
    try:
        for _ in range(150):
            walk(machine, rng)
    finally:
        machine.teardown()


def walk(machine: Machine, rng: random.Random) -> None:
    """One step, and a look at what it left."""
    name = rng.choice(list(STEPS))
    args = {arg: rng.choice(ARGS[arg]) for arg in STEPS[name]}
    if getattr(machine, NEEDS[name]):
        print(name, args)
        getattr(machine, name)(**args)
        machine.every_record_is_as_expected()
        machine.every_count_is_as_expected()
        machine.everything_that_happened_was_counted()
