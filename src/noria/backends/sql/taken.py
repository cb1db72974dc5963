"""Ids and unique keys that are taken already: which job stands for one that was to be stored."""

from __future__ import annotations

from collections.abc import Iterable

from noria.backends.sql.drafts import Drafts
from noria.backends.sql.rows import decode, encode, to_id
from noria.backends.sql.transaction import Transaction
from noria.ids import Id
from noria.model.job import NewJob, Receipt


def stand_back(work: Transaction, drafts: Drafts, places: Iterable[int] | None = None) -> None:
    """Drop the drafts for which another job stands: a stored one, or one before it in the same batch.

    Args:
        places: of the drafts that are looked at; all, unless it is given.
    """
    looked = range(len(drafts.jobs)) if places is None else places
    new = [index for index in looked if drafts.rows[index] is not None]
    asked = encode([(drafts.jobs[index].id.hex(), *_key(drafts.jobs[index])) for index in new])
    found = work.row("push_taken", asked)[0]
    # A caller's own driver has read the JSON already, if it is told to.
    taken = found if isinstance(found, list) else decode(found, list[tuple[int, str | None]])
    ids: set[Id] = set()
    keys: dict[tuple[str, str], Id] = {}
    for index, (stored, holder) in zip(new, taken, strict=True):
        job = drafts.jobs[index]
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


def _key(job: NewJob) -> tuple[str, str | None]:
    return job.task, job.unique
