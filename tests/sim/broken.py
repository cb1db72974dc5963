"""Systems with one rule removed, each by a small patch of the real code; the checker must catch every one of them.

Of the invariants that a task system is judged by, `NOT_YET` names those that have nothing to hold for yet. Every other
code has at least one build here that breaks it, and a test sees to that.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from noria.backends.contract import Verdict
from noria.backends.sql import (
    again,
    alter,
    board,
    drafts,
    push,
    sessions,
    settle,
    steer,
    verdicts,
    waiting,
)
from noria.backends.sqlite import settle as success
from noria.errors import BackendError, Unavailable
from noria.ids import SessionId
from noria.model import outcome as ends
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from noria.testing.scenario import Options, draw
from noria.testing.simulation import SOUND, Build
from noria.worker.feed import Feed
from noria.worker.keeper import Beat
from noria.worker.lane import LaneFeed
from noria.worker.run import Run, Runner
from noria.worker.sweep import Sweeper
from noria.worker.tenure import Tenure
from noria.worker.worker import Worker

JUDGED = {
    *(
        "I1",
        "I2",
        "I3",
        "I4",
        "I5",
        "I6",
        "I7",
        "I10",
        "I11",
        "I12",
        "I13",
        "I14",
        "I15",
        "I17",
        "I18",
        "I19",
    ),
    *("V1", "V2", "V3", "V4"),
    "D",
    *("C1", "C2", "C3"),
    "T9",
    "W16",
}
"""What the checker judges in simulations. I11 holds for documents, and for slots of timers; I19: paused queues rest; D:
a repeated effect has a cause; C1 to C3: of jobs that
follow others; T9: runs of a timer do not overlap; W16: no worker fails by itself."""
NOT_YET = {
    "I8": "jobs have no groups that promise an order",
    "I9": "jobs have no groups that limit how many run at once",
    "I16": "there are no callbacks",
}
"""Invariants with nothing to hold for, and why."""

Patch = pytest.MonkeyPatch


class Broken(Struct, frozen=True):
    """A system with one rule removed.

    Attributes:
        rule: what is removed, in a few words.
        code: the finding by which it must be caught.
        breaks: removes it, and gives the build.
        stress: options that make the rule matter often.
        seeds: how many runs the checker gets to catch it.
    """

    rule: str
    code: str
    breaks: Callable[[Patch], Build]
    stress: dict[str, Any]
    seeds: int

    def options(self, seed: int) -> Options:
        """Of the run with this seed; nobody follows jobs, and no job others, unless the rule is about that."""
        simple = {"readers": 0, "flows": 0, "offspring": 0.0}
        return msgspec.structs.replace(draw(seed), **{**simple, **self.stress})


BROKEN: list[Broken] = []


def without(
    rule: str, code: str, *, seeds: int = 60, **stress: Any
) -> Callable[[Callable[[Patch], Build]], None]:
    """Put a broken build on the list; the function removes the rule and gives the build."""
    return lambda breaks: BROKEN.append(Broken(rule, code, breaks, stress, seeds))


QUIET = {
    "kills": 0,
    "pauses": 0,
    "drains": 0,
    "outages": 0,
    "jumps": 0,
    "trouble": 0.0,
    "troubles": (),
    "holds": 0,
}
"""No fault that would explain anything."""


# ---- records


@without("a push stores all of its jobs", "I1", jobs=30)
def _stores_the_first_only(patch: Patch) -> Build:
    stored = drafts.Drafts.stored
    patch.setattr(drafts.Drafts, "stored", lambda self: stored(self)[:1])
    return SOUND


@without("a push whose document conflicts stores nothing", "I2", jobs=40)
def _stores_in_spite_of_conflict(patch: Patch) -> Build:
    patch.setattr(push.Pushes, "_leave_out", lambda *_: None)
    return SOUND


@without("new arguments take the place of the old", "I2", edits=60, jobs=30)
def _keeps_old_arguments(patch: Patch) -> Build:
    patch.setattr(waiting, "replace_bodies", lambda *_: None)
    return SOUND


class EarlyRunner(Runner):
    """Settles each job as succeeded before it runs, as a consumer does that acknowledges first."""

    def start(self, run: Run) -> None:
        run.packed = (b"0", "json")
        if run.task is not None:
            self._settle(
                Settlement(
                    run.lease.id, run.lease.starts, Outcome.SUCCEEDED, ends.after_success().state, result=b"0"
                )
            )
            run.settled = True
        super().start(run)


class EarlyWorker(Worker):
    """A worker with an `EarlyRunner`."""

    runner_class = EarlyRunner


@without("a job is settled when it has run", "I3")
def _settles_before_it_runs(patch: Patch) -> Build:
    return Build(worker=EarlyWorker)


@without("only some ended jobs may be retried", "I7", retries=10)
def _retries_what_succeeded(patch: Patch) -> Build:
    can = again.can
    patch.setattr(again, "can", lambda state, event: event == "operator retry" or can(state, event))
    return SOUND


@without("a result is stored with the success", "I13")
def _loses_results(patch: Patch) -> Build:
    keep = success._Done._keep
    patch.setattr(
        success._Done,
        "_keep",
        lambda self, id, end, row, result, until: keep(self, id, end, row, (None, None), until),
    )
    return SOUND


@without("a failed job is a dead letter", "I14")
def _buries_nobody(patch: Patch) -> Build:
    def no_letter(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        row = verdicts.row_after(*args, **kwargs)
        return (*row[:9], False, *row[10:])

    patch.setattr(settle, "row_after", no_letter)
    return SOUND


@without("a cancel ends jobs that wait", "I17", cancels=10)
def _forgets_cancels(patch: Patch) -> Build:
    patch.setattr(alter, "finish", lambda *_: None)
    return SOUND


@without("jobs of ended sessions are counted as they move", "I18", kills=4)
def _miscounts(patch: Patch) -> Build:
    end_start = sessions.end_start

    def uncounted(work: Any, row: Any, end: ends.End, **told: Any) -> tuple[Any, ...]:
        written = end_start(work, row, end, **told)
        work.moved(row.queue, end.state, State.RUNNING)
        return written

    patch.setattr(sessions, "end_start", uncounted)
    return SOUND


# ---- fences and leases


class Unfenced:
    """A backend that believes whoever settles: it takes each settlement for the present holder's."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def settle(self, session: SessionId, settlements: Sequence[Settlement]) -> list[Verdict]:
        verdicts = await self._inner.settle(session, settlements)
        for index, end in enumerate(settlements):
            if verdicts[index] is Verdict.STALE:
                verdicts[index] = await self._as_holder(end)
        return verdicts

    async def _as_holder(self, end: Settlement) -> Verdict:
        (record,) = await self._inner.get([end.id])
        if record is None or record.state.final:
            return Verdict.STALE
        forged = Settlement(
            end.id, record.starts, end.outcome, end.state, end.delay, end.result, end.codec, end.failure
        )
        (verdict,) = await self._inner.settle(record.session, [forged])
        return verdict


