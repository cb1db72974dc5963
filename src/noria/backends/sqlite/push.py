"""Enqueueing: one statement for the jobs of all calls that came together.

Nearly always every id and key is new, so the insert is tried first. Only if it fails, as a whole and leaving
no trace, are the taken ids and keys looked up and the rest inserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from noria.backends.sqlite import blobs
from noria.backends.sqlite.drafts import DUE, QUEUE, STATE, Drafts, Row
from noria.backends.sqlite.rows import decode, encode, to_id
from noria.backends.sqlite.settings import SPILL
from noria.backends.sqlite.transaction import Transaction
from noria.backends.sqlite.units import millis
from noria.ids import Id
from noria.model.job import NewJob, Receipt


@dataclass(slots=True)
class Push:
    """The call. `run_all` serves several of them at once."""

    jobs: Sequence[NewJob]
    writes: bool = True

    @staticmethod
    def run_all(work: Transaction, calls: Sequence[Push]) -> list[list[Receipt]]:
        """Store the jobs of all calls, in order."""
        receipts = iter(_store(work, [job for call in calls for job in call.jobs]))
        return [[next(receipts) for _ in call.jobs] for call in calls]

    def run(self, work: Transaction) -> list[Receipt]:
        """Store the jobs of this call."""
        return _store(work, self.jobs)


def _store(work: Transaction, jobs: Sequence[NewJob]) -> list[Receipt]:
    drafts = Drafts(jobs, work.now, work.settings.max_body)
    text = drafts.as_json()
    try:
        work.run("push", text, work.now)
    except apsw.ConstraintError:
        _stand_back(work, drafts)
        work.run("push", drafts.as_json(), work.now)
    _store_bodies(work, drafts)
    _announce(work, drafts.stored())
    return drafts.receipts


# ---- what is taken already


def _stand_back(work: Transaction, drafts: Drafts) -> None:
    """Drop the drafts for which another job stands: a stored one, or one before it in the same batch."""
    asked = encode([(job.id.hex(), job.task, job.unique) for job in _new(drafts)])
    taken = iter(decode(work.row("push_taken", asked)[0], list[tuple[int, str | None]]))
    ids: set[Id] = set()
    keys: dict[tuple[str, str], Id] = {}
    for index, job in enumerate(drafts.jobs):
        if drafts.rows[index] is None:
            continue
        stored, holder = next(taken)
        key = None if job.unique is None else (job.task, job.unique)
        if stored or job.id in ids:
            drafts.drop(index, Receipt("existing", job.id, "id"))
        elif key is not None and (holder is not None or key in keys):
            other = keys[key] if holder is None else to_id(holder)
            drafts.drop(index, Receipt("existing", other, "unique"))
        else:
            ids.add(job.id)
            if key is not None:
                keys[key] = job.id


def _new(drafts: Drafts) -> list[NewJob]:
    return [job for job, row in zip(drafts.jobs, drafts.rows, strict=True) if row is not None]


# ---- what follows


def _store_bodies(work: Transaction, drafts: Drafts) -> None:
    if any(len(job.body) > SPILL for job in drafts.jobs):
        large = [job for job in _new(drafts) if len(job.body) > SPILL]
        blobs.store(work, blobs.BODY, [(job.id.hex(), job.body, job.codec) for job in large])


def _announce(work: Transaction, rows: Sequence[Row]) -> None:
    """Count the new jobs, and wake whoever waits for them.

    Whoever waits looks again after a poll anyway, so that a job that is due later needs no hint.
    """
    for (state, queue), n in Counter([row[STATE : QUEUE + 1] for row in rows]).items():
        work.moved(queue, None, state, n)
    soon = work.now + millis(work.settings.poll)
    work.has_work({row[QUEUE] for row in rows if row[DUE] <= soon})
