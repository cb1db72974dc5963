"""Changes that a person asks for: cancel, discard and erase here; see `again` and `waiting` for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from noria.backends.contract import Altered, Change
from noria.backends.sql import again, blobs, marks, waiting
from noria.backends.sql.answers import Answers, asked, changed, done, refused
from noria.backends.sql.call import Call
from noria.backends.sql.passage import finish
from noria.backends.sql.rows import Altering, Waiting, decode, encode
from noria.backends.sql.settings import ERASED_FOR, Settings
from noria.backends.sql.transaction import DEAD, ERASED, Transaction
from noria.backends.units import millis
from noria.errors import TooLarge
from noria.ids import Id
from noria.model.change import Kind
from noria.model.limits import MAX_MESSAGE
from noria.model.outcome import Failure
from noria.model.state import State, can

_MISSING = Altered("missing")


def check(change: Change, settings: Settings) -> None:
    """Refuse what no row can hold: `TooLarge`."""
    if change.body is not None and len(change.body) > settings.max_body:
        raise TooLarge(
            f"the new body has {len(change.body)} bytes, and {settings.max_body} is the limit", field="body"
        )


@dataclass(slots=True)
class Alter(Call):
    """The call."""

    ids: Sequence[Id]
    change: Change

    def run(self, work: Transaction) -> list[Altered]:
        """Change jobs by the table of states; a repeat gives the same answer."""
        asked = encode([id.hex() for id in self.ids])
        found = decode(work.row("alter_look", asked)[0], list[Altering])
        answers = _KINDS[self.change.kind](work, found, self.change)
        if any(row.family is not None for row in found):
            _tell_where(work, asked, answers)
        return [_told(row, answers.get(row.id, _MISSING)) for row in found]


def _told(row: Altering, answer: Altered) -> Altered:
    """A job that asks is stored as running."""
    return Altered(answer.status, State.ASKING) if row.asks and answer.state is State.RUNNING else answer


def _tell_where(work: Transaction, asked: str, answers: Answers) -> None:
    """Say of jobs that could run by now whether they wait in line."""
    work.groups.settle(work)
    for row in decode(work.row("alter_look", asked)[0], list[Altering]):
        told = answers.get(row.id)
        if told is not None and told.state is not None and row.state in (State.QUEUED, State.WAITING):
            answers[row.id] = Altered(told.status, State(row.state))


def _cancel(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    answers: Answers = {}
    idle: dict[str, Waiting] = {}
    running: dict[str, Altering] = {}
    for row in rows:
        if row.state == State.RUNNING:
            running[row.id] = row
            answers[row.id] = Altered("asked", State.RUNNING)
        elif row.state == State.CANCELLED:
            answers[row.id] = done(State.CANCELLED)
        elif row.state and can(State(row.state), "cancel"):
            idle[row.id] = Waiting(
                row.id,
                row.queue,
                row.task,
                row.state,
                row.reply,
                0,
                row.awaited,
                row.family,
                row.group_key,
                row.placed,
            )
            answers[row.id] = done(State.CANCELLED)
        elif row.state:
            answers[row.id] = refused(row)
    failure = Failure.of("cancelled", change.note or "it was cancelled before it ran")
    finish(work, list(idle.values()), State.CANCELLED, lambda _: failure, changed(change))
    _ask(work, list(running.values()), change)
    return answers


def _ask(work: Transaction, rows: Sequence[Altering], change: Change) -> None:
    if rows:
        # The note goes out with each beat of the worker until it was acted on: no more of it than is kept.
        order = Change(kind=change.kind, note=change.note[:MAX_MESSAGE])
        work.run("alter_ask", encode([row.id for row in rows]), asked(order, work.now))
        work.wake.update({f"session:{row.session}": None for row in rows})


def _discard(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    answers: Answers = {}
    letters: dict[str, Altering] = {}
    for row in rows:
        if row.state == State.FAILED:
            answers[row.id] = done(State.FAILED)
            if row.dead:
                letters[row.id] = row
        elif row.state:
            answers[row.id] = refused(row)
    if letters:
        prune_at = work.now + millis(work.settings.keep_succeeded)
        work.run("alter_discard", encode(list(letters)), prune_at, changed(change))
    for row in letters.values():
        work.moved(row.queue, DEAD, None)
    return answers


def _erase(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    answers: Answers = {}
    gone: dict[str, Altering] = {}
    for row in rows:
        if row.erased or (row.state and State(row.state).final):
            answers[row.id] = Altered("done")
            if row.state:
                gone[row.id] = row
        elif row.state:
            answers[row.id] = refused(row)
    if gone:
        blobs.drop(work, list(gone), bodies=True)
        marks.drop(work, list(gone))
        work.run("alter_erase", encode(list(gone)), work.now + millis(ERASED_FOR * work.settings.timeout))
    for row in gone.values():
        work.moved(row.queue, row.state, ERASED)
        if row.dead:
            work.moved(row.queue, DEAD, None)
    return answers


_KINDS: Final[dict[Kind, Callable[[Transaction, Sequence[Altering], Change], Answers]]] = {
    "cancel": _cancel,
    "discard": _discard,
    "erase": _erase,
    "retry": again.retry,
    "run": again.run,
    "edit": waiting.edit,
    "move": waiting.move,
}