@without("who settles must hold the start", "I4", pauses=6, jobs=40, ttl=1.0, beat=0.25)
def _believes_anybody(patch: Patch) -> Build:
    return Build(backend=Unfenced)


class Denying:
    """A backend whose driver says "certainly not done" of settles whose answer was lost."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def settle(self, session: SessionId, settlements: Sequence[Settlement]) -> list[Verdict]:
        try:
            return list(await self._inner.settle(session, settlements))
        except BackendError as error:
            raise Unavailable("it was not done") from error


@without("only what was not done is called unavailable", "I4", trouble=0.3, troubles=("unheard",))
def _denies_what_it_did(patch: Patch) -> Build:
    return Build(backend=Denying)


@without("attempts end at their budget", "I5")
def _tries_once_more(patch: Patch) -> Build:
    after_failure = ends.after_failure

    def generous(tally: ends.Tally, *args: Any, **kwargs: Any) -> ends.End:
        return after_failure(msgspec.structs.replace(tally, attempts=tally.attempts + 1), *args, **kwargs)

    patch.setattr(ends, "after_failure", generous)
    return SOUND


@without("a recall leaves alone what the worker knows of", "I6", trouble=0.2, troubles=("refused",))
def _recalls_everything(patch: Patch) -> Build:
    run = sessions.Recall.run
    patch.setattr(sessions.Recall, "run", lambda self, work: run(dataclasses.replace(self, known=()), work))
    return SOUND


@without("what waits for its time is not run before", "I12")
def _retries_at_once(patch: Patch) -> Build:
    patch.setattr(verdicts, "_place", lambda end, row, bounds, now: (now, row.rank))
    return SOUND


@without("a pause lasts until its end", "I19", holds=6)
def _resumes_early(patch: Patch) -> Build:
    patch.setattr(
        steer, "millis_or_none", lambda until: None if until is None else round(until * 1000) - 3_000
    )
    return SOUND


# ---- keys and documents


@without("a unique key is stored", "I10", jobs=60)
def _ignores_unique_keys(patch: Patch) -> Build:
    tail = drafts._tail

    def keyless(*args: Any) -> Any:
        row = tail(*args)
        return (*row[:2], None, *row[3:])

    patch.setattr(drafts, "_tail", keyless)
    return SOUND


@without("a document is compared before it is swapped", "I11", jobs=40)
def _swaps_blindly(patch: Patch) -> Build:
    patch.setattr(board, "admit", lambda work, calls: [None] * len(calls))
    return SOUND


# ---- arrival


@without("the silent are judged", "V1", kills=4, lossy=True)
def _never_judges(patch: Patch) -> Build:
    async def nobody(self: Sweeper) -> None:
        pass

    patch.setattr(Sweeper, "_judge", nobody)
    return SOUND


@without("leases that nobody heard of are recalled", "V1", trouble=0.3, troubles=("unheard",))
def _forgets_unheard_leases(patch: Patch) -> Build:
    patch.setattr(Feed, "unheard", lambda self: None)
    return SOUND


@without("a worker ends its session when it leaves", "V2")
def _leaves_its_session(patch: Patch) -> Build:
    async def nothing(self: Tenure) -> None:
        pass

    patch.setattr(Tenure, "close", nothing)
    return SOUND


@without("a worker leases again after a failure", "V3", trouble=0.1, troubles=("refused",))
def _turns_deaf(patch: Patch) -> Build:
    async def deaf(self: LaneFeed) -> None:
        while True:
            await self._room.wait()
            wants, room = self._wants()
            if not wants:
                self._room.clear()
                continue
            try:
                await self._lease(wants, room)
            except BackendError:
                await asyncio.Event().wait()

    patch.setattr(LaneFeed, "run", deaf)
    return SOUND


@without("a worker asks for jobs as soon as it has room", "V4")
def _dawdles(patch: Patch) -> Build:
    ask = LaneFeed._lease

    async def in_a_while(self: LaneFeed, wants: list[Any], room: int) -> None:
        await asyncio.sleep(5)
        await ask(self, wants, room)

    patch.setattr(LaneFeed, "_lease", in_a_while)
    return SOUND


# Who ends its own silent session stops its jobs, so that it takes others to end it.
@without("a worker renews its session", "D", **QUIET, workers=4, jobs=40, ttl=1.0, beat=0.25)
def _renews_nothing(patch: Patch) -> Build:
    async def still(self: Beat) -> None:
        await asyncio.Event().wait()

    patch.setattr(Beat, "run", still)
    return SOUND


@without("a worker survives what it is told", "W16", pauses=6, jobs=40, ttl=1.0, beat=0.25)
def _stumbles_over_stale_outcomes(patch: Patch) -> Build:
    recorded = Worker._recorded

    def stumble(self: Worker, end: Settlement, verdict: Verdict) -> None:
        if verdict is Verdict.STALE:
            raise KeyError(end.id)
        recorded(self, end, verdict)

    patch.setattr(Worker, "_recorded", stumble)
    return SOUND
