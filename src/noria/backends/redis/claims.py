"""Jobs that may change those that hold their keys: looked at, decided, and stored if nothing has changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from noria.backends import meeting
from noria.backends.claims import Holder, replaced_by, trace_of
from noria.backends.contract import DocWrite
from noria.backends.meeting import Key, changed
from noria.backends.redis import board
from noria.backends.redis.call import Request, Steps, Word
from noria.backends.redis.cards import read_card, write_card
from noria.backends.redis.drafts import head_and_card
from noria.backends.redis.heads import ERASED, FOLLOWS, GIVEN_UP, NEVER, TIMED, Head, pack
from noria.backends.redis.settings import ERASED_FOR, Settings
from noria.backends.redis.ties import told
from noria.backends.redis.verdicts import finished
from noria.backends.redis.writes import WIDTH, Seen, Write, seen, words_of
from noria.backends.units import millis, millis_or_none
from noria.errors import Unavailable
from noria.ids import Id
from noria.model.claim import NEW
from noria.model.job import NewJob, Receipt, rank
from noria.model.outcome import Failure
from noria.model.state import State

_TRIES: Final = 200
"""How often others may be faster, of whom one is each time."""
_encode_failure = msgspec.json.Encoder().encode


def push(jobs: Sequence[NewJob], docs: Sequence[DocWrite], settings: Settings) -> Steps:
    """Enqueue jobs in one step with documents; gives their receipts, or what is to be raised.

    Of a job that has no room in its queue there is how many may wait there, instead of its receipt; with documents
    nothing is stored then, nor if one of them is rejected.
    """
    outside: dict[Id, int] = {}
    keys = list(dict.fromkeys((job.task, job.unique) for job in jobs if job.unique is not None))
    for _ in range(_TRIES):
        inside = [job for job in jobs if job.id not in outside]
        ids = [job.id for job in inside]
        parents = list(dict.fromkeys(parent for job in inside for parent in job.extras.after))
        sought: list[Word] = [len(parents), *map(bytes.fromhex, parents)]
        (found,) = yield [Request("claim_look", [len(ids), *ids, *sought, *map(_field, keys)])]
        if isinstance(found, Exception):
            return found
        look = _Meeting(inside, keys, parents, found, settings)
        receipts = look.receipts()
        if docs and any(receipt.status == "rejected" for receipt in receipts):
            return receipts
        (answer,) = yield [
            Request(
                "claims",
                [millis(settings.poll), told(inside), len(docs), *board.words(docs), *look.words()],
            )
        ]
        if isinstance(answer, Exception):
            return answer
        if isinstance(answer, bytes):
            return board.conflict(docs, answer)
        if answer[0] == b"f":
            outside |= {
                look.new[place]: int(most) for place, most in zip(answer[1::2], answer[2::2], strict=True)
            }
            if docs or len(outside) == len(jobs):
                return [outside.get(job.id, Receipt("created", job.id)) for job in jobs]
        if answer == [b"o"]:
            rest = iter(receipts)
            return [outside[job.id] if job.id in outside else next(rest) for job in jobs]
    return Unavailable("others keep changing the jobs with the same unique keys: try again")


def _field(key: Key) -> str:
    return "\0".join(key)


class _Known(Struct):
    """A job that holds a key: as it was looked at, and what becomes of it."""

    key: Key
    seen: Seen
    holder: Holder
    successor: Id | None = None
    gives_up: bool = False
    changed: bool = False


class _Meeting(meeting.Meeting):
    """Jobs, and who has their ids and keys."""

    def __init__(
        self,
        jobs: Sequence[NewJob],
        keys: Sequence[Key],
        parents: Sequence[str],
        found: Sequence[Any],
        settings: Settings,
    ) -> None:
        super().__init__(int(found[0]), settings.max_body)
        there, found = found[1 : 1 + len(parents)], found[1 + len(parents) :]
        self._absent |= {parent for parent, is_there in zip(parents, there, strict=True) if not is_there}
        self._stands: dict[Id, Id] = {}
        self._settings = settings
        self._jobs = list(jobs)
        self._traces: list[bytes] = list(found[: len(jobs)])
        self._keyed = keys
        self._rows = dict(_known(keys, found[len(jobs) :]))
        self._holders = {row.seen.id: row for row in self._rows.values()}
        self._new: list[int] = []
        self._roomy: set[Id] = set()
        self._admitted = {job.id for job in jobs if job.admitted}
        self._given_up: dict[int, Id | None] = {}

    def receipts(self) -> list[Receipt]:
        """Decide about all of them."""
        receipts = []
        for place, job in enumerate(self._jobs):
            trace = self._traces[place]
            holder = None if job.unique is None else self._rows.get((job.task, job.unique))
            taken = meeting.Taken(
                trace != b"", trace.decode().removeprefix("-"), None if holder is None else holder.seen.id
            )
            receipt = self.judge(place, job, taken)
            assert receipt is not None, "who holds a key was looked at in the same moment"
            if receipt.status in NEW:
                self._new.append(place)
            elif receipt.status != "rejected" and receipt.id != job.id:
                self._stands[job.id] = receipt.id
            receipts.append(receipt)
        return receipts

    @property
    def new(self) -> list[Id]:
        """The jobs that are to be stored, and not cancelled at once."""
        return [self._jobs[place].id for place in self._new if self._given_up.get(place) is None]

    # ---- what becomes of holders

    def known(self, id: Id) -> Holder | None:
        return self._holders[id].holder

    def fresh(self, place: int) -> Holder:
        job = self._jobs[place]
        due = self.now + max(0, millis(job.delay)) if job.at is None else millis(job.at)
        state = State.QUEUED if due <= self.now else State.SCHEDULED
        times = millis_or_none(job.expires), millis_or_none(job.deadline)
        return Holder(job.id, int(state), 0, job.queue, due, self.now, *times, job.codec, job.body, place)

    def refusal(self, place: int, job: NewJob, before: Holder | None) -> Receipt | None:
        # The script sees how much room there is.
        if before is not None and (before.place is None or before.id in self._roomy | self._admitted):
            self._roomy.add(job.id)
        return None

    def make_way(self, holder: Holder, successor: Id | None) -> None:
        if holder.place is not None:
            self._given_up[holder.place] = successor
        else:
            row = self._holders[holder.id]
            row.successor, row.gives_up = successor, True

    def change(self, holder: Holder) -> None:
        if holder.place is None:
            self._holders[holder.id].changed = True
        else:
            self._jobs[holder.place] = changed(self._jobs[holder.place], holder)

    # ---- what is to be written

    def words(self) -> Iterator[Word]:
        """All of it, as `claims.lua` takes it."""
        absent = [job.id for job, trace in zip(self._jobs, self._traces, strict=True) if not trace]
        yield len(absent)
        yield from absent
        yield len(self._keyed)
        for key in self._keyed:
            row = self._rows.get(key)
            yield _field(key)
            yield b"" if row is None else row.seen.id
            yield 0 if row is None else _head(row).version
        yield len(self._stands)
        for pair in self._stands.items():
            yield from pair
        yield from self._created()
        writes = [self._write(row) for row in self._holders.values() if row.changed or row.gives_up]
        yield len(writes)
        for write in writes:
            yield from words_of(write)
        yield from self._added()
        yield from self._cancelled()

    def _write(self, row: _Known) -> Write:
        head, holder, parts = _head(row), row.holder, dict[str, bytes | bool]()
        if row.changed:
            head = structs.replace(
                head,
                state=holder.state,
                due=float(holder.due),
                rank=float(rank(holder.due / 1000, head.priority)),
                expires=NEVER if holder.expires is None else float(holder.expires),
                deadline=NEVER if holder.deadline is None else float(holder.deadline),
            )
            _, extras = read_card(row.seen.card)
            parts = {"body": holder.body, "card": write_card(holder.codec, extras) or False}
        if row.gives_up and (row.successor is None or head.keyed == TIMED):
            head = structs.replace(head, keyed=GIVEN_UP)
        if row.successor is None:
            return Write(row.seen.id, head.version, head, parts=parts, wake=True)
        why = replaced_by(row.successor)
        write = finished(row.seen, head, State.CANCELLED, why, now=self.now, settings=self._settings)
        write.parts = {**parts, **write.parts}
        return write

    def _added(self) -> Iterator[Word]:
        yield len(self.added)
        until = self.now + millis(ERASED_FOR * self._settings.timeout)
        for job, receipt in self.added:
            yield job.id
            yield pack(Head(state=ERASED, queue=job.queue, task=job.task, created=float(self.now)))
            yield until
            yield trace_of(receipt)

    def _cancelled(self) -> Iterator[Word]:
        ended = {place: id for place, id in self._given_up.items() if id is not None}
        yield len(ended)
        for place, successor in ended.items():
            job = self._jobs[place]
            yield from (job.id, *head_and_card(job, GIVEN_UP), job.body, _why(replaced_by(successor)))
            yield millis(self._settings.keep_succeeded)

    def _created(self) -> Iterator[Word]:
        yield len(self.new)
        for place in self._new:
            if self._given_up.get(place) is None:
                job = self._jobs[place]
                keyed = GIVEN_UP if place in self._given_up else None
                head = head_and_card(job, keyed, roomy=job.id in self._roomy)
                yield from (job.id, *head, job.body)


def _known(keys: Sequence[Key], flat: Sequence[Any]) -> Iterator[tuple[Key, _Known]]:
    for place, key in enumerate(keys):
        *row, body = flat[place * (WIDTH + 1) : (place + 1) * (WIDTH + 1)]
        (found,) = seen(row) if row[1] else (None,)
        if found is not None and found.head is not None:
            yield key, _Known(key, found, _holder(found, found.head, body or b""))


def _holder(row: Seen, head: Head, body: bytes) -> Holder:
    codec, _ = read_card(row.card)
    expires, deadline = (None if time == NEVER else int(time) for time in (head.expires, head.deadline))
    # One that waits in line for its group could run as far as its time goes; only others may keep it waiting.
    in_line = head.state == State.WAITING and not head.kin & FOLLOWS
    return Holder(
        row.id,
        int(State.QUEUED) if in_line else head.state,
        head.starts,
        head.queue,
        int(head.due),
        int(head.created),
        expires,
        deadline,
        codec,
        body,
    )


def _head(row: _Known) -> Head:
    assert row.seen.head is not None, "else it holds no key"
    return row.seen.head


def _why(failure: Failure) -> bytes:
    return _encode_failure(failure)
