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
from noria.backends.sqlite.call import Call
from noria.backends.sqlite.drafts import DUE, QUEUE, STATE, Drafts, Row
from noria.backends.sqlite.rows import decode, encode, to_id
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.transaction import Transaction
from noria.backends.sqlite.units import millis
from noria.ids import Id
from noria.model.job import NewJob, Receipt


@dataclass(slots=True)
class Push(Call):
    """The call. Several that came together are run as one; see `join`."""

    jobs: Sequence[NewJob]
    _drafts: Drafts | None = None
    _text: str = ""
    _now: int = 0

    @staticmethod
    def join(calls: Sequence[Push]) -> Push:
        """One call for the jobs of all of these, in order."""
        return Push([job for call in calls for job in call.jobs])

    def prepare(self, settings: Settings, now: int) -> None:
        """Write the rows."""
        self._drafts = Drafts(self.jobs, now, settings.max_body)
        self._text = self._drafts.as_json()
        self._now = now

    def run(self, work: Transaction) -> list[Receipt]:
        """Store the jobs, as `Queue.push` promises."""
        drafts = self._drafts
        assert drafts is not None, "prepared before"
        if drafts.large:
            drafts.give_keys(blobs.keys(work))
            self._text = drafts.as_json()
        try:
            work.run("push", self._text, self._now)
        except apsw.ConstraintError:
            _stand_back(work, drafts)
            work.run("push", drafts.as_json(), self._now)
        blobs.store(work, drafts.bodies())
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


def _announce(work: Transaction, rows: Sequence[Row]) -> None:
    """Count the new jobs, and wake whoever waits for them.

    Whoever waits looks again after a poll anyway, so that a job that is due later needs no hint.
    """
    for (state, queue), n in Counter([row[STATE : QUEUE + 1] for row in rows]).items():
        work.moved(queue, None, state, n)
    soon = work.now + millis(work.settings.poll)
    work.has_work({row[QUEUE] for row in rows if row[DUE] <= soon})
