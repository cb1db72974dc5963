"""Changes that a person asks for: cancel, retry, discard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from noria.backends.contract import Altered, Change
from noria.backends.sqlite import blobs
from noria.backends.sqlite.call import Call
from noria.backends.sqlite.passage import finish
from noria.backends.sqlite.rows import Altering, Waiting, decode, encode
from noria.backends.sqlite.transaction import DEAD, Transaction
from noria.backends.sqlite.units import millis
from noria.ids import Id
from noria.model.job import rank
from noria.model.outcome import Failure
from noria.model.state import State, can

_MISSING = Altered("missing")


@dataclass(slots=True)
class Alter(Call):
    """The call."""

    ids: Sequence[Id]
    change: Change

    def run(self, work: Transaction) -> list[Altered]:
        """Change jobs by the table of states; a repeat gives the same answer."""
        found = decode(work.row("alter_look", encode([id.hex() for id in self.ids]))[0], list[Altering])
        answers = {"cancel": _cancel, "retry": _retry, "discard": _discard}[self.change.kind](
            work, found, self.change
        )
        return [answers.get(row.id, _MISSING) for row in found]


Answers = dict[str, Altered]


def _refused(row: Altering) -> Altered:
    return Altered("refused", State(row.state))


def _cancel(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    answers: Answers = {}
    waiting: dict[str, Waiting] = {}
    running: dict[str, Altering] = {}
    for row in rows:
        if row.state == State.RUNNING:
            running[row.id] = row
            answers[row.id] = Altered("asked", State.RUNNING)
        elif row.state == State.CANCELLED:
            answers[row.id] = Altered("done", State.CANCELLED)
        elif row.state and can(State(row.state), "cancel"):
            waiting[row.id] = Waiting(row.id, row.queue or "", row.state, row.reply, 0)
            answers[row.id] = Altered("done", State.CANCELLED)
        elif row.state:
            answers[row.id] = _refused(row)
    failure = Failure.of("cancelled", change.note or "it was cancelled before it ran")
    finish(work, list(waiting.values()), State.CANCELLED, lambda _: failure, encode(change))
    _ask(work, list(running.values()), change)
    return answers


def _ask(work: Transaction, rows: Sequence[Altering], change: Change) -> None:
    if rows:
        work.run("alter_ask", encode([row.id for row in rows]), encode(change))
        work.wake.update(f"session:{row.session}" for row in rows)


def _retry(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    answers: Answers = {}
    again: dict[str, Altering] = {}
    keys: set[tuple[str | None, str]] = set()
    for row in rows:
        if row.id in answers:
            continue
        key = None if row.unique_key is None else (row.task, row.unique_key)
        if row.state == State.QUEUED and row.changed == "retry":
            answers[row.id] = Altered("done", State.QUEUED)
        elif row.state and not can(State(row.state), "operator retry"):
            answers[row.id] = _refused(row)
        elif row.state and (row.key_taken or key in keys):
            answers[row.id] = Altered("conflict", State(row.state))
        elif row.state:
            again[row.id] = row
            answers[row.id] = Altered("done", State.QUEUED)
            keys |= set() if key is None else {key}
    _queue_again(work, list(again.values()), change)
    return answers


def _queue_again(work: Transaction, rows: Sequence[Altering], change: Change) -> None:
    if not rows:
        return
    ranked = [(row.id, rank(work.now / 1000, row.priority or 0)) for row in rows]
    blobs.drop(work, [row.id for row in rows], bodies=False)
    work.run("alter_retry", encode(ranked), work.now, encode(change))
    for row in rows:
        work.moved(row.queue or "", row.state, State.QUEUED)
        if row.dead:
            work.moved(row.queue or "", DEAD, None)
    work.has_work({row.queue or "" for row in rows})


def _discard(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    answers: Answers = {}
    letters: dict[str, Altering] = {}
    for row in rows:
        if row.state == State.FAILED:
            answers[row.id] = Altered("done", State.FAILED)
            if row.dead:
                letters[row.id] = row
        elif row.state:
            answers[row.id] = _refused(row)
    if letters:
        prune_at = work.now + millis(work.settings.keep_succeeded)
        work.run("alter_discard", encode(list(letters)), prune_at, encode(change))
    for row in letters.values():
        work.moved(row.queue or "", DEAD, None)
    return answers
