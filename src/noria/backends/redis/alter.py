"""Changes that a person asks for: cancel, discard and erase here; see `again` and `waiting` for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from noria.backends.contract import Altered, Change
from noria.backends.lives import parts_of
from noria.backends.redis import again, heirs, notes, waiting, writes
from noria.backends.redis.answers import Answer, Case, asked, changed
from noria.backends.redis.call import Call, Steps
from noria.backends.redis.heads import ERASED, UNSUCCESSFUL
from noria.backends.redis.records import read_listed
from noria.backends.redis.settings import ERASED_FOR, Settings
from noria.backends.redis.verdicts import finished
from noria.backends.redis.writes import Seen
from noria.backends.units import millis
from noria.errors import TooLarge
from noria.ids import Id
from noria.model.change import Kind
from noria.model.job import Record
from noria.model.limits import MAX_MESSAGE
from noria.model.outcome import Failure
from noria.model.state import FINAL, State, can

_MISSING = Altered("missing")


def check(change: Change, settings: Settings) -> None:
    """Refuse what cannot be stored: `TooLarge`."""
    if change.body is not None and len(change.body) > settings.max_body:
        raise TooLarge(
            f"the new body has {len(change.body)} bytes, and {settings.max_body} is the limit", field="body"
        )


@dataclass(slots=True)
class Alter(Call):
    """The call."""

    ids: Sequence[Id]
    change: Change

    def steps(self, settings: Settings) -> Steps:
        """Change jobs by the table of states; a repeat gives the same answer."""
        told: dict[Id, Altered] = {}
        left = list(dict.fromkeys(self.ids))
        while left:
            answers = yield writes.looks(left)
            now = int(answers[0][0])
            rows = [row for answer in answers for row in writes.seen(answer[3:])]
            records = yield from self._read(rows)
            decided = {row.id: self._decide(row, records.get(row.id), now, settings) for row in rows}
            told |= {id: answer.altered for id, answer in decided.items()}
            left = yield from self._write(decided, rows, told, settings)
        if self.change.kind == "erase" and (
            gone := [id for id, each in told.items() if each.status == "done"]
        ):
            yield notes.drop(gone)
        if any(each.state is State.RUNNING for each in told.values()):
            (answer,) = yield [notes.ASKING]
            for id in notes.askers(answer) & told.keys():
                told[id] = Altered(told[id].status, State.ASKING)
        return [told[id] for id in self.ids]

    def _read(self, rows: Sequence[Seen]) -> Steps:
        """What jobs are to remember that are to be run again, by their ids."""
        if self.change.kind != "retry":
            return {}
        ended = [row.id for row in rows if row.head is not None and row.head.state in FINAL]
        return {record.id: record for record in (yield from read_listed(ended, parts_of(self.change)))}

    def _decide(self, row: Seen, record: Record | None, now: int, settings: Settings) -> Answer:
        if row.head is None:
            return Answer(_MISSING)
        if row.head.state == ERASED:
            return Answer(Altered("done") if self.change.kind == "erase" else _MISSING)
        return _KINDS[self.change.kind](Case(row, row.head, self.change, now, settings, record))

    def _write(
        self, decided: dict[Id, Answer], rows: Sequence[Seen], told: dict[Id, Altered], settings: Settings
    ) -> Steps:
        """Write what was decided; gives those to which something else has happened meanwhile."""
        wanted = [answer.write for answer in decided.values() if answer.write is not None]
        if not wanted:
            return []
        letters = yield from heirs.write(writes.requests(wanted), settings, whereabouts=True)
        heads = {row.id: row.head for row in rows}
        left: list[Id] = []
        for write, letter in zip(wanted, letters, strict=True):
            head = heads[write.id]
            if letter == writes.CHANGED:
                left.append(write.id)
            elif letter == writes.KEY_TAKEN and head is not None:
                told[write.id] = Altered("conflict", State(head.state))
            elif letter == writes.IN_LINE:
                told[write.id] = Altered("done", State.WAITING)
            elif told[write.id].state is State.WAITING:
                told[write.id] = Altered("done", State.QUEUED)
        return left


def _cancel(case: Case) -> Answer:
    if case.state is State.RUNNING:
        return Answer(Altered("asked", State.RUNNING), None if case.head.cancelling else _asked(case))
    if case.state is State.CANCELLED:
        return case.done()
    if not can(case.state, "cancel"):
        return case.refused()
    failure = Failure.of("cancelled", case.change.note or "it was cancelled before it ran")
    write = finished(case.seen, case.head, State.CANCELLED, failure, now=case.now, settings=case.settings)
    write.parts = {**write.parts, "change": case.recorded(changed(case.change))}
    return case.done(write)


def _asked(case: Case) -> writes.Write:
    # The note goes out with each beat of the worker until it was acted on: no more of it than is kept.
    note = case.change.note[:MAX_MESSAGE]
    case.change = Change(kind=case.change.kind, note=note)
    write = case.write(structs.replace(case.head, cancelling=1), ask=note)
    write.parts = {**write.parts, "change": case.recorded(asked(case.change, case.now))}
    return write


def _discard(case: Case) -> Answer:
    if case.state is not State.FAILED:
        return case.refused()
    if not case.head.dead:
        return case.done()
    prune_at = case.now + millis(case.settings.keep_succeeded)
    return case.done(case.write(structs.replace(case.head, dead=0), prune_at=prune_at))


def _erase(case: Case) -> Answer:
    if not case.state.final:
        return case.refused()
    kin = case.head.kin | (0 if case.state is State.SUCCEEDED else UNSUCCESSFUL)
    head = structs.replace(case.head, state=ERASED, dead=0, reply="", kin=kin)
    write = writes.Write(case.seen.id, case.head.version, head)
    write.prune_at = case.now + millis(ERASED_FOR * case.settings.timeout)
    return Answer(Altered("done"), write)


_KINDS: Final[dict[Kind, Callable[[Case], Answer]]] = {
    "cancel": _cancel,
    "discard": _discard,
    "erase": _erase,
    "retry": again.retry,
    "run": again.run,
    "edit": waiting.edit,
    "move": waiting.move,
}
