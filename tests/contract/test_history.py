"""The checker on real histories: it accepts what the backend does, and catches a backend that breaks a promise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noria.backends.contract import (
    Altered,
    Batch,
    Change,
    DocWrite,
    Ended,
    Evidence,
    Fence,
    Parts,
    Pause,
    QueueRef,
    Resume,
    Steered,
    Verdict,
    Want,
)
from noria.ids import Id, SessionId
from noria.model.job import Lease, NewJob, Receipt, Record
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.contract.conftest import STORM
from tests.contract.store import Store
from tests.contract.workload import Workload


class Faulty:
    """A backend with one promise broken: everything else is as it was."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Fenceless(Faulty):
    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        return [Verdict.OK for _ in await self.inner.settle(session, ends)]


class Forgetful(Faulty):
    """Every fifth push is lost."""

    pushes = 0

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        self.pushes += 1
        if self.pushes % 5:
            return list(await self.inner.push(jobs))
        return [Receipt("created", job.id) for job in jobs]


class Careless(Faulty):
    """Unique keys are not looked at."""

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        return list(await self.inner.push([msgspec.structs.replace(job, unique=None) for job in jobs]))


class Generous(Faulty):
    """What one session was given, the next one is given as well."""

    last: tuple[Lease, ...] = ()

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        batch = await self.inner.lease(session, wants, limit, wait)
        again, self.last = self.last, tuple(batch.leases)
        return Batch(
            [*batch.leases, *(msgspec.structs.replace(each, starts=each.starts + 1) for each in again)]
        )


class Inventive(Faulty):
    """A job that nobody enqueued."""

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        batch = await self.inner.lease(session, wants, limit, wait)
        return Batch([msgspec.structs.replace(each, id=Id(each.id[::-1])) for each in batch.leases])


class Impatient(Faulty):
    """Delays are not kept."""

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        return list(await self.inner.push([msgspec.structs.replace(job, delay=0.0) for job in jobs]))


class Deaf(Faulty):
    """Cancels are acknowledged and not done."""

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        if change.kind == "cancel":
            return [Altered("done", State.CANCELLED) for _ in ids]
        return list(await self.inner.alter(ids, change))


class Restless(Faulty):
    """Pauses are acknowledged and not kept."""

    async def steer(self, target: QueueRef, change: Pause | Resume) -> Steered:
        return Steered()


class Uncounting(Faulty):
    """A lease tells of no attempts before it."""

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        batch = await self.inner.lease(session, wants, limit, wait)
        fresh = [
            msgspec.structs.replace(each, tally=msgspec.structs.replace(each.tally, spent=0))
            for each in batch.leases
        ]
        return Batch(fresh)


class Altering(Faulty):
    """Something is wrong with each record that is read."""

    def change(self, record: Record) -> Record:
        raise NotImplementedError

    async def get(self, ids: Sequence[Id], parts: Parts = Parts.NONE, watch: str | None = None) -> list[Any]:
        return [each and self.change(each) for each in await self.inner.get(ids, parts, watch)]


class Confused(Altering):
    def change(self, record: Record) -> Record:
        return msgspec.structs.replace(record, result=record.result and b'"another"')


class Buried(Altering):
    def change(self, record: Record) -> Record:
        return msgspec.structs.replace(record, dead=False)


class Fickle(Altering):
    def change(self, record: Record) -> Record:
        other = State.FAILED if record.state is State.SUCCEEDED else record.state
        return msgspec.structs.replace(record, state=other, dead=other is State.FAILED)


class Undead(Faulty):
    """The end of a session is acknowledged and not done."""

    async def end(
        self,
        session: SessionId,
        *,
        if_beat: int | None,
        started: Collection[Fence] | None,
        evidence: Evidence | None = None,
    ) -> Ended:
        return Ended(True, True)


BROKEN = [
    (Fenceless, "I4"),
    (Forgetful, "I1"),
    (Careless, "I10"),
    (Generous, "I6"),
    (Inventive, "I2"),
    (Impatient, "I12"),
    (Deaf, "I17"),
    (Restless, "I19"),
    (Uncounting, "I5"),
    (Confused, "I13"),
    (Buried, "I14"),
    (Fickle, "I7"),
    (Undead, "I4"),
]
TRIES = 8
"""Seeds within which a broken promise must be seen."""


@pytest.mark.parametrize("seed", range(200 if STORM else 6))
async def test_a_backend_that_keeps_its_promises_is_accepted(local: Store, tmp_path: Path, seed: int) -> None:
    work = Workload(local, tmp_path, seed)

    verdict = await work.verdict(150)

    assert verdict.findings == [], work.explain(verdict)
    assert verdict.looked
    assert verdict.jobs > 5


@pytest.mark.parametrize(("broken", "code"), BROKEN, ids=lambda each: getattr(each, "__name__", each))
async def test_a_broken_promise_is_caught(local: Store, tmp_path: Path, broken: Any, code: str) -> None:
    for seed in range(TRIES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        verdict = await Workload(local, folder, seed, broken).verdict(60)
        if code in {finding.code for finding in verdict.findings}:
            return
    pytest.fail(f"{broken.__name__} was not caught within {TRIES} seeds")
